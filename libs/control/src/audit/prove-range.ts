/**
 * P10, proved from the log: do the numbers of a range agree with what the log and the dead letters show today? Whatever the
 * log no longer shows is named as not provable; it may not hide a number that is wrong beyond it. Pure.
 */
import { type CountedRange, identityOf } from '@tidemark/jobs';
import { mergeIntervals, type OffsetInterval, sizeOfIntervals, subtractIntervals } from '@tidemark/keyspace';
import type { EffectCount } from './effect-tally.ts';
import type { RangeScan } from './rescan.ts';

export interface Finding {
  /** `broken`: numbers contradict each other. `unprovable`: the log, or the dead letters, no longer show it. */
  readonly kind: 'broken' | 'unprovable';
  readonly message: string;
}

export interface LetterCount {
  /** Different records. */
  readonly records: bigint;
  /** Why there may have been more; undefined when their topic holds all that was ever written. */
  readonly gap: string | undefined;
}

export interface EffectEvidence {
  readonly count: EffectCount;
  /** The handler says that a record may be handed over again without harm: then none may have two effects. */
  readonly isIdempotent: boolean;
}

export interface RangeEvidence {
  readonly scan: RangeScan;
  readonly letters: LetterCount;
  /** Undefined: no sink was asked. */
  readonly effects: EffectEvidence | undefined;
  /** Of the topic that the job is about; undefined when it is not there. */
  readonly logStartOffset: bigint | undefined;
  /** The topic drops records of a key for newer ones. */
  readonly isCompacted: boolean;
}

interface ProvableRange extends CountedRange {
  /** Intervals that a worker has named when it stopped at them. */
  readonly lost: readonly OffsetInterval[];
  /** Lost intervals that were passed: the places of `counters.lost`, as far as they were kept. */
  readonly passed: readonly OffsetInterval[];
}

export function proveRange(range: ProvableRange, evidence: RangeEvidence): readonly Finding[] {
  const identity = identityOf(range);
  return [
    ...(identity.kind === 'broken' ? [broken(identity.terms)] : []),
    ...logFindings(range, evidence),
    ...namedLossFindings(range, evidence),
    ...letterFindings(range, evidence.letters),
    ...(evidence.effects === undefined ? [] : effectFindings(range, evidence.letters, evidence.effects)),
  ];
}

/** The places of all that a range has lost up to its cursor, and how many offsets are counted as lost without a place. */
export interface KnownLoss {
  /** Passed, or parked and named where the range stopped; merged. */
  readonly places: readonly OffsetInterval[];
  /** Too many to be kept, or counted by an older version; negative when more places are named than were counted. */
  readonly unplaced: bigint;
  /** Of the parked ones those that are named as lost, which are counted as parked all the same. */
  readonly parked: bigint;
}

export function knownLoss({ cursor, counters, lost, passed }: ProvableRange): KnownLoss {
  const parked = lost.filter(({ last }) => last <= cursor);
  return {
    places: mergeIntervals([...passed, ...parked]),
    unplaced: counters.lost - sizeOfIntervals(passed),
    parked: sizeOfIntervals(parked),
  };
}

/**
 * Exact when the range kept every place. What it only counted has its place in the log as long as nothing else is gone there: of
 * what was removed later nobody could tell it apart.
 */
export function lostIntervals(range: ProvableRange, scan: RangeScan): readonly OffsetInterval[] | undefined {
  const { places, unplaced } = knownLoss(range);
  const rest = unplaced > 0n ? subtractIntervals(scan.gone, places) : [];
  if (unplaced > 0n && unplaced !== sizeOfIntervals(rest)) return undefined;
  return mergeIntervals([...places, ...range.lost, ...rest]);
}

