/**
 * The handlers of a run, built on the SDK alone. They do not look at the signal before they write: it is the sink's part
 * to refuse what comes too late, and the run counts that it does.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { defineHandler, done, fenced, type HandlerContext, type HandlerEvent, type Outcome } from '@tidemark/handlers';
import { Pool } from 'pg';
import { HANGING_TIMEOUT_MS, SINK_CALL_MS, SLOW_RECORD_MS } from './limits.ts';
import { failuresOf, Mode, modeOf } from './misbehaviour.ts';
import { DELIVER } from './sink.ts';

type RawEvent = HandlerEvent<Buffer | null>;

let pool: Pool | undefined;

async function open(): Promise<void> {
  pool ??= new Pool({ connectionString: process.env['TIDEMARK_POSTGRES'], max: 8 });
  if (pool.listenerCount('error') === 0) pool.on('error', () => {});
}

export const ledger = defineHandler({
  name: 'chaos-ledger',
  input: 'raw',
  idempotent: true,
  open,
  handleBatch: async (events, context) => {
    await delay(SINK_CALL_MS);
    return deliver(events, context);
  },
});

export const slow = defineHandler({
  name: 'chaos-slow',
  input: 'raw',
  idempotent: true,
  open,
  handle: async (event, context) => {
    await delay(SLOW_RECORD_MS);
    return deliver([event], context);
  },
});

export const failing = defineHandler({
  name: 'chaos-failing',
  input: 'raw',
  idempotent: true,
  concurrency: 4,
  open,
  handle: async (event, context) => {
    if (context.attempt <= failuresIn(event, context)) throw new Error(`attempt ${context.attempt} is to fail`);
    return deliver([event], context);
  },
});

export const hanging = defineHandler({
  name: 'chaos-hanging',
  input: 'raw',
  idempotent: true,
  concurrency: 4,
  timeoutMs: HANGING_TIMEOUT_MS,
  open,
  handle: async (event, context) => {
    if (context.attempt <= failuresIn(event, context)) await new Promise(() => undefined);
    return deliver([event], context);
  },
});

function failuresIn({ partition, offset }: RawEvent, { parameters }: HandlerContext): number {
  const salt = Number(parameters['salt'] ?? 0);
  return failuresOf(modeOf(parameters['mode']) ?? Mode.slow, { salt, partition, offset });
}

async function deliver(events: readonly RawEvent[], { jobId, rangeId, token }: HandlerContext): Promise<Outcome> {
  if (pool === undefined) throw new Error('the sink was not opened');
  const { rows } = await pool.query<{ seen: string | null }>(DELIVER, [
    jobId,
    rangeId,
    token,
    events.map((event) => event.partition),
    events.map((event) => event.offset.toString()),
    events.map((event) => digestOf(event.value)),
    process.pid,
  ]);
  const seen = rows[0]?.seen ?? null;
  return seen === null ? done() : fenced(seen);
}

function digestOf(value: Buffer | null): string {
  return createHash('md5')
    .update(value ?? '')
    .digest('hex');
}
