/** What a window resolves to, as of now: the same functions that the pin uses, on the same facts. */
import type { JobState } from '@tidemark/contracts';
import {
  OnLost,
  parseWindow,
  type ResolvedPartition,
  resolveWindow,
  type WindowRefusal,
  type WindowStart,
} from '@tidemark/jobs';
import type { LogCatalog, TopicDescription } from '@tidemark/log';

export interface WindowQuestion {
  readonly topic: string;
  readonly from: string;
  readonly to: string;
  readonly onLost?: OnLost;
}

export type WindowPlan =
  | { readonly kind: 'planned'; readonly topic: TopicDescription; readonly partitions: readonly ResolvedPartition[] }
  | { readonly kind: 'unknown topic'; readonly topic: string }
  /** The texts make no window, whatever the log looks like. */
  | { readonly kind: 'malformed'; readonly reasons: readonly string[] }
  | { readonly kind: 'window refused'; readonly code: WindowRefusal; readonly reason: string };

/** Asks the broker and, for `after:JOB`, the job states. Changes nothing, creates nothing. */
export async function planWindow(
  parts: { readonly catalog: LogCatalog; readonly states: () => Promise<ReadonlyMap<string, JobState>> },
  question: WindowQuestion,
): Promise<WindowPlan> {
  const parsed = parseWindow(question);
  if (parsed.kind === 'refused') return { kind: 'malformed', reasons: parsed.reasons };
  const topic = await parts.catalog.describe(question.topic);
  if (topic === undefined) return { kind: 'unknown topic', topic: question.topic };
  // The end first: nothing that is acknowledged later belongs to the window.
  const offsets = await parts.catalog.offsets(topic);
  const { from } = parsed.spec;
  const firstAt = from.kind === 'instant' ? await parts.catalog.offsetsAt(topic, BigInt(from.ms)) : [];
  const resolution = resolveWindow(parsed.spec, {
    topic: topic.topic,
    topicId: topic.topicId,
    partitions: offsets.map((partition, index) => ({ ...partition, firstAtFrom: firstAt[index] })),
    previous: await previousOf(from, parts.states),
    onLost: question.onLost ?? OnLost.stop,
  });
  if (resolution.kind === 'refused')
    return { kind: 'window refused', code: resolution.code, reason: resolution.reason };
  return { kind: 'planned', topic, partitions: resolution.partitions };
}

async function previousOf(
  from: WindowStart,
  states: () => Promise<ReadonlyMap<string, JobState>>,
): Promise<JobState | undefined> {
  return from.kind === 'after' ? (await states()).get(from.jobId) : undefined;
}
