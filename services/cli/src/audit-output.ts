/** An audit as the command line shows it: a page for people, one document for programs. */
import type { JobState } from '@tidemark/contracts';
import { type AuditedRange, type Column, describeCount, type JobAudit, plainText, tableLines } from '@tidemark/control';
import type { RangeRef } from '@tidemark/keyspace';
import { stateText } from './job-output.ts';
import { AUDITED_RANGES_LISTED_MAX, EFFECTS_NAMED_MAX, LOST_LISTED_MAX } from './limits.ts';

export function auditJson(state: JobState, audit: JobAudit): object {
  const { verdict, counters, scanned, remaining, findings, ranges } = audit;
  return {
    jobId: state.jobId,
    state: state.state,
    verdict,
    scanned,
    records: sum(audit, ({ scan }) => scan.records),
    processed: counters.ok + counters.skipped + counters.deadLettered,
    ...counters,
    remaining,
    effects: effectsOf(state, audit),
    findings,
    ranges: ranges.map((audited) => rangeJson(state, audited)),
  };
}

function rangeJson(state: JobState, audited: AuditedRange): object {
  const { range, scan, lost, remaining, findings } = audited;
  return {
    range: placeOf(range),
    start: range.start,
    cursor: range.cursor,
    end: range.end,
    remaining,
    counters: range.counters,
    scan: { ...scan, unread: scan.unread ?? null },
    lost: lost ?? null,
    effects: effectsOf(state, { ranges: [audited] }),
    findings,
  };
}

interface ShownEffects {
  readonly uniqueIds: bigint;
  readonly duplicateIds: bigint;
  /** Beyond the first of their record. */
  readonly repeated: bigint;
  readonly missing: bigint;
  readonly noneDue: bigint;
  readonly unknown: bigint;
  /** The first of each kind, by idempotency key. */
  readonly first: {
    readonly duplicate: readonly string[];
    readonly missing: readonly string[];
    readonly unknown: readonly { readonly first: string; readonly last: string; readonly reason: string }[];
  };
}

/** Null when no sink was asked. */
function effectsOf({ request }: JobState, { ranges }: Pick<JobAudit, 'ranges'>): ShownEffects | null {
  const asked = ranges.flatMap(({ range, effects }) => (effects === undefined ? [] : [{ range, effects }]));
  if (asked.length === 0) return null;
  type Asked = (typeof asked)[number];
  const total = (of: (effects: Asked['effects']) => bigint): bigint =>
    asked.reduce((all, { effects }) => all + of(effects), 0n);
  const first = <T>(of: (asked: Asked, key: (offset: bigint) => string) => readonly T[]): readonly T[] =>
    asked
      .flatMap((one) => of(one, (offset) => `${request.topic}/${one.range.partition}/${offset}`))
      .slice(0, EFFECTS_NAMED_MAX);
  return {
    uniqueIds: total(({ found }) => found),
    duplicateIds: total(({ duplicates }) => duplicates),
    repeated: total(({ repeated }) => repeated),
    missing: total(({ missing }) => missing),
    noneDue: total(({ noneDue }) => noneDue),
    unknown: total(({ unknown }) => unknown),
    first: {
      duplicate: first(({ effects }, key) => effects.first.duplicates.map(key)),
      missing: first(({ effects }, key) => effects.first.missing.map(key)),
      unknown: first(({ effects }, key) =>
        effects.first.unknown.map((span) => ({ ...span, first: key(span.first), last: key(span.last) })),
      ),
    },
  };
}

function sum({ ranges }: JobAudit, of: (range: AuditedRange) => bigint): bigint {
  return ranges.reduce((total, range) => total + of(range), 0n);
}

const VERDICTS: Readonly<Record<JobAudit['verdict'], string>> = {
  proven: 'PROVEN: the numbers are what the log shows',
  unprovable: 'NOT ALL PROVABLE: nothing contradicts the numbers, but not everything can be seen any more',
  broken: 'BROKEN: the numbers contradict what is there',
};

