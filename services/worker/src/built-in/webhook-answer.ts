/**
 * What the answer of a webhook means for the record.
 *
 * | answer | class |
 * | --- | --- |
 * | 2xx | settled |
 * | 408, 5xx but 503 | `transient`: it may be this record's doing, so its attempts count |
 * | 429, 503; no answer at all | `unavailable`: the server speaks of itself, the breaker waits, no attempt is spent |
 * | no answer in time | a timeout of the handler: parked at once; `unavailable` when the host takes no connection either |
 * | 3xx | `config`: a redirect may lead a record and its headers to somebody else, so a person must give the final address |
 * | other 4xx | `data`: a dead letter, with the beginning of the body |
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { ANSWER_BYTES_MAX, RETRY_AFTER_MS_MAX, WEBHOOK_BODY_CHARACTERS_MAX } from '../limits.ts';
import { HANDLER_TIMEOUT } from '../run/attempt.ts';

export interface Answered {
  readonly status: number;
  /** Where a redirect would lead. */
  readonly location: string | undefined;
  readonly beginning: string;
}

const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;

/** For a status that is no success. */
export function faultOfAnswer(origin: string, { status, location, beginning }: Answered): TidemarkError {
  const said = beginning === '' ? '' : `: ${beginning}`;
  if (status === TOO_MANY_REQUESTS || status === SERVICE_UNAVAILABLE) return hostAway(origin, `it answers ${status}`);
  if (status >= 300 && status < 400) {
    const to = location === undefined || location === origin ? '' : ` to ${location}`;
    const message = `${origin} answers ${status} and redirects${to}, which is not followed: submit the job again with the final address as url`;
    return fault('WEBHOOK_REDIRECTS', ErrorClass.config, message, origin);
  }
  if (status >= 500 || status === REQUEST_TIMEOUT)
    return fault('WEBHOOK_FAILED', ErrorClass.transient, `${origin} answers ${status}${said}`, origin);
  return fault('WEBHOOK_REFUSED', ErrorClass.data, `${origin} answers ${status}${said}`, origin);
}

/** The server cannot be reached, or says that it takes nothing now. */
export function hostAway(origin: string, why: string, cause?: unknown): TidemarkError {
  return fault('WEBHOOK_UNAVAILABLE', ErrorClass.unavailable, `${origin} is not available: ${why}`, origin, cause);
}

export function timedOut(origin: string, timeoutMs: number): TidemarkError {
  return fault(HANDLER_TIMEOUT, ErrorClass.transient, `${origin} did not answer within ${timeoutMs} ms`, origin);
}

function fault(code: string, errorClass: ErrorClass, message: string, origin: string, cause?: unknown): TidemarkError {
  const context = { dependency: `webhook ${origin}` };
  return new TidemarkError({ code, class: errorClass, message, context, ...(cause === undefined ? {} : { cause }) });
}

/**
 * Milliseconds that a `Retry-After` asks for: seconds, or an instant of HTTP (RFC 9110, 10.2.3). 0 without one or for one that
 * cannot be read; never more than RETRY_AFTER_MS_MAX.
 */
export function retryAfterMs(text: string | null, nowMs: number): number {
  if (text === null) return 0;
  const asked = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), RETRY_AFTER_MS_MAX);
}

/**
 * Of the body, as one line that moves no cursor; a body that breaks off says what it said. It is read to its end where that is
 * near, for only then its connection serves the next request.
 */
export async function beginningOf(response: Response): Promise<string> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of response.body ?? []) {
      read.push(part);
      bytes += part.length;
      if (bytes > ANSWER_BYTES_MAX) break;
    }
  } catch {
    // The status is known, and that decides.
  }
  const text = Buffer.concat(read).subarray(0, ANSWER_BYTES_MAX).toString();
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, WEBHOOK_BODY_CHARACTERS_MAX);
}
