/** The guarded topics as the broker has them: whether they may be guarded at all, their offsets, and what the policy wants. */
import { describeError, type Offset } from '@tidemark/keyspace';
import type { LogReader, PartitionOffsets, TopicDescription } from '@tidemark/log';
import type { GuardParts } from './parts.ts';
import type { RetentionPolicy } from './policy.ts';
import { PartitionOutcome, type PartitionReport } from './report.ts';
import { policyTargets } from './target.ts';

export interface ExaminedTopic {
  readonly description: TopicDescription;
  readonly offsets: readonly PartitionOffsets[];
  /** In the order of the offsets. */
  readonly targets: readonly Offset[];
}

export interface Examination {
  readonly topics: readonly ExaminedTopic[];
  readonly reports: PartitionReport[];
  readonly drift: ReadonlyMap<string, readonly string[]>;
}

/** What the broker must be told for it to leave the cutting to us. */
const OURS: Readonly<Record<string, string>> = { 'retention.ms': '-1', 'retention.bytes': '-1' };
const CLEANUP = 'cleanup.policy';

export async function examineTopics(parts: GuardParts): Promise<Examination> {
  const topics: ExaminedTopic[] = [];
  const reports: PartitionReport[] = [];
  const drift = new Map<string, readonly string[]>();
  const reader = parts.cluster.openReader();
  try {
    for (const policy of parts.policies) {
      try {
        const examined = await examine(parts, reader, policy);
        if (examined.kind === 'refused') reports.push(aboutTopic(policy, PartitionOutcome.refused, examined.reason));
        else {
          topics.push(examined.topic);
          if (examined.drift.length > 0) drift.set(policy.topic, examined.drift);
        }
      } catch (error) {
        reports.push(aboutTopic(policy, PartitionOutcome.failed, describeError(error)));
      }
    }
  } finally {
    await reader.close();
  }
  return { topics, reports, drift };
}

type Examined =
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'guarded'; readonly topic: ExaminedTopic; readonly drift: readonly string[] };

async function examine(parts: GuardParts, reader: LogReader, policy: RetentionPolicy): Promise<Examined> {
  const { catalog } = parts.cluster;
  const description = await catalog.describe(policy.topic);
  if (description === undefined) return { kind: 'refused', reason: 'the topic does not exist' };
  const settings = await catalog.settings(policy.topic, [CLEANUP, ...Object.keys(OURS)]);
  const cleanup = settings.get(CLEANUP) ?? 'unknown';
  if (cleanup !== 'delete')
    return { kind: 'refused', reason: `its cleanup.policy is ${cleanup}: a compacted topic keeps keys, not a period` };
  const drift = Object.entries(OURS)
    .filter(([name, wanted]) => settings.get(name) !== wanted)
    .map(([name, wanted]) => `${name} is ${settings.get(name) ?? 'unknown'}, not ${wanted}`);
  const offsets = await catalog.offsets(description);
  const targets = await policyTargets({ catalog, reader, topic: description, offsets, policy, nowMs: parts.nowMs() });
  return { kind: 'guarded', topic: { description, offsets, targets }, drift };
}

function aboutTopic({ topic }: RetentionPolicy, outcome: PartitionOutcome, reason: string): PartitionReport {
  return { topic, partition: undefined, outcome, reason, cutOffsets: 0n, heldOffsets: 0n };
}
