/** Where things go from here: when a disk is full, when a policy reaches a floor; told to whoever looks, through Kafka. */
import type { GuardView } from '@tidemark/contracts';
import { markKey } from '@tidemark/jobs';
import { cursorBefore, type Offset } from '@tidemark/keyspace';
import type { LogDisk, LogReader, Source, TopicDescription } from '@tidemark/log';
import { Growth } from './growth.ts';
import { VIEW_EVERY_MS } from './limits.ts';
import type { GuardParts } from './parts.ts';
import type { CycleReport, PartitionReport } from './report.ts';

export interface DiskOutlook extends LogDisk {
  /** At the growth over the last cycles; undefined when it does not grow, or was not watched long enough. */
  readonly fullAtMs: number | undefined;
}

export interface Outlook {
  /** After every cycle. Throws when the brokers or the marks topic do not answer; nothing depends on it. */
  look(report: CycleReport): Promise<readonly DiskOutlook[]>;
}

export function createOutlook(parts: GuardParts): Outlook {
  const growths = new Map<string, Growth>();
  const growthOf = (key: string): Growth => {
    const growth = growths.get(key) ?? new Growth();
    growths.set(key, growth);
    return growth;
  };
  let toldAtMs = Number.NEGATIVE_INFINITY;
  return {
    async look(report) {
      const nowMs = parts.nowMs();
      for (const { partition, highWatermark, ...place } of placesOf(report))
        growthOf(markKey({ ...place, partition })).note(highWatermark, nowMs);
      const disks = (await parts.cluster.catalog.disks(report.topics)).map((disk) => {
        const growth = growthOf(`disk ${disk.broker} ${disk.directory}`);
        growth.note(-disk.usableBytes, nowMs);
        return { ...disk, fullAtMs: growth.reachesAtMs(disk.usableBytes, nowMs) };
      });
      // The clock may have been set back.
      if (Math.abs(nowMs - toldAtMs) >= VIEW_EVERY_MS) {
        await parts.marks.tell(await viewsOf(parts, report, { disks, growthOf, nowMs }));
        toldAtMs = nowMs;
      }
      return disks;
    },
  };
}

interface Known {
  readonly disks: readonly DiskOutlook[];
  readonly growthOf: (key: string) => Growth;
  readonly nowMs: number;
}

function placesOf({ topics, partitions }: CycleReport) {
  const ids = new Map(topics.map(({ topic, topicId }) => [topic, topicId]));
  return partitions.flatMap(({ topic, partition, highWatermark }) => {
    const topicId = ids.get(topic);
    if (topicId === undefined || partition === undefined || highWatermark === undefined) return [];
    return [{ topic, topicId, partition, highWatermark }];
  });
}

async function viewsOf(parts: GuardParts, report: CycleReport, known: Known): Promise<readonly GuardView[]> {
  const reader = parts.cluster.openReader();
  try {
    const views: GuardView[] = [];
    for (const description of report.topics) {
      const { topic, topicId } = description;
      const partitions: GuardView['partitions'][number][] = [];
      for (const seen of report.partitions)
        if (seen.topic === topic && seen.partition !== undefined)
          partitions.push(await partitionView(parts, reader, { description, seen, partition: seen.partition }, known));
      views.push({
        formatVersion: 1,
        topic,
        topicId,
        guard: parts.name,
        atMs: BigInt(known.nowMs),
        partitions,
        disks: known.disks.filter(({ logs }) => logs.some((log) => log.topic === topic)).map(diskView),
      });
    }
    return views;
  } finally {
    await reader.close();
  }
}

function diskView({ broker, directory, totalBytes, usableBytes, fullAtMs }: DiskOutlook): GuardView['disks'][number] {
  return { broker, directory, totalBytes, usableBytes, fullAtMs: fullAtMs === undefined ? null : BigInt(fullAtMs) };
}

interface Looked {
  readonly description: TopicDescription;
  readonly seen: PartitionReport;
  readonly partition: number;
}

async function partitionView(
  parts: GuardParts,
  reader: LogReader,
  looked: Looked,
  known: Known,
): Promise<GuardView['partitions'][number]> {
  const { seen, partition } = looked;
  const { outcome, reason, target = null } = seen;
  const atMs = await policyAtFloorAtMs(parts, reader, looked, known);
  const groups = (parts.groups?.get(seen.topic) ?? []).map((group) => ({
    group,
    offset: seen.groups?.get(group) ?? null,
  }));
  return { partition, outcome, reason, target, policyAtFloorAtMs: atMs === undefined ? null : BigInt(atMs), groups };
}

/** Undefined when the policy is there, when there is no floor, or when it cannot be told. */
async function policyAtFloorAtMs(
  { policies }: GuardParts,
  reader: LogReader,
  { description: { topic, topicId }, seen, partition }: Looked,
  { growthOf, nowMs }: Known,
): Promise<number | undefined> {
  const { floor, target, logStartOffset } = seen;
  const policy = policies.find((each) => each.topic === topic);
  if (floor === undefined || target === undefined || target >= floor || policy === undefined) return undefined;
  const source = { topic, topicId, partition };
  const times: number[] = [];
  if (policy.ageMs !== undefined) {
    const writtenAtMs = await timeAt(reader, source, floor);
    if (writtenAtMs !== undefined) times.push(Number(writtenAtMs) + policy.ageMs);
  }
  // A policy by size that removes nothing yet does not tell how far away it is.
  if (policy.bytes !== undefined && logStartOffset !== undefined && target > logStartOffset) {
    const reached = growthOf(markKey(source)).reachesAtMs(floor - target, nowMs);
    if (reached !== undefined) times.push(reached);
  }
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Of the first record from the offset on. */
async function timeAt(reader: LogReader, source: Source, offset: Offset): Promise<bigint | undefined> {
  const cursor = cursorBefore(offset);
  const answer = await reader.read({ source, cursor, end: offset, recordsMax: 1, bytesMax: 1, waitMs: 0 });
  return answer.kind === 'chunk' ? answer.chunk.records[0]?.timestampMs : undefined;
}
