/**
 * One cycle of the guard, in the one order that is right:
 *
 *   look at the floors and at where the groups go on -> read jobs, marks and the store's name from Kafka -> propose (mark and floors in one step)
 *     -> marks to Kafka, acknowledged -> the store still holds them, and is still the one the distributor fills
 *     -> no group went back below it -> delete at exactly the mark
 *
 * - Looking first: a place that was filled after the jobs were read is another life, and the proposal is refused.
 * - Jobs and series as of one moment: a run and the end of its series move in one transaction.
 * - The session of the marks is opened before proposing and fences older ones, so a mark of ours is never put under a
 *   higher one that somebody else has cut at.
 * - Marks durable before the deletion: a store that is filled anew lets nobody in below what is being deleted.
 * - The look at the store's name after that: a distributor that fills another store from then on reads our marks.
 * - Groups are no part of our store: one that is reset while a cycle runs is seen by the look before the deletion, and one
 *   that is reset after that comes too late, as it would with any reader of Kafka.
 *
 * Every partition has an outcome; what goes wrong with one leaves the others alone.
 */
import type { JobState, SeriesState } from '@tidemark/contracts';
import type { FloorLook } from '@tidemark/cursors';
import { type DurableMarks, markKey } from '@tidemark/jobs';
import { inSlices } from '@tidemark/keyspace';
import type { PartitionOffsets, TopicDescription } from '@tidemark/log';
import { type Candidate, reportOf } from './candidate.ts';
import { cut, guarded, type Proposed } from './cut.ts';
import { type ExaminedTopic, examineTopics } from './examine.ts';
import type { GroupFloor } from './groups.ts';
import { type Overdue, overdueAt } from './hold.ts';
import { isCoveredBy, isSeriesHolder, judge, requiredAt, staleHolders } from './judgement.ts';
import { SLICES } from './limits.ts';
import type { GuardParts } from './parts.ts';
import { recreationOf } from './recreated.ts';
import { raiseReleased, targetOf } from './released.ts';
import type { CycleReport, PartitionReport, StaleFloor } from './report.ts';
import type { Sight } from './watch.ts';
import { type Watched, watchLogs } from './watch-logs.ts';

/** Throws what keeps the whole cycle from being run: Kafka's own topics or the store cannot be read. */
export async function runCycle(parts: GuardParts): Promise<CycleReport> {
  const { topics, reports, drift, repaired } = await examineTopics(parts);
  const candidates = await lookAt(parts, topics, reports);
  const durable = await parts.marks.load();
  const { states, series } = await parts.jobs.jobsAndSeries();
  const storeFault = faultOf(durable, await parts.floors.incarnation());

  const staleFloors = storeFault === undefined ? await dropStale(parts, candidates, { states, series }) : [];

  const sights = await watchLogs(parts, candidates, {
    durable,
    states,
    series,
    isStoreFine: storeFault === undefined,
  });
  const recreated = recreatedAmong(topics, { durable, states, series, sights });

  const releasedAt = ({ place }: Candidate) => sights.get(markKey(place))?.released ?? [];
  const freed = storeFault === undefined ? await raiseReleased(parts, candidates, releasedAt) : candidates;

  const proposals: Proposed[] = [];
  for (const seen of freed) {
    const sight = sights.get(markKey(seen.place));
    const candidate = {
      ...seen,
      ...(sight === undefined ? {} : reportedOf(sight)),
      overdue: overdueOf(parts, seen, { states, series }),
    };
    const { place, offsets, policyTarget, look, groups } = candidate;
    // The name of a series may be in use again by now: nothing is cut until the next cycle has read them anew.
    const required = [...requiredAt(states.values(), place, series.values()), ...droppedSeriesAt(place, staleFloors)];
    const isCovered = durable.marks.has(markKey(place)) || isCoveredBy(states.values(), place, series.values());
    const judgement = judge({
      offsets,
      policyTarget,
      look,
      groups,
      required,
      isCovered,
      storeFault,
      wentBackMark: sight?.wentBackMark,
    });
    if (judgement.kind === 'propose') proposals.push({ ...candidate, ...judgement, required });
    else reports.push(reportOf(candidate, judgement.outcome, judgement.reason));
  }
  if (proposals.length > 0) await cut(parts, { proposals, durable, reports });
  return {
    topics: topics.map(({ description }) => description),
    partitions: reports.sort(byPlace),
    drift,
    repaired,
    recreated,
    staleFloors,
  };
}

