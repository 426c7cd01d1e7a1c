/**
 * One try to pin a request, in its turn. What the broker says of the request's own topic concerns this request alone: an
 * outage makes it wait, while checkpoints, ends and commands go on, and a verdict refuses it. Neither ends the session.
 */
import type { JobRequested } from '@tidemark/contracts';
import { type CommandPlace, parseWindow, targetRefusal } from '@tidemark/jobs';
import { describeError, ErrorClass, isOutage, TidemarkError } from '@tidemark/keyspace';
import { type PinAnswer, type PinCatalog, type PinHolder, pinWindow } from './pin.ts';
import type { Shard } from './shard.ts';
import { createTries, type WaitingRequest } from './tries.ts';
import { readUnsent } from './unsent.ts';

/** `waits`: the position stays, and `shard.waiting` says when to ask again. */
export async function pinInTurn(
  shard: Shard,
  request: JobRequested,
  place: CommandPlace,
  holder?: PinHolder,
): Promise<PinAnswer | { readonly kind: 'waits' }> {
  const asked = createAskedCatalog(shard.parts.cluster.catalog);
  const waiting = waitingAt(shard, request, place);
  if (waiting.tries.dueInMs() > 0) return { kind: 'waits' };
  const tried = await waiting.tries.once(
    () => pinRequest(shard, request, asked, holder).catch((error: unknown) => refusedFor(asked, error)),
    (error) => asked.said(error) && isOutage(error),
  );
  if (tried.kind === 'failed' && tried.waitedMs < shard.parts.pinDeadlineMs) {
    shard.waiting = waiting;
    return { kind: 'waits' };
  }
  shard.waiting = undefined;
  return tried.kind === 'answered' ? tried.answer : gaveUp(request, tried);
}

export async function pinRequest(
  shard: Shard,
  request: JobRequested,
  { catalog, noting }: AskedCatalog,
  holder?: PinHolder,
): Promise<PinAnswer> {
  const { nowMs, onStep, namespace } = shard.parts;
  const target = await targetRefusal(catalog, request, namespace);
  if (target !== undefined) return { kind: 'refused', reason: `${target.code}: ${target.reason}` };
  const unsent = () => noting(readUnsent(shard.parts, request.topic));
  const window = parseWindow(request);
  const after = window.kind === 'window' && window.spec.from.kind === 'after' ? window.spec.from.jobId : undefined;
  const previous = after === undefined ? undefined : shard.book.state(after);
  return await pinWindow({ catalog, request, previous, nowMs, onStep, unsent, floors: shard.floors.keeper, holder });
}

function waitingAt(shard: Shard, request: JobRequested, { offset }: CommandPlace): WaitingRequest {
  if (shard.waiting?.offset === offset) return shard.waiting;
  const { logger } = shard.parts;
  const fields = { jobId: request.jobId, topic: request.topic, offset };
  const tries = createTries({
    onDown: (error) => logger.warn({ ...fields, error }, 'request.waiting'),
    onBack: (waitedMs) => logger.info({ ...fields, waitedMs }, 'request.answered'),
  });
  return { offset, tries, seenTo: undefined };
}

interface AskedCatalog {
  readonly catalog: PinCatalog;
  /** Another answer of the broker's. */
  noting<T>(answer: Promise<T>): Promise<T>;
  /** Whether the error came from here, and not from the store or the journal, which all jobs need. */
  said(error: unknown): boolean;
}

export function createAskedCatalog(catalog: PinCatalog): AskedCatalog {
  const errors = new Set<unknown>();
  const noting = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      errors.add(error);
      throw error;
    }
  };
  return {
    catalog: {
      describe: (topic) => noting(catalog.describe(topic)),
      offsets: (topic) => noting(catalog.offsets(topic)),
      offsetsAt: (topic, timestampMs) => noting(catalog.offsetsAt(topic, timestampMs)),
    },
    noting,
    said: (error) => errors.has(error),
  };
}

/** A topic that must not be described, a name that is no name: a person must change something, but not in the distributor. */
export function refusedFor(asked: AskedCatalog, error: unknown): PinAnswer {
  const isVerdict =
    error instanceof TidemarkError && (error.class === ErrorClass.config || error.class === ErrorClass.data);
  if (!isVerdict || !asked.said(error)) throw error;
  return { kind: 'refused', reason: `${error.code}: ${error.message}` };
}

function gaveUp({ topic }: JobRequested, failure: { readonly error: unknown; readonly waitedMs: number }): PinAnswer {
  const seconds = Math.round(failure.waitedMs / 1000);
  const reason = `TOPIC_UNAVAILABLE: topic ${topic} could not be asked for ${seconds} s (${describeError(failure.error)}); submit the job again under another id`;
  return { kind: 'refused', reason };
}
