/** Pauses between tries. Half of each is sure, because the tries together have to outlast an election. */
import { backoff, sleep } from '@tidemark/keyspace';
import { RETRY_BACKOFF_MS_MAX, RETRY_BACKOFF_MS_MIN } from '../../limits.ts';
import { aborted } from './errors.ts';

export async function backOff(failures: number, signal?: AbortSignal): Promise<void> {
  const bounds = { baseMs: RETRY_BACKOFF_MS_MIN, maxMs: RETRY_BACKOFF_MS_MAX, fixedPart: 0.5 };
  await sleep(backoff({ ...bounds, attempt: failures + 1, random: Math.random }), signal);
  if (signal?.aborted === true) throw aborted();
}
