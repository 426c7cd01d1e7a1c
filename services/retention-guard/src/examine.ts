/** The guarded topics as the broker has them: whether they may be guarded at all, their offsets, and what the policy wants. */
import { describeError, type Offset } from '@tidemark/keyspace';
import type { LogReader, PartitionOffsets, TopicDescription } from '@tidemark/log';
import { groupFloorsOf } from './group-floors.ts';
import type { GroupFloor } from './groups.ts';
import type { GuardParts } from './parts.ts';
import type { RetentionPolicy } from './policy.ts';
import { PartitionOutcome, type PartitionReport } from './report.ts';
import { policyTargets } from './target.ts';

export interface ExaminedTopic {
  readonly description: TopicDescription;
  readonly offsets: readonly PartitionOffsets[];
  /** In the order of the offsets. */
  readonly targets: readonly Offset[];
  /** By partition. */
  readonly groups: readonly (readonly GroupFloor[])[];
}

export interface Examination {
  readonly topics: readonly ExaminedTopic[];
  readonly reports: PartitionReport[];
  readonly drift: ReadonlyMap<string, readonly string[]>;
  readonly repaired: ReadonlyMap<string, readonly string[]>;
}

/** What the broker must be told for it to leave the cutting to us. */
const OURS: Readonly<Record<string, string>> = { 'retention.ms': '-1', 'retention.bytes': '-1' };
const CLEANUP = 'cleanup.policy';

export async function examineTopics(parts: GuardParts): Promise<Examination> {
  const topics: ExaminedTopic[] = [];
  const reports: PartitionReport[] = [];
  const drift = new Map<string, readonly string[]>();
  const repairs = new Map<string, readonly string[]>();
  const reader = parts.cluster.openReader();
  try {
    for (const policy of parts.policies) {
      try {
        const examined = await examine(parts, reader, policy);
        if (examined.kind === 'refused') reports.push(aboutTopic(policy, PartitionOutcome.refused, examined.reason));
        else {
          topics.push(examined.topic);
          if (examined.drift.length > 0) drift.set(policy.topic, examined.drift);
          if (examined.repaired.length > 0) repairs.set(policy.topic, examined.repaired);
        }
      } catch (error) {
        reports.push(aboutTopic(policy, PartitionOutcome.failed, describeError(error)));
      }
    }
  } finally {
    await reader.close();
  }
  return { topics, reports, drift, repaired: repairs };
}

type Examined =
  | { readonly kind: 'refused'; readonly reason: string }
  | ({ readonly kind: 'guarded'; readonly topic: ExaminedTopic } & Drift);

interface Drift {
  /** What lets the broker cut by itself. */
  readonly drift: readonly string[];
  /** What did until now. */
  readonly repaired: readonly string[];
}

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
  const ours = await repaired(parts, policy.topic, drift);
  const offsets = await catalog.offsets(description);
  const targets = await policyTargets({ catalog, reader, topic: description, offsets, policy, nowMs: parts.nowMs() });
  const groups = await groupFloorsOf(catalog, description, parts.groups?.get(policy.topic) ?? []);
  return { kind: 'guarded', topic: { description, offsets, targets, groups }, ...ours };
}

/** A repair that fails is said beside the drift, and the topic is looked after all the same. */
async function repaired({ cluster, repairs }: GuardParts, topic: string, drift: readonly string[]): Promise<Drift> {
  if (repairs !== true || drift.length === 0) return { drift, repaired: [] };
  try {
    await cluster.catalog.changeSettings(topic, OURS);
    return { drift: [], repaired: drift };
  } catch (error) {
    return { drift: [...drift, `it could not be repaired: ${describeError(error)}`], repaired: [] };
  }
}

function aboutTopic({ topic }: RetentionPolicy, outcome: PartitionOutcome, reason: string): PartitionReport {
  return { topic, partition: undefined, outcome, reason, cutOffsets: 0n, heldOffsets: 0n };
}
