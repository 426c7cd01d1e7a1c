/**
 * P10, proved from the log: do the numbers of a range agree with what the log and the dead letters show today? Whatever the
 * log no longer shows is named as not provable; it may not hide a number that is wrong beyond it. Pure.
 */
import { type CountedRange, identityOf } from '@tidemark/jobs';
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

/** What a sink holds of the records of a range that were settled without a dead letter. */
export interface EffectCount {
  /** Records with an effect. */
  readonly found: bigint;
  /** Effects beyond the first of their record. */
  readonly repeated: bigint;
  readonly missing: bigint;
}

export interface RangeEvidence {
  readonly scan: RangeScan;
  readonly letters: LetterCount;
  /** Undefined: no sink was asked. */
  readonly effects: EffectCount | undefined;
  /** The topic drops records of a key for newer ones. */
  readonly isCompacted: boolean;
}

export function proveRange(range: CountedRange, evidence: RangeEvidence): readonly Finding[] {
  const identity = identityOf(range);
  const findings = [...logFindings(range, evidence), ...letterFindings(range, evidence.letters)];
  if (identity.kind === 'broken') findings.unshift(broken(identity.terms));
  return evidence.effects === undefined ? findings : [...findings, ...effectFindings(range, evidence.effects)];
}

function logFindings({ cursor, counters }: CountedRange, { scan, isCompacted }: RangeEvidence): Finding[] {
  const findings: Finding[] = [];
  const { ok, skipped, deadLettered, parked, filtered, markers, compacted, lost } = counters;
  const unread = scan.unread === undefined ? 0n : cursor - scan.unread.behind;
  const unseen = unread + scan.gone.reduce((sum, { first, last }) => sum + (last - first + 1n), 0n);
  if (lost > unseen) findings.push(broken(`offsets counted as lost: ${lost}; lacking in the log: ${unseen}`));
  const wasCompacted = isCompacted && scan.compacted > compacted;
  if (unseen > lost) {
    const places = scan.gone.map(({ first, last }) => `offsets ${first} to ${last} are not in the log any more`);
    if (scan.unread !== undefined)
      places.push(`offsets behind ${scan.unread.behind} cannot be read: ${scan.unread.reason}`);
    findings.push(unprovable(`${places.join('; ')} (counted as lost: ${lost} of ${unseen})`));
  }
  if (wasCompacted) findings.push(unprovable(`offsets compacted away since: ${scan.compacted - compacted}`));
  const shown: readonly (readonly [what: string, counted: bigint, seen: bigint])[] = [
    ['records', ok + skipped + deadLettered + parked, scan.records],
    ['filtered records', filtered, scan.filtered],
    ['markers and aborted records', markers, scan.markers],
    ['compacted offsets', compacted, scan.compacted],
  ];
  for (const [what, counted, seen] of shown) {
    const mayShowLess = unseen > lost || (wasCompacted && seen < counted);
    if (what === 'compacted offsets' && wasCompacted) continue;
    if (counted === seen || (counted > seen && mayShowLess)) continue;
    findings.push(broken(`${what} counted: ${counted}; shown by the log: ${seen}`));
  }
  return findings;
}

/** A letter that was written before a crash may be of a record that was then settled otherwise. */
function letterFindings({ counters }: CountedRange, { records, gap }: LetterCount): Finding[] {
  const { deadLettered, parked, maybeRedelivered } = counters;
  const message = `dead letters counted: ${deadLettered}; records that have one in their topic: ${records}`;
  if (records < deadLettered) return [gap === undefined ? broken(message) : unprovable(`${message}: ${gap}`)];
  return records > deadLettered + parked + maybeRedelivered ? [broken(message)] : [];
}

function effectFindings({ counters }: CountedRange, { missing, repeated }: EffectCount): Finding[] {
  const { skipped, maybeRedelivered } = counters;
  const findings: Finding[] = [];
  if (missing > skipped)
    findings.push(broken(`records without an effect in the sink: ${missing}; skipped: ${skipped}`));
  if (repeated > maybeRedelivered)
    findings.push(
      broken(
        `effects beyond the first of their record: ${repeated}; records that may have been redelivered: ${maybeRedelivered}`,
      ),
    );
  return findings;
}

function broken(message: string): Finding {
  return { kind: 'broken', message };
}

function unprovable(message: string): Finding {
  return { kind: 'unprovable', message };
}
