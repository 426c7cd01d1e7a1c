/**
 * The pin: the moment at which the window of a job is fixed. Its steps, in this order, because each protects the next:
 *
 * 1. topic id and partition set: what the window is about; and which of its keys wait unsent in the outbox;
 * 2. the high watermark of every partition, before anything else is looked up: `end`. What was acknowledged before the
 *    request was written lies below it, so it is in; what is acknowledged later lies above it, so it is out;
 * 3. the start, from texts, times or a former job; and where a window with a disorder bound ends before the log does;
 * 4. floors are reserved, so that nobody truncates what was resolved. What lies below a mark may be cut at any moment, so
 *    the mark counts as the log start, and the start is resolved again;
 * 5. log start and topic id again: what was resolved must still be there. Somebody else than our guard may have cut, or
 *    the guard before it could see the reservation;
 * 6. the caller makes it durable and waits for the acknowledgement;
 * 7. the caller confirms the reservation as a floor, or ends the job (it may have run out while 6 waited);
 * 8. only then the caller fills the store and lets workers in.
 *
 * Steps 1 to 5 change nothing but reservations, which run out, so they may be repeated; a crash before 6 leaves nothing,
 * one after it is repaired by the restore at the next start.
 */
import type { JobRequested, JobState, Pin } from '@tidemark/contracts';
import {
  lookupsOf,
  OnLost,
  type PartitionFacts,
  parseWindow,
  type Resolution,
  resolveWindow,
  type WindowSpec,
  wordOf,
} from '@tidemark/jobs';
import { ErrorClass, isEmpty, nextOffsetOf, type Offset, offsetMax, TidemarkError } from '@tidemark/keyspace';
import type { LogCatalog, PartitionOffsets, TopicDescription } from '@tidemark/log';
import type { FloorKeeper } from './floor-keeper.ts';
import { PIN_ATTEMPTS_MAX } from './limits.ts';
import type { OnStep } from './steps.ts';
import { NOTHING_UNSENT, type Unsent } from './unsent.ts';

export type PinAnswer =
  | { readonly kind: 'pinned'; readonly pin: Pin }
  | { readonly kind: 'refused'; readonly reason: string };

export type PinCatalog = Pick<LogCatalog, 'describe' | 'offsets' | 'offsetsAt'>;

export interface PinHolder {
  readonly name: string;
  /** Also where the window is empty now. */
  readonly isEverywhere: boolean;
}

export interface PinRequest {
  readonly catalog: PinCatalog;
  readonly request: JobRequested;
  /** For `after:JOB`. */
  readonly previous: JobState | undefined;
  readonly nowMs: () => number;
  readonly onStep: OnStep;
  readonly floors: Pick<FloorKeeper, 'reserve'>;
  /** Whose floors are reserved; by default the job's, where it has something to read. */
  readonly holder?: PinHolder | undefined;
  /** Keys of the topic that wait in the outbox. */
  readonly unsent: () => Promise<Unsent>;
}

export async function pinWindow(options: PinRequest): Promise<PinAnswer> {
  const window = parseWindow(options.request);
  if (window.kind === 'refused') return { kind: 'refused', reason: window.reasons.join('; ') };
  for (let attempt = 1; attempt <= PIN_ATTEMPTS_MAX; attempt++) {
    const answer = await pinOnce(options, window.spec).catch(changedWhenRecreated);
    if (answer.kind !== 'changed') return answer;
  }
  return {
    kind: 'refused',
    reason: `TOPIC_UNSTEADY: topic ${options.request.topic} was recreated ${PIN_ATTEMPTS_MAX} times while it was pinned`,
  };
}

async function pinOnce(options: PinRequest, spec: WindowSpec): Promise<PinAnswer | { readonly kind: 'changed' }> {
  const { catalog, request, onStep } = options;
  const topic = await catalog.describe(request.topic);
  if (topic === undefined) return { kind: 'refused', reason: `TOPIC_NOT_FOUND: topic ${request.topic} does not exist` };
  const unsent = await options.unsent();
  await onStep('pin.described');
  const ends = await catalog.offsets(topic);
  const pinnedAtMs = BigInt(options.nowMs());
  await onStep('pin.ends-read');
  const facts = await factsAt(catalog, topic, ends, spec);
  await onStep('pin.starts-read');
  const reserved = await reserveFloors({ ...options, topic, spec }, facts);
  if (reserved.kind === 'refused') return reserved;
  await onStep('pin.reserved');

  const again = await catalog.describe(request.topic);
  if (again?.topicId !== topic.topicId) return { kind: 'changed' };
  const heads = await catalog.offsets(topic);
  await onStep('pin.rechecked');
  const answer = fix({ ...options, topic, spec, pinnedAtMs, partitions: withHeads(reserved.facts, heads) });
  return answer.kind === 'pinned' ? { ...answer, pin: { ...answer.pin, ...unsent } } : answer;
}

