/**
 * One cycle of the guard, in the one order that is right:
 *
 *   look at the floors -> read jobs, marks and the store's name from Kafka -> propose (mark and floors in one step)
 *     -> marks to Kafka, acknowledged -> the store still holds them, and is still the one the distributor fills
 *     -> delete at exactly the mark
 *
 * - Looking first: a place that was filled after the jobs were read is another life, and the proposal is refused.
 * - The session of the marks is opened before proposing and fences older ones, so a mark of ours is never put under a
 *   higher one that somebody else has cut at.
 * - Marks durable before the deletion: a store that is filled anew lets nobody in below what is being deleted.
 * - The look at the store's name after that: a distributor that fills another store from then on reads our marks.
 *
 * Every partition has an outcome; what goes wrong with one leaves the others alone.
 */
import type { JobState, TruncationMark } from '@tidemark/contracts';
import type { FloorLook } from '@tidemark/cursors';
import { type DurableMarks, type MarkSession, markKey, markOf } from '@tidemark/jobs';
import { describeError, ErrorClass, inSlices, type Offset, TidemarkError } from '@tidemark/keyspace';
import type { PartitionOffsets, TopicDescription } from '@tidemark/log';
import { afterProposal, type Candidate, reportOf } from './candidate.ts';
import { type ExaminedTopic, examineTopics } from './examine.ts';
import { isCoveredBy, judge, requiredAt, staleHolders } from './judgement.ts';
import { PARTITIONS_AT_ONCE } from './limits.ts';
import type { GuardParts } from './parts.ts';
import { type CycleReport, PartitionOutcome, type PartitionReport, type StaleFloor } from './report.ts';

const SLICES = { atOnce: PARTITIONS_AT_ONCE };

interface Proposed extends Candidate {
  readonly life: string;
  readonly required: readonly string[];
  readonly target: Offset;
}

interface Marked extends Proposed {
  readonly mark: Offset;
}

/** Throws what keeps the whole cycle from being run: Kafka's own topics or the store cannot be read. */
export async function runCycle(parts: GuardParts): Promise<CycleReport> {
  const { topics, reports, drift } = await examineTopics(parts);
  const candidates = await lookAt(parts, topics, reports);
  const durable = await parts.marks.load();
  const states = await parts.jobs.states();
  const storeFault = faultOf(durable, await parts.floors.incarnation());

  const staleFloors = storeFault === undefined ? await dropStale(parts, candidates, states) : [];

  const proposals: Proposed[] = [];
  for (const candidate of candidates) {
    const { place, offsets, policyTarget, look } = candidate;
    const required = requiredAt(states.values(), place);
    const isCovered = durable.marks.has(markKey(place)) || isCoveredBy(states.values(), place);
    const judgement = judge({ offsets, policyTarget, look, required, isCovered, storeFault });
    if (judgement.kind === 'propose') proposals.push({ ...candidate, ...judgement, required });
    else reports.push(reportOf(candidate, judgement.outcome, judgement.reason));
  }
  if (proposals.length > 0) await cut(parts, { proposals, durable, reports });
  return { partitions: reports.sort(byPlace), drift, staleFloors };
}

