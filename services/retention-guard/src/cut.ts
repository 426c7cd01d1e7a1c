/** From the proposals of a cycle to the deletion: the second half of the protocol in cycle.ts. */
import type { TruncationMark } from '@tidemark/contracts';
import { type DurableMarks, type MarkSession, markOf } from '@tidemark/jobs';
import { describeError, ErrorClass, inSlices, type Offset, TidemarkError } from '@tidemark/keyspace';
import { afterProposal, type Candidate, reportOf } from './candidate.ts';
import { groupFloorsOf } from './group-floors.ts';
import { type GroupFloor, groupFault } from './groups.ts';
import { wentBack } from './judgement.ts';
import { SLICES } from './limits.ts';
import type { GuardParts } from './parts.ts';
import { PartitionOutcome, type PartitionReport } from './report.ts';

export interface Proposed extends Candidate {
  readonly life: string;
  readonly required: readonly string[];
  readonly target: Offset;
}

interface Marked extends Proposed {
  readonly mark: Offset;
}

export async function cut(
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
  if (mark > offsets.lastStableOffset) return leave(PartitionOutcome.beyondLog, wentBack(mark, offsets));
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
  const groupsNow = groupReader(parts);
  const isSameStore = now.store?.incarnation === work.durable.store?.incarnation;
  for (const each of marked) {
    await guarded(each, reports, async () => {
      const { place, life, mark, offsets } = each;
      if (!isSameStore || markOf(now, place) < mark || !(await parts.floors.holdsMark({ place, life, mark }))) {
        reports.push(reportOf(each, PartitionOutcome.incomplete, 'the store was filled anew before the cut'));
        return;
      }
      const groups = await groupsNow(each);
      const fault = groupFault(groups, { ...offsets, highWatermark: undefined, mark });
      if (fault !== undefined) {
        reports.push(reportOf({ ...each, groups }, PartitionOutcome[fault.kind], fault.reason));
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

/** Asks once a topic, and only where groups were named. */
function groupReader({ cluster, groups }: GuardParts): (candidate: Candidate) => Promise<readonly GroupFloor[]> {
  const asked = new Map<string, ReturnType<typeof groupFloorsOf>>();
  return async ({ description, place: { topic, partition } }) => {
    const names = groups?.get(topic) ?? [];
    if (names.length === 0) return [];
    const floors = asked.get(topic) ?? groupFloorsOf(cluster.catalog, description, names);
    asked.set(topic, floors);
    return (await floors)[partition] ?? [];
  };
}

function markRecord({ name, nowMs }: GuardParts, { place, mark }: Marked): TruncationMark {
  const { topic, topicId, partition } = place;
  return { formatVersion: 1, topic, topicId, partition, offset: mark, guard: name, atMs: BigInt(nowMs()) };
}

/** One bad partition does not fail the others. */
export async function guarded(
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
