/** The ranges of one job, read again and proved one by one, a bounded number at the same time. */
import type { JobState } from '@tidemark/contracts';
import { belongingTo, decodeDefinition, definitionOf } from '@tidemark/jobs';
import { inSlices, type OffsetInterval, sizeOfIntervals } from '@tidemark/keyspace';
import type { LogCluster, TopicDescription } from '@tidemark/log';
import type { RangeView } from '../job-view.ts';
import { RESCANS_AT_ONCE } from '../limits.ts';
import { type EffectCount, EffectTally } from './effect-tally.ts';
import type { EffectSource } from './effects.ts';
import { readLetters } from './letters.ts';
import { type Finding, knownLoss, lostIntervals, proveRange } from './prove-range.ts';
import { type RangeScan, rescan } from './rescan.ts';

type Cluster = Pick<LogCluster, 'catalog' | 'openReader'>;

export interface AuditOptions {
  /** Without one only the log and the dead letters are compared. */
  readonly effects?: EffectSource;
  /** Of the handler: an idempotent one leaves no record with two effects. Default false. */
  readonly isIdempotent?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (scanned: bigint, total: bigint) => void;
}

export interface AuditedRange {
  readonly range: RangeView;
  readonly scan: RangeScan;
  /** What the job has lost; undefined when places were not kept, and more has been removed since, so that nobody can tell it apart. */
  readonly lost: readonly OffsetInterval[] | undefined;
  /** Offsets that it has neither passed yet nor lost. */
  readonly remaining: bigint;
  /** Undefined when no sink was asked. */
  readonly effects: EffectCount | undefined;
  readonly findings: readonly Finding[];
}

/** What it lost in front of its cursor nobody will pass any more. */
export function remainingOf({ cursor, end, lost }: Pick<RangeView, 'cursor' | 'end' | 'lost'>): bigint {
  return end - cursor - sizeOfIntervals(lost.filter(({ first }) => first > cursor));
}

export async function auditRanges(
  cluster: Cluster,
  job: { readonly state: JobState; readonly ranges: readonly RangeView[]; readonly options: AuditOptions },
): Promise<readonly AuditedRange[]> {
  const { state, ranges, options } = job;
  const { effects, isIdempotent = false, signal, onProgress } = options;
  const definition = decodeDefinition(definitionOf(state));
  const { topic: name, topicId } = definition;
  const topic = { topic: name, topicId, partitionCount: state.pin?.partitions.length ?? 0 };
  const [letters, { isCompacted, logStartOffsets }] = await Promise.all([
    readLetters(cluster, definition, signal),
    lookAtLog(cluster, topic),
  ]);
  const total = ranges.reduce((sum, { start, cursor }) => sum + (cursor - start), 0n);
  let scanned = 0n;
  const audited = new Map<RangeView, AuditedRange>();
  await inSlices(ranges, { atOnce: effects?.isOrdered === true ? 1 : RESCANS_AT_ONCE }, async (range) => {
    const { partition, start, cursor } = range;
    const parked = new Set<bigint>(range.parked.map(({ offset }) => offset));
    const tally = new EffectTally((offset) => parked.has(offset) || letters.has(partition, offset));
    const scan = await rescanRange(cluster, topic, {
      range,
      lost: knownLoss(range).places,
      belongs: belongingTo(definition),
      onRecords:
        effects === undefined
          ? undefined
          : async (records) => tally.take(records, await effects.effectsOf(partition, records)),
      signal,
    });
    scanned += cursor - start;
    onProgress?.(scanned, total);
    const count = effects === undefined ? undefined : tally.count;
    const findings = proveRange(range, {
      scan,
      letters: letters.in(range),
      effects: count === undefined ? undefined : { count, isIdempotent },
      isCompacted,
      logStartOffset: logStartOffsets[partition],
    });
    const lost = lostIntervals(range, scan);
    audited.set(range, { range, scan, lost, remaining: remainingOf(range), effects: count, findings });
  });
  return ranges.flatMap((range) => audited.get(range) ?? []);
}

async function rescanRange(
  cluster: Cluster,
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

interface LogFacts {
  readonly isCompacted: boolean;
  /** By partition; empty when the topic is not there, or is another one of its name. */
  readonly logStartOffsets: readonly bigint[];
}

async function lookAtLog({ catalog }: Cluster, { topic, topicId }: TopicDescription): Promise<LogFacts> {
  const found = await catalog.describe(topic);
  if (found === undefined) return { isCompacted: false, logStartOffsets: [] };
  const settings = await catalog.settings(topic, ['cleanup.policy']);
  const isCompacted = settings.get('cleanup.policy')?.includes('compact') === true;
  const offsets = found.topicId === topicId ? await catalog.offsets(found) : [];
  return { isCompacted, logStartOffsets: offsets.map(({ logStartOffset }) => logStartOffset) };
}
