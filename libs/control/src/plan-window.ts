/** What a window resolves to, as of now: the same functions that the pin uses, on the same facts. */
import type { JobState } from '@tidemark/contracts';
import type { FloorStore } from '@tidemark/cursors';
import {
  lookupsOf,
  OnLost,
  type PartitionFacts,
  parseWindow,
  type ResolvedPartition,
  resolveWindow,
  type WindowRefusal,
  type WindowSpec,
  type WindowStart,
} from '@tidemark/jobs';
import { offsetMax } from '@tidemark/keyspace';
import type { LogCatalog, TopicDescription } from '@tidemark/log';

export interface WindowQuestion {
  readonly topic: string;
  readonly from: string;
  readonly to: string;
  /** Below 0, or left out: none is stated. */
  readonly disorderMs?: bigint;
  readonly onLost?: OnLost;
}

export interface PlannedWindow {
  readonly kind: 'planned';
  readonly topic: TopicDescription;
  readonly spec: WindowSpec;
  readonly partitions: readonly ResolvedPartition[];
}

export type WindowPlan =
  | PlannedWindow
  | { readonly kind: 'unknown topic'; readonly topic: string }
  /** The texts make no window, whatever the log looks like. */
  | { readonly kind: 'malformed'; readonly reasons: readonly string[] }
  | { readonly kind: 'window refused'; readonly code: WindowRefusal; readonly reason: string };

export interface PlanParts {
  readonly catalog: LogCatalog;
  readonly states: () => Promise<ReadonlyMap<string, JobState>>;
  /** With it a window begins no lower than the mark, as that of a job does; without it guards are not thought of. */
  readonly floors?: Pick<FloorStore, 'look'> | undefined;
}

/** Asks the broker and, for `after:JOB`, the job states. Changes nothing, creates nothing. */
export async function planWindow(parts: PlanParts, question: WindowQuestion): Promise<WindowPlan> {
  const parsed = parseWindow(question);
  if (parsed.kind === 'refused') return { kind: 'malformed', reasons: parsed.reasons };
  const topic = await parts.catalog.describe(question.topic);
  if (topic === undefined) return { kind: 'unknown topic', topic: question.topic };
  // The end first: nothing that is acknowledged later belongs to the window.
  const offsets = await parts.catalog.offsets(topic);
  const { from } = parsed.spec;
  const { fromMs, beyondMs } = lookupsOf(parsed.spec);
  const firstAt = fromMs === undefined ? [] : await parts.catalog.offsetsAt(topic, fromMs);
  const beyond = beyondMs === undefined ? [] : await parts.catalog.offsetsAt(topic, beyondMs);
  const resolution = resolveWindow(parsed.spec, {
    topic: topic.topic,
    topicId: topic.topicId,
    partitions: await behindMarks(
      topic,
      offsets.map((partition, index) => ({
        ...partition,
        firstAtFrom: firstAt[index],
        firstBeyond: beyond[index],
      })),
      parts.floors,
    ),
    previous: await previousOf(from, parts.states),
    onLost: question.onLost ?? OnLost.stop,
  });
  if (resolution.kind === 'refused')
    return { kind: 'window refused', code: resolution.code, reason: resolution.reason };
  return { kind: 'planned', topic, spec: parsed.spec, partitions: resolution.partitions };
}

/** Below a mark nothing is promised: the pin takes it for the start of the log. */
async function behindMarks(
  { topic, topicId }: TopicDescription,
  facts: readonly PartitionFacts[],
  floors: Pick<FloorStore, 'look'> | undefined,
): Promise<readonly PartitionFacts[]> {
  if (floors === undefined) return facts;
  const behind: PartitionFacts[] = [];
  for (const fact of facts) {
    const look = await floors.look({ topic, topicId, partition: fact.partition });
    const logStartOffset = look === undefined ? fact.logStartOffset : offsetMax(fact.logStartOffset, look.mark);
    behind.push({ ...fact, logStartOffset });
  }
  return behind;
}

async function previousOf(
  from: WindowStart,
  states: () => Promise<ReadonlyMap<string, JobState>>,
): Promise<JobState | undefined> {
  return from.kind === 'after' ? (await states()).get(from.jobId) : undefined;
}