function reportedOf({ found, lasting, releases, released }: Watched): Pick<Candidate, 'removals' | 'releases'> {
  const before = lasting.map((removal) => ({ ...removal, isNew: false }));
  const removals = found === undefined ? before : [...before, { ...found, isNew: true }];
  const isNew = new Set(releases.now.map(({ holder }) => holder));
  return { removals, releases: released.map((each) => ({ ...each, isNew: isNew.has(each.holder) })) };
}

function overdueOf(
  parts: GuardParts,
  candidate: Candidate,
  known: {
    readonly states: ReadonlyMap<string, JobState>;
    readonly series: ReadonlyMap<string, SeriesState>;
  },
): readonly Overdue[] {
  const afterMs = parts.holds?.get(candidate.place.topic)?.alarmMs;
  return overdueAt({ ...candidate, ...known, target: targetOf(candidate), afterMs, nowMs: parts.nowMs() });
}

function recreatedAmong(
  topics: readonly ExaminedTopic[],
  known: {
    readonly durable: DurableMarks;
    readonly states: ReadonlyMap<string, JobState>;
    readonly series: ReadonlyMap<string, SeriesState>;
    readonly sights: ReadonlyMap<string, Sight>;
  },
): ReadonlyMap<string, string> {
  const { durable, states, series, sights } = known;
  const recreated = new Map<string, string>();
  for (const { description } of topics) {
    const first = sights.get(markKey({ ...description, partition: 0 }));
    const isFirstLook = first?.isFirst ?? false;
    const words = recreationOf(description, { durable, states: states.values(), series: series.values(), isFirstLook });
    if (words !== undefined) recreated.set(description.topic, words);
  }
  return recreated;
}

async function dropStale(
  parts: GuardParts,
  candidates: readonly Candidate[],
  known: Parameters<typeof staleHolders>[1],
): Promise<readonly StaleFloor[]> {
  const dropped: StaleFloor[] = [];
  for (const { place, look } of candidates) {
    if (look === undefined) continue;
    for (const holder of staleHolders(look, known, parts.nowMs())) {
      await parts.floors.drop({ place, holder });
      dropped.push({ topic: place.topic, partition: place.partition, holder });
    }
  }
  return dropped;
}

function droppedSeriesAt({ topic, partition }: Candidate['place'], dropped: readonly StaleFloor[]): readonly string[] {
  return dropped
    .filter((stale) => stale.topic === topic && stale.partition === partition)
    .map(({ holder }) => holder)
    .filter(isSeriesHolder);
}

function faultOf({ store }: DurableMarks, incarnation: string): string | undefined {
  if (store === undefined) return 'no distributor has filled a store yet';
  if (store.incarnation === incarnation) return undefined;
  return `the store is ${incarnation}, the distributor filled ${store.incarnation}`;
}

async function lookAt(
  parts: GuardParts,
  topics: readonly ExaminedTopic[],
  reports: PartitionReport[],
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  for (const { description, offsets, targets, groups } of topics) {
    const { topic, topicId } = description;
    await inSlices([...offsets.entries()], SLICES, async ([index, each]) => {
      const { partition, logStartOffset } = each;
      const place = { topic, topicId, partition };
      const known = {
        place,
        description,
        offsets: each,
        policyTarget: targets[index] ?? logStartOffset,
        groups: groups[partition] ?? [],
      };
      await guarded(known, reports, async () => {
        const look = await parts.floors.look(place);
        const isGrown = isBeyond(each, look, known.groups);
        candidates.push({ ...known, look, offsets: isGrown ? await offsetsNow(parts, description, each) : each });
      });
    });
  }
  return candidates;
}

/** The log grows, and a job may have been pinned at its new end since its offsets were read: whoever convicts asks again. */
async function offsetsNow(
  { cluster }: GuardParts,
  topic: TopicDescription,
  before: PartitionOffsets,
): Promise<PartitionOffsets> {
  const offsets = await cluster.catalog.offsets(topic);
  return offsets[before.partition] ?? before;
}

function isBeyond(
  { highWatermark, lastStableOffset }: PartitionOffsets,
  look: FloorLook | undefined,
  groups: readonly GroupFloor[],
): boolean {
  if (groups.some((group) => group.kind === 'committed' && group.offset > highWatermark)) return true;
  return (
    look !== undefined && (look.mark > lastStableOffset || look.floors.some(({ offset }) => offset > highWatermark))
  );
}

function byPlace(a: PartitionReport, b: PartitionReport): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return (a.partition ?? -1) - (b.partition ?? -1);
}