export function describeIntervals(intervals: readonly OffsetInterval[]): string {
  return intervals.map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`)).join(', ');
}

function logFindings(range: ProvableRange, { scan, isCompacted }: RangeEvidence): Finding[] {
  const findings: Finding[] = [];
  const { cursor, counters } = range;
  const { ok, skipped, deadLettered, parked, filtered, markers, compacted, lost } = counters;
  const known = knownLoss(range);
  const unread = scan.unread === undefined ? [] : [{ first: scan.unread.behind + 1n, last: cursor }];
  const goneSince = subtractIntervals(scan.gone, known.places);
  const unseen = sizeOfIntervals(goneSince) + sizeOfIntervals(subtractIntervals(unread, known.places));
  const compactedSince = isCompacted ? atLeastZero(scan.compacted - compacted) : 0n;
  const wasCompacted = compactedSince > 0n;
  const unplaced = atLeastZero(known.unplaced);
  if (known.unplaced < 0n)
    findings.push(broken(`offsets passed as lost: ${lost - known.unplaced}; counted as lost: ${lost}`));
  if (scan.contradicted > 0n)
    findings.push(
      broken(
        `offsets said to be lost that the log still shows: ${scan.contradicted} of ${describeIntervals(known.places)}`,
      ),
    );
  // A parked record that compaction took is lost, and shows as compacted.
  if (unplaced > unseen + compactedSince)
    findings.push(
      broken(`offsets counted as lost: ${lost}; lacking in the log: ${lost - unplaced + unseen + compactedSince}`),
    );
  if (unseen > unplaced) {
    const places = goneSince.map((gone) => `offsets ${describeIntervals([gone])} are not in the log any more`);
    if (scan.unread !== undefined)
      places.push(`offsets behind ${scan.unread.behind} cannot be read: ${scan.unread.reason}`);
    const apart = unplaced === 0n ? '' : ` (counted as lost without a place: ${unplaced} of ${unseen})`;
    findings.push(unprovable(`${places.join('; ')}${apart}`));
  }
  if (wasCompacted) findings.push(unprovable(`offsets compacted away since: ${compactedSince}`));
  const shown: readonly (readonly [what: string, counted: bigint, seen: bigint])[] = [
    ['records', ok + skipped + deadLettered + parked - known.parked, scan.records],
    ['filtered records', filtered, scan.filtered],
    ['markers and aborted records', markers, scan.markers],
    ['compacted offsets', compacted, scan.compacted],
  ];
  for (const [what, counted, seen] of shown) {
    const mayShowLess = unseen > unplaced || (wasCompacted && seen < counted);
    if (what === 'compacted offsets' && wasCompacted) continue;
    if (counted === seen || (counted > seen && mayShowLess)) continue;
    findings.push(broken(`${what} counted: ${counted}; shown by the log: ${seen}`));
  }
  return findings;
}

/** What retention took lies below the start of the log; what compaction took is seen by nobody. */
function namedLossFindings({ lost }: ProvableRange, { logStartOffset, isCompacted }: RangeEvidence): Finding[] {
  if (logStartOffset === undefined || isCompacted) return [];
  const there = lost.filter(({ last }) => last >= logStartOffset);
  if (there.length === 0) return [];
  return [broken(`offsets named as lost: ${describeIntervals(there)}; the log begins at ${logStartOffset}`)];
}

/** A letter that was written before a crash may be of a record that was then settled otherwise. */
function letterFindings({ counters }: CountedRange, { records, gap }: LetterCount): Finding[] {
  const { deadLettered, parked, maybeRedelivered } = counters;
  const message = `dead letters counted: ${deadLettered}; records that have one in their topic: ${records}`;
  if (records < deadLettered) return [gap === undefined ? broken(message) : unprovable(`${message}: ${gap}`)];
  return records > deadLettered + parked + maybeRedelivered ? [broken(message)] : [];
}

function effectFindings(
  { counters }: CountedRange,
  letters: LetterCount,
  { count, isIdempotent }: EffectEvidence,
): Finding[] {
  const { skipped, deadLettered, parked, maybeRedelivered } = counters;
  const { missing, noneDue, repeated, unknown, excused, first } = count;
  const findings: Finding[] = [];
  // Whoever has a letter of an earlier delivery was settled otherwise, and is excused no more than any other.
  const surplus = atLeastZero(excused.without - deadLettered - parked);
  const lacking = missing + noneDue + surplus;
  if (lacking > skipped) {
    const withLetter = surplus === 0n ? '' : `; ${surplus} of them with a dead letter that was not counted`;
    const without = `records without an effect in the sink: ${lacking}; skipped: ${skipped}${named(first.missing, missing)}${withLetter}`;
    const unseenLetters =
      letters.gap !== undefined && letters.records < deadLettered ? deadLettered - letters.records : 0n;
    findings.push(
      lacking > skipped + unseenLetters
        ? broken(without)
        : unprovable(`${without}; up to ${unseenLetters} may have been dead-lettered: ${letters.gap}`),
    );
  }
  if (repeated > (isIdempotent ? 0n : maybeRedelivered)) {
    const allowed = isIdempotent
      ? 'the handler says that it is idempotent'
      : `records that may have been redelivered: ${maybeRedelivered}`;
    findings.push(
      broken(
        `effects beyond the first of their record: ${repeated}; ${allowed}${named(first.duplicates, count.duplicates)}`,
      ),
    );
  }
  if (unknown > 0n) {
    const reasons = first.unknown.map((span) => `offsets ${describeIntervals([span])}: ${span.reason}`);
    findings.push(unprovable(`records whose effect is unknown: ${unknown}; ${reasons.join('; ')}`));
  }
  const unsure = atLeastZero(excused.without + excused.unknown - deadLettered - parked) - surplus;
  if (unsure > 0n)
    findings.push(
      unprovable(`records whose effect is unknown: ${unsure}; each has a dead letter, and was settled otherwise`),
    );
  return findings;
}

function atLeastZero(value: bigint): bigint {
  return value > 0n ? value : 0n;
}

function named(offsets: readonly bigint[], total: bigint): string {
  const rest = total > BigInt(offsets.length) ? ', …' : '';
  return offsets.length === 0 ? '' : ` (offsets ${offsets.join(', ')}${rest})`;
}

function broken(message: string): Finding {
  return { kind: 'broken', message };
}

function unprovable(message: string): Finding {
  return { kind: 'unprovable', message };
}