async function dropStale(
  parts: GuardParts,
  candidates: readonly Candidate[],
  states: ReadonlyMap<string, JobState>,
): Promise<readonly StaleFloor[]> {
  const dropped: StaleFloor[] = [];
  for (const { place, look } of candidates) {
    if (look === undefined) continue;
    for (const holder of staleHolders(look, states, parts.nowMs())) {
      await parts.floors.drop({ place, holder });
      dropped.push({ topic: place.topic, partition: place.partition, holder });
    }
  }
  return dropped;
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
  for (const { description, offsets, targets } of topics) {
    const { topic, topicId } = description;
    await inSlices([...offsets.entries()], SLICES, async ([index, each]) => {
      const { partition, logStartOffset } = each;
      const place = { topic, topicId, partition };
      const known = { place, offsets: each, policyTarget: targets[index] ?? logStartOffset };
      await guarded(known, reports, async () => {
        const look = await parts.floors.look(place);
        const isGrown = look !== undefined && isBeyond(look, each);
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

function isBeyond({ mark, floors }: FloorLook, { highWatermark, lastStableOffset }: PartitionOffsets): boolean {
  return mark > lastStableOffset || floors.some(({ offset }) => offset > highWatermark);
}

async function cut(
  parts: GuardParts,
  work: {
    readonly proposals: readonly Proposed[];
    readonly durable: DurableMarks;
    readonly reports: PartitionReport[];
  },
): Promise<void> {
  const { reports } = work;
  let session: MarkSession | undefined;
  const marked: Marked[] = [];
  try {
    session = await parts.marks.openSession();
    await inSlices(work.proposals, SLICES, (proposed) =>
      guarded(proposed, reports, async () => {
        const mark = await propose(parts, proposed, reports);
        if (mark !== undefined) marked.push({ ...proposed, mark });
      }),
    );
    await session.write(marked.map((each) => markRecord(parts, each)));
  } catch (error) {
    const isFenced = error instanceof TidemarkError && error.class === ErrorClass.fenced;
    const outcome = isFenced ? PartitionOutcome.yielded : PartitionOutcome.failed;
    const reason = isFenced ? 'another guard took its turn' : describeError(error);
    const reported = new Set(reports.map(keyOf));
    for (const proposed of work.proposals)
      if (!reported.has(keyOf(proposed.place))) reports.push(reportOf(proposed, outcome, reason));
    return;
  } finally {
    await session?.close().catch(() => undefined);
  }
  if (marked.length > 0) await deleteMarked(parts, { ...work, marked });
}

/** The mark to cut at, or undefined when there is nothing to cut; then the partition has its report. */
async function propose(parts: GuardParts, proposed: Proposed, reports: PartitionReport[]): Promise<Offset | undefined> {
  const { place, life, target, required, offsets } = proposed;
  const leave = (outcome: PartitionOutcome, reason: string): undefined => {
    reports.push(reportOf(proposed, outcome, reason));
  };
  const answer = await parts.floors.propose({ place, life, target, required });
  if (answer.kind === 'incomplete')
    return leave(PartitionOutcome.incomplete, 'the floors were filled anew while the jobs were read');
  if (answer.kind === 'missing')
    return leave(PartitionOutcome.incomplete, `floors went away meanwhile: ${answer.holders.join(', ')}`);
  if (answer.kind === 'held')
    return leave(PartitionOutcome.held, `the floor ${answer.floor} is below a mark that was never cut at`);
  const { mark } = answer;
  if (mark <= offsets.logStartOffset) return leave(PartitionOutcome.held, '');
  if (mark > offsets.lastStableOffset)
    return leave(
      PartitionOutcome.beyondLog,
      `the mark is ${mark}, the log is stable up to ${offsets.lastStableOffset}`,
    );
  return mark;
}

async function deleteMarked(
  parts: GuardParts,
  work: {
    readonly marked: readonly Marked[];
    readonly durable: DurableMarks;
    readonly reports: PartitionReport[];
  },
): Promise<void> {
  const { marked, reports } = work;
  let now: DurableMarks;
  try {
    now = await parts.marks.load();
  } catch (error) {
    for (const each of marked) reports.push(reportOf(each, PartitionOutcome.failed, describeError(error)));
    return;
  }
  const isSameStore = now.store?.incarnation === work.durable.store?.incarnation;
  for (const each of marked) {
    await guarded(each, reports, async () => {
      const { place, life, mark, offsets } = each;
      if (!isSameStore || markOf(now, place) < mark || !(await parts.floors.holdsMark({ place, life, mark }))) {
        reports.push(reportOf(each, PartitionOutcome.incomplete, 'the store was filled anew before the cut'));
        return;
      }
      await parts.cluster.catalog.deleteRecordsBefore(place, mark);
      reports.push({
        ...reportOf(afterProposal(each, mark), PartitionOutcome.cut, ''),
        cutOffsets: mark - offsets.logStartOffset,
      });
    });
  }
}

function markRecord({ name, nowMs }: GuardParts, { place, mark }: Marked): TruncationMark {
  const { topic, topicId, partition } = place;
  return { formatVersion: 1, topic, topicId, partition, offset: mark, guard: name, atMs: BigInt(nowMs()) };
}

/** One bad partition does not fail the others. */
async function guarded(
  candidate: Omit<Candidate, 'look'>,
  reports: PartitionReport[],
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    reports.push(reportOf({ look: undefined, ...candidate }, PartitionOutcome.failed, describeError(error)));
  }
}

function keyOf({ topic, partition }: { readonly topic: string; readonly partition: number | undefined }): string {
  return `${topic}/${partition}`;
}

function byPlace(a: PartitionReport, b: PartitionReport): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return (a.partition ?? -1) - (b.partition ?? -1);
}