export function auditLines(state: JobState, audit: JobAudit): readonly string[] {
  const { counters, ranges, findings, remaining } = audit;
  const effects = effectsOf(state, audit);
  const listed = [...ranges].sort((a, b) => b.findings.length - a.findings.length).slice(0, AUDITED_RANGES_LISTED_MAX);
  const lines = [
    `job        ${state.jobId}`,
    `state      ${stateText(state)}`,
    `scanned    ${describeCount(audit.scanned)} offsets again, ${describeCount(remaining)} of the window are not passed yet`,
    `settled    ${describeCount(counters.ok)} ok, ${describeCount(counters.skipped)} skipped, ${describeCount(counters.deadLettered)} dead-lettered`,
    `apart      at most ${describeCount(counters.maybeRedelivered)} records were delivered again`,
    ...(counters.lost === 0n ? [] : [`lost       ${describeCount(counters.lost)} offsets${lostPlaces(audit)}`]),
    ...(effects === null ? [] : effectLines(effects)),
    '',
    ...tableLines([...SCAN_COLUMNS, ...(effects === null ? [] : EFFECT_COLUMNS), ADDS_UP], listed),
  ];
  if (listed.length < ranges.length)
    lines.push(`${describeCount(ranges.length - listed.length)} more ranges are not listed; -o json lists all`);
  const named = ranges.flatMap(({ range, findings: own }) =>
    own.map(({ kind, message }) => `${kind}: range ${placeOf(range)}: ${plainText(message)}`),
  );
  lines.push('', ...findings.map(({ kind, message }) => `${kind}: ${plainText(message)}`), ...named);
  lines.push(VERDICTS[audit.verdict]);
  return lines;
}

function effectLines({ uniqueIds, duplicateIds, missing, noneDue, unknown, first }: ShownEffects): readonly string[] {
  const more = [
    ...(noneDue === 0n ? [] : [`${describeCount(noneDue)} rightly without`]),
    ...(unknown === 0n ? [] : [`${describeCount(unknown)} unknown`]),
  ];
  return [
    `effects    of ${describeCount(uniqueIds)} records in the sink, ${describeCount(duplicateIds)} more than once, ${describeCount(missing)} records without${more.map((text) => `, ${text}`).join('')}`,
    ...(first.missing.length === 0 ? [] : [`missing    ${first.missing.join(', ')}`]),
    ...(first.duplicate.length === 0 ? [] : [`duplicate  ${first.duplicate.join(', ')}`]),
  ];
}

/** The exact places, where they can be told. */
function lostPlaces({ ranges }: JobAudit): string {
  const places = ranges.flatMap(({ range, lost }) =>
    (lost ?? []).map(({ first, last }) => `${range.partition}:${first} to ${last}`),
  );
  const listed = places.slice(0, LOST_LISTED_MAX);
  if (listed.length < places.length) listed.push(`${describeCount(places.length - listed.length)} more intervals`);
  const vague = ranges.filter(({ lost }) => lost === undefined).map(({ range }) => placeOf(range));
  const rest =
    vague.length === 0 ? '' : `; not all places were kept in ${vague.join(', ')}, and more was removed since`;
  return `${listed.length === 0 ? '' : `: ${listed.join(', ')}`}${rest}`;
}

type AuditColumn = Column<AuditedRange>;

const ADDS_UP: AuditColumn = { title: 'ADDS UP', of: ({ findings }) => adds(findings) };

const SCAN_COLUMNS: readonly AuditColumn[] = [
  { title: 'RANGE', of: ({ range }) => placeOf(range) },
  { title: 'CURSOR', of: ({ range }) => range.cursor, align: 'right' },
  { title: 'REMAINING', of: ({ remaining }) => remaining, align: 'right' },
  { title: 'RECORDS', of: ({ scan }) => scan.records, align: 'right' },
  { title: 'FILTERED', of: ({ scan }) => scan.filtered, align: 'right' },
  { title: 'MARKERS', of: ({ scan }) => scan.markers, align: 'right' },
  { title: 'COMPACTED', of: ({ scan }) => scan.compacted, align: 'right' },
  {
    title: 'GONE',
    of: ({ scan }) => scan.gone.reduce((total, { first, last }) => total + (last - first + 1n), 0n),
    align: 'right',
  },
];

const EFFECT_COLUMNS: readonly AuditColumn[] = [
  { title: 'UNIQUE', of: ({ effects }) => effects?.found ?? '', align: 'right' },
  { title: 'DUPLICATE', of: ({ effects }) => effects?.duplicates ?? '', align: 'right' },
  { title: 'MISSING', of: ({ effects }) => effects?.missing ?? '', align: 'right' },
  { title: 'UNKNOWN', of: ({ effects }) => effects?.unknown ?? '', align: 'right' },
];

/** As ranges are named in all tables. */
function placeOf({ partition, start }: RangeRef): string {
  return `${partition}:${start}`;
}

function adds(findings: AuditedRange['findings']): string {
  if (findings.some(({ kind }) => kind === 'broken')) return 'NO';
  return findings.length === 0 ? 'yes' : 'as far as seen';
}