/** Asking for the offsets of a topic that was replaced meanwhile is an error of the catalog; here it is the same finding. */
function changedWhenRecreated(error: unknown): { readonly kind: 'changed' } {
  if (error instanceof TidemarkError && error.class === ErrorClass.lost) return { kind: 'changed' };
  throw error;
}

async function factsAt(
  catalog: PinCatalog,
  topic: TopicDescription,
  ends: readonly PartitionOffsets[],
  spec: WindowSpec,
): Promise<readonly PartitionFacts[]> {
  const { fromMs, beyondMs } = lookupsOf(spec);
  const firsts = fromMs === undefined ? [] : await catalog.offsetsAt(topic, fromMs);
  const beyond = beyondMs === undefined ? [] : await catalog.offsetsAt(topic, beyondMs);
  return ends.map(({ partition, logStartOffset, highWatermark }) => ({
    partition,
    logStartOffset,
    highWatermark,
    firstAtFrom: firsts[partition],
    firstBeyond: beyond[partition],
  }));
}

interface Resolving extends PinRequest {
  readonly topic: TopicDescription;
  readonly spec: WindowSpec;
}

async function reserveFloors(
  options: Resolving,
  facts: readonly PartitionFacts[],
): Promise<
  | { readonly kind: 'reserved'; readonly facts: readonly PartitionFacts[] }
  | { readonly kind: 'refused'; readonly reason: string }
> {
  const { topic, floors, request } = options;
  const { name, isEverywhere } = options.holder ?? { name: request.jobId, isEverywhere: false };
  let known = facts;
  for (let attempt = 1; attempt <= PIN_ATTEMPTS_MAX; attempt++) {
    const resolution = resolve(options, known);
    if (resolution.kind === 'refused') return { kind: 'refused', reason: reasonOf(resolution) };
    const marks: { partition: number; logStartOffset: Offset }[] = [];
    for (const window of resolution.partitions) {
      if (isEmpty(window) && !isEverywhere) continue;
      const place = { topic: topic.topic, topicId: topic.topicId, partition: window.partition };
      const answer = await floors.reserve(name, { place, offset: nextOffsetOf(window.start) });
      if (answer.kind === 'below mark') marks.push({ partition: window.partition, logStartOffset: answer.mark });
    }
    if (marks.length === 0) return { kind: 'reserved', facts: known };
    known = withHeads(known, marks);
  }
  const reason = `LOG_BEING_CUT: topic ${topic.topic} was truncated ${PIN_ATTEMPTS_MAX} times while it was pinned`;
  return { kind: 'refused', reason };
}

/** The ends stay as they were read first; the log starts are the newest. */
function withHeads(
  facts: readonly PartitionFacts[],
  heads: readonly Pick<PartitionOffsets, 'partition' | 'logStartOffset'>[],
): readonly PartitionFacts[] {
  const newest = new Map(heads.map(({ partition, logStartOffset }) => [partition, logStartOffset]));
  return facts.map((fact) => ({
    ...fact,
    logStartOffset: offsetMax(fact.logStartOffset, newest.get(fact.partition) ?? fact.logStartOffset),
  }));
}

function resolve({ topic, spec, previous, request }: Resolving, partitions: readonly PartitionFacts[]): Resolution {
  const onLost = wordOf(OnLost, request.onLost) ?? OnLost.stop;
  return resolveWindow(spec, { topic: topic.topic, topicId: topic.topicId, partitions, previous, onLost });
}

function reasonOf({ code, reason }: Extract<Resolution, { kind: 'refused' }>): string {
  return `${code}: ${reason}`;
}

function fix(
  options: Resolving & { readonly pinnedAtMs: bigint; readonly partitions: readonly PartitionFacts[] },
): PinAnswer {
  const { topic, partitions, pinnedAtMs } = options;
  const resolution = resolve(options, partitions);
  if (resolution.kind === 'refused') return { kind: 'refused', reason: reasonOf(resolution) };
  const pin = { pinnedAtMs, topicId: topic.topicId, partitions: pinnedPartitions(resolution), ...NOTHING_UNSENT };
  return { kind: 'pinned', pin };
}

function pinnedPartitions(resolution: Extract<Resolution, { kind: 'resolved' }>): Pin['partitions'] {
  return resolution.partitions.map(({ partition, start, end, logStartOffset, highWatermark, clamped }) => ({
    partition,
    start,
    end,
    logStartOffset,
    highWatermark,
    clamped,
  }));
}
