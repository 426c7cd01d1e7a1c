/** Events and contexts for tests of handlers, in the shapes that the worker gives them. */
import { toOffset } from '@tidemark/keyspace';
import type { HandlerContext, HandlerEvent } from '../handler.ts';

/** One event for each payload, at the offsets from 0 on of one partition. */
export function eventsOf<Payload>(
  payloads: readonly Payload[],
  {
    topic = 'topic',
    topicId = 'topic-id',
    partition = 0,
  }: { readonly topic?: string; readonly topicId?: string; readonly partition?: number } = {},
): readonly HandlerEvent<Payload>[] {
  return payloads.map((payload, offset) => ({
    topic,
    topicId,
    partition,
    offset: toOffset(offset),
    timestampMs: 0n,
    key: null,
    value: payload instanceof Buffer ? payload : null,
    headers: [],
    payload,
  }));
}

/** The token of the n-th grant of a range: a later one is larger as text. */
export function tokenOfGrant(grant: number): string {
  return `${'1'.padStart(20, '0')}:${String(grant).padStart(20, '0')}`;
}

/** The first attempt of the first owner, with what is given instead. */
export function contextOf(given: Partial<HandlerContext> = {}): HandlerContext {
  return {
    jobId: 'job',
    parameters: {},
    rangeId: '0:0',
    token: tokenOfGrant(1),
    attempt: 1,
    signal: new AbortController().signal,
    log: { info: () => undefined, warn: () => undefined },
    ...given,
  };
}
