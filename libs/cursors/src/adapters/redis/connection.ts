/**
 * One connection whose calls end: with an answer, or with TidemarkError `unavailable` after a bounded time.
 *
 * The client neither queues nor resends anything by itself, because only the caller knows whether a call may be repeated.
 * Ours may: each script remembers its last call, and the rest is idempotent. So a call whose reply was lost is sent again
 * with the same arguments.
 */
import { backoff, describeError, describeServer, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import { Redis } from 'ioredis';
import {
  CONNECT_TIMEOUT_MS,
  RECONNECT_DELAY_MS_MAX,
  RETRY_DELAYS,
  RETRY_FOR_MS,
  SCRIPT_RELOADS_MAX,
  SOCKET_TIMEOUT_MS,
} from '../../limits.ts';
import { FaultKind, faultOf } from './faults.ts';
import type { Script } from './scripts.ts';

export interface RedisConnection {
  /** host:port, without credentials. */
  readonly address: string;
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  command(name: string, ...args: readonly string[]): Promise<unknown>;
  /** A connection of its own for subscriptions, which hears its channels again after every reconnect. */
  subscriber(): Redis;
  close(): void;
}

export interface RedisConnectionOptions {
  readonly url: string;
  /** How long one call tries before it says `unavailable`. */
  readonly retryForMs?: number;
}

export function createRedisConnection(options: RedisConnectionOptions): RedisConnection {
  const { url, retryForMs = RETRY_FOR_MS } = options;
  const address = addressOf(url);
  const redis = new Redis(url, {
    ...commonOptions(),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true, // calls of one tick, of all slots, leave in one write
  });
  let lastConnectionError: unknown;
  // An `error` event without a listener would end the process. What it says is kept for the message of a call that fails.
  redis.on('error', (error: unknown) => {
    lastConnectionError = error;
  });
  redis.on('ready', () => {
    lastConnectionError = undefined;
  });
  const loads = new Map<Script, { generation: number; running: Promise<unknown> | undefined }>();
  let isClosed = false;

  const send = (name: string, args: readonly string[]): Promise<unknown> => redis.call(name, ...args);

  const load = (script: Script, seenGeneration: number): Promise<unknown> => {
    const state = loads.get(script) ?? { generation: 0, running: undefined };
    loads.set(script, state);
    // Calls that were under way together fail together; the first one loads, the others wait or find it done.
    if (state.generation !== seenGeneration) return state.running ?? Promise.resolve();
    state.generation += 1;
    state.running = send('SCRIPT', ['LOAD', script.source]).finally(() => {
      state.running = undefined;
    });
    return state.running;
  };

  const evaluate = async (script: Script, args: readonly string[]): Promise<unknown> => {
    for (let reloads = 0; ; reloads += 1) {
      const generation = loads.get(script)?.generation ?? 0;
      try {
        return await send('EVALSHA', args);
      } catch (error) {
        if (faultOf(error) !== FaultKind.scriptUnknown || reloads >= SCRIPT_RELOADS_MAX) throw error;
        await load(script, generation);
      }
    }
  };

  const persist = async (what: string, attempt: () => Promise<unknown>): Promise<unknown> => {
    const startedAt = performance.now();
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt();
      } catch (error) {
        const cause = lastCause(redis, error, lastConnectionError);
        const fault = faultOf(cause);
        if (fault === FaultKind.denied) throw denied(address, cause);
        if (fault === FaultKind.lasting) throw refused(address, what, cause);
        const waitMs = backoff({ ...RETRY_DELAYS, attempt: attempts, random: Math.random });
        if (isClosed || performance.now() - startedAt + waitMs > retryForMs)
          throw unavailable({ address, what, attempts, isClosed, cause });
        await sleep(waitMs);
      }
    }
  };

  return {
    address,
    run: (script, keys, args) =>
      persist(script.name, () => evaluate(script, [script.sha, String(keys.length), ...keys, ...args])),
    command: (name, ...args) => persist(name, () => send(name, args)),
    subscriber: () => {
      const subscriber = new Redis(url, { ...commonOptions(), maxRetriesPerRequest: null });
      subscriber.on('error', () => {}); // a wake-up that is lost costs one slow poll, and it reconnects by itself
      return subscriber;
    },
    close: () => {
      isClosed = true;
      redis.disconnect();
    },
  };
}

function commonOptions() {
  return {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    retryStrategy: (times: number) => Math.min(RETRY_DELAYS.baseMs * times, RECONNECT_DELAY_MS_MAX),
    disableClientInfo: true,
  };
}

/** While there is no connection, every call fails for the same dull reason; why there is none says more. */
function lastCause(redis: Redis, error: unknown, lastConnectionError: unknown): unknown {
  return redis.status === 'ready' ? error : (lastConnectionError ?? error);
}

function unavailable(fault: {
  readonly address: string;
  readonly what: string;
  readonly attempts: number;
  readonly isClosed: boolean;
  readonly cause: unknown;
}): TidemarkError {
  const { address, what, attempts, isClosed, cause } = fault;
  const reason = isClosed ? 'the connection was closed' : describeError(cause);
  return new TidemarkError({
    code: 'REDIS_UNAVAILABLE',
    class: ErrorClass.unavailable,
    message: `Redis at ${address} did not answer ${what} in ${attempts} ${attempts === 1 ? 'try' : 'tries'}: ${reason}.`,
    context: { address, operation: what, attempts },
    cause,
  });
}

function denied(address: string, cause: unknown): TidemarkError {
  return new TidemarkError({
    code: 'REDIS_DENIED',
    class: ErrorClass.config,
    message: `Redis at ${address} does not let us in: ${describeError(cause)}. Check the user and the password in its URL, and what that user may do.`,
    context: { address },
    cause,
  });
}

function refused(address: string, what: string, cause: unknown): TidemarkError {
  return new TidemarkError({
    code: 'REDIS_REFUSED',
    class: ErrorClass.bug,
    message: `Redis at ${address} refused ${what}: ${describeError(cause)}`,
    context: { address, operation: what },
    cause,
  });
}

function addressOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol))
    throw new TidemarkError({
      code: 'BAD_REDIS_URL',
      class: ErrorClass.config,
      message: 'The address of Redis must be a URL like redis://host:6379 or rediss://user:password@host:6379.',
    });
  return describeServer(url);
}
