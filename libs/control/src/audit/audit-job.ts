/**
 * Proves a job's numbers: its ranges tile the window, each adds up, and what it counted is what the log, the dead letters and,
 * if one is named, the sink show when they are read again. It says what can no longer be proved, and changes nothing.
 */
import type { JobState } from '@tidemark/contracts';
import { belongingTo, decodeDefinition, definitionOf, JobPhase, tilingFaults, windowsOf } from '@tidemark/jobs';
import { inSlices, type RangeCounters, sumCounters } from '@tidemark/keyspace';
import type { LogRecord, TopicDescription } from '@tidemark/log';
import { type RangeView, viewJob } from '../job-view.ts';
import { RESCANS_AT_ONCE } from '../limits.ts';
import type { ControlParts } from '../parts.ts';
import { type Effect, EffectWalk } from './effects.ts';
import { type Letters, readLetters } from './letters.ts';
import { type EffectCount, type Finding, proveRange } from './prove-range.ts';
import { type RangeScan, rescan } from './rescan.ts';

export interface AuditedRange {
  readonly range: RangeView;
  readonly scan: RangeScan;
  readonly effects: EffectCount | undefined;
  readonly findings: readonly Finding[];
}

export interface JobAudit {
  /** `proven`: everything agrees. `unprovable`: nothing contradicts, but a part cannot be seen any more. */
  readonly verdict: 'proven' | 'unprovable' | 'broken';
  readonly ranges: readonly AuditedRange[];
  /** Of the job as a whole. */
  readonly findings: readonly Finding[];
  readonly counters: RangeCounters;
  /** Offsets read again. */
  readonly scanned: bigint;
  /** Offsets of the window that the job has not passed yet. */
  readonly remaining: bigint;
}

export interface AuditOptions {
  /** What the sink holds, in the order of partition and offset, one entry for each record. */
  readonly effects?: AsyncIterable<Effect>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (scanned: bigint, total: bigint) => void;
}

export type AuditAnswer =
  | { readonly kind: 'audited'; readonly audit: JobAudit }
  | { readonly kind: 'not pinned' }
  | { readonly kind: 'no ranges' };

type AuditParts = Pick<ControlParts, 'cluster' | 'store' | 'schedule'> & {
  readonly jobLog: Pick<ControlParts['jobLog'], 'checkpoints'>;
};

/** A job that is under way is proved up to its cursors. Throws TidemarkError `unavailable` when a service is down. */
export async function auditJob(parts: AuditParts, state: JobState, options: AuditOptions = {}): Promise<AuditAnswer> {
  if (state.pin === null) return { kind: 'not pinned' };
  const { ranges, source } = await viewJob(parts, state);
  if (source === 'none' && state.pin.partitions.length > 0) return { kind: 'no ranges' };
  const windows = windowsOf(state.pin);
  const findings: Finding[] = tilingFaults(windows, ranges).map((message) => ({ kind: 'broken', message }));
  const counters = sumCounters(ranges.map((range) => range.counters));
  findings.push(...totalsFindings(state, counters));
  const remaining = ranges.reduce((sum, { cursor, end }) => sum + (end - cursor), 0n);
  findings.push(...endFindings(state, { remaining, parked: counters.parked }));
  const audited = await auditRanges(parts, { state, ranges, options });
  const scanned = ranges.reduce((sum, { start, cursor }) => sum + (cursor - start), 0n);
  const all = [...findings, ...audited.flatMap((range) => range.findings)];
  const verdict = all.some(({ kind }) => kind === 'broken') ? 'broken' : all.length > 0 ? 'unprovable' : 'proven';
  return { kind: 'audited', audit: { verdict, ranges: audited, findings, counters, scanned, remaining } };
}

function totalsFindings({ totals }: JobState, counters: RangeCounters): readonly Finding[] {
  if (totals === null) return [];
  const names = Object.keys(counters) as (keyof RangeCounters)[];
  return names
    .filter((name) => totals[name] !== counters[name])
    .map((name) => ({
      kind: 'broken',
      message: `the job's state says ${name} ${totals[name]}, its ranges together ${counters[name]}`,
    }));
}

/** Nothing of a completed job may be open, however well its numbers add up so far. */
function endFindings(
  { state }: JobState,
  open: { readonly remaining: bigint; readonly parked: bigint },
): readonly Finding[] {
  if (state !== JobPhase.completed) return [];
  const found: Finding[] = [];
  if (open.remaining > 0n)
    found.push({
      kind: 'broken',
      message: `the job is completed, and ${open.remaining} offsets of its window were not passed`,
    });
  if (open.parked > 0n)
    found.push({ kind: 'broken', message: `the job is completed, and ${open.parked} of its records are parked` });
  return found;
}

async function auditRanges(
  { cluster }: Pick<AuditParts, 'cluster'>,
  job: { readonly state: JobState; readonly ranges: readonly RangeView[]; readonly options: AuditOptions },
): Promise<readonly AuditedRange[]> {
  const { state, ranges, options } = job;
  const { signal, onProgress } = options;
  const definition = decodeDefinition(definitionOf(state));
  const { topic: name, topicId } = definition;
  const topic = { topic: name, topicId, partitionCount: state.pin?.partitions.length ?? 0 };
  const [letters, isCompacted] = await Promise.all([
    readLetters(cluster, definition, signal),
    isCompactedTopic(cluster, name),
  ]);
  const walk = options.effects === undefined ? undefined : new EffectWalk(options.effects);
  const total = ranges.reduce((sum, { start, cursor }) => sum + (cursor - start), 0n);
  let scanned = 0n;
  const audited = new Map<RangeView, AuditedRange>();
  // Effects come in one order, so the ranges are then read one after the other.
  await inSlices(ranges, { atOnce: walk === undefined ? RESCANS_AT_ONCE : 1 }, async (range) => {
    const sink = walk === undefined ? undefined : new SinkOfRange(walk, range, letters);
    const scan = await rescanRange(cluster, topic, {
      range,
      belongs: belongingTo(definition),
      onRecords: sink === undefined ? undefined : (records) => sink.compare(records),
      signal,
    });
    scanned += range.cursor - range.start;
    onProgress?.(scanned, total);
    const evidence = { scan, letters: letters.in(range), effects: sink?.count, isCompacted };
    audited.set(range, { range, scan, effects: sink?.count, findings: proveRange(range, evidence) });
  });
  return ranges.flatMap((range) => audited.get(range) ?? []);
}

async function rescanRange(
  cluster: AuditParts['cluster'],
  topic: TopicDescription,
  request: Omit<Parameters<typeof rescan>[0], 'reader' | 'topic'>,
): Promise<RangeScan> {
  const reader = cluster.openReader();
  try {
    return await rescan({ ...request, reader, topic });
  } finally {
    await reader.close();
  }
}

async function isCompactedTopic({ catalog }: AuditParts['cluster'], topic: string): Promise<boolean> {
  if ((await catalog.describe(topic)) === undefined) return false;
  const settings = await catalog.settings(topic, ['cleanup.policy']);
  return settings.get('cleanup.policy')?.includes('compact') === true;
}

/** Records that were settled without a dead letter must have an effect. */
class SinkOfRange {
  readonly #walk: EffectWalk;
  readonly #partition: number;
  readonly #letters: Letters;
  readonly #parked: ReadonlySet<bigint>;
  readonly #count = { found: 0n, repeated: 0n, missing: 0n };

  constructor(walk: EffectWalk, range: RangeView, letters: Letters) {
    this.#walk = walk;
    this.#partition = range.partition;
    this.#letters = letters;
    this.#parked = new Set(range.parked.map(({ offset }) => offset));
  }

  get count(): EffectCount {
    return this.#count;
  }

  async compare(records: readonly LogRecord[]): Promise<void> {
    for (const { offset } of records) {
      const count = await this.#walk.countAt(this.#partition, offset);
      if (count > 0n) {
        this.#count.found += 1n;
        this.#count.repeated += count - 1n;
      } else if (!this.#letters.has(this.#partition, offset) && !this.#parked.has(offset)) this.#count.missing += 1n;
    }
  }
}
