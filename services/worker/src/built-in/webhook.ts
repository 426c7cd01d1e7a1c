/**
 * `webhook`: one HTTP request for each record. Whether a repeated one does harm is up to the receiver, which knows it again by
 * its `Idempotency-Key`, so the handler says that it is not idempotent.
 *
 * What an answer means is in `webhook-answer.ts`. Neither address nor headers of a request get into errors or logs, only the
 * origin (scheme, host, port): the rest may be secret.
 */
import { type Codec, decodedText } from '@tidemark/contracts';
import {
  defineHandler,
  done,
  type HandlerContext,
  type HandlerEvent,
  idempotencyKey,
  type RawHandler,
} from '@tidemark/handlers';
import { readWebhook, WEBHOOK, WEBHOOK_TIMEOUT_MS_MAX, type WebhookSettings } from '@tidemark/jobs';
import { codeOf, describeError, ErrorClass, remember, TidemarkError } from '@tidemark/keyspace';
import { REMEMBERED_HOSTS_MAX, WEBHOOK_CONCURRENCY, WEBHOOK_CONNECT_MS, WEBHOOK_GRACE_MS } from '../limits.ts';
import { canConnect } from './can-connect.ts';
import { beginningOf, faultOfAnswer, hostAway, retryAfterMs, timedOut } from './webhook-answer.ts';

type Event = HandlerEvent<Buffer | null>;

export interface WebhookOptions {
  readonly codec: Pick<Codec, 'decode' | 'decodeCached'>;
  /** Milliseconds of the wall clock: servers name instants. */
  readonly nowMs: () => number;
}

export function createWebhook({ codec, nowMs }: WebhookOptions): RawHandler {
  /** By origin: until when a server wants to be left alone. */
  const quietUntilMs = new Map<string, number>();
  return defineHandler({
    name: WEBHOOK,
    input: 'raw',
    idempotent: false,
    concurrency: WEBHOOK_CONCURRENCY,
    // Beyond every request's own, so that the one that ran out is the one that is named.
    timeoutMs: WEBHOOK_TIMEOUT_MS_MAX + WEBHOOK_GRACE_MS,
    handle: async (event, context) => {
      const settings = settingsOf(context);
      const { origin } = settings.url;
      const quietMs = (quietUntilMs.get(origin) ?? 0) - nowMs();
      if (quietMs > 0) throw hostAway(origin, `it asked to be left alone for another ${Math.ceil(quietMs / 1000)} s`);
      const body = await bodyOf(event, settings, codec);
      const response = await send(settings, { body, headers: headersOf(event, context), signal: context.signal });
      if (response.ok) return done();
      const waitMs = retryAfterMs(response.retryAfter, nowMs());
      if (waitMs > 0) remember(quietUntilMs, { key: origin, value: nowMs() + waitMs, max: REMEMBERED_HOSTS_MAX });
      throw faultOfAnswer(origin, response);
    },
  });
}

function settingsOf({ parameters }: HandlerContext): WebhookSettings {
  const read = readWebhook(parameters);
  if (read.kind === 'settings') return read.settings;
  throw new TidemarkError({
    code: 'BAD_PARAMETERS',
    class: ErrorClass.config,
    message: `webhook cannot be called: ${read.faults.join('; ')}`,
    context: { dependency: 'parameters of webhook' },
  });
}

interface Body {
  readonly bytes: Buffer | string;
  readonly type: string;
}

const BYTES = 'application/octet-stream';

/** What is not framed as Avro goes as it is; a frame that cannot be decoded is a fault of the record, or of the registry. */
async function bodyOf(
  { value }: Event,
  settings: WebhookSettings,
  codec: WebhookOptions['codec'],
): Promise<Body | undefined> {
  if (value === null) return undefined;
  if (settings.body === 'raw' || value[0] !== 0) return { bytes: value, type: BYTES };
  return { bytes: decodedText(codec.decodeCached(value) ?? (await codec.decode(value))), type: 'application/json' };
}

/** With dashes, since some proxies drop names with underscores. A dead letter may say that it is of a topic that is none. */
function headersOf(event: Event, { jobId, attempt }: HandlerContext): Readonly<Record<string, string>> {
  const headers = {
    'idempotency-key': idempotencyKey(event),
    'tm-origin-topic': event.topic,
    ...(event.topicId === undefined ? {} : { 'tm-origin-topic-id': event.topicId }),
    'tm-origin-partition': String(event.partition),
    'tm-origin-offset': String(event.offset),
    'tm-origin-timestamp': String(event.timestampMs),
    'tm-origin-job': jobId,
    'tm-attempt': String(attempt),
    ...(event.key === null ? {} : { 'tm-key-base64': event.key.toString('base64') }),
    ...(event.value === null ? { 'tm-tombstone': 'true' } : {}),
  };
  try {
    new Headers(headers);
  } catch {
    const message = `topic ${JSON.stringify(event.topic)} of the record has characters that no header of HTTP may have`;
    throw new TidemarkError({ code: 'WEBHOOK_NO_HEADER', class: ErrorClass.data, message });
  }
  return headers;
}

interface Sent {
  readonly ok: boolean;
  readonly status: number;
  readonly retryAfter: string | null;
  /** Where a redirect would lead: its origin only. */
  readonly location: string | undefined;
  readonly beginning: string;
}

async function send(
  { url, method, timeoutMs, headers }: WebhookSettings,
  request: {
    readonly body: Body | undefined;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
): Promise<Sent> {
  const { body, signal } = request;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url.href, {
      method,
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
      headers: { ...(body === undefined ? {} : { 'content-type': body.type }), ...headers, ...request.headers },
      ...(body === undefined ? {} : { body: bytesOf(body) }),
    });
    const { ok, status } = response;
    const beginning = await beginningOf(response);
    const location = response.headers.get('location');
    return {
      ok,
      status,
      retryAfter: response.headers.get('retry-after'),
      location: location === null ? undefined : URL.parse(location, url.href)?.origin,
      beginning,
    };
  } catch (error) {
    if (timeout.aborted && !signal.aborted) {
      if (await canConnect(url, WEBHOOK_CONNECT_MS)) throw timedOut(url.origin, timeoutMs);
      throw hostAway(url.origin, `no answer within ${timeoutMs} ms, and it takes no connection`);
    }
    throw hostAway(url.origin, reasonOf(error), error);
  }
}

function bytesOf({ bytes }: Body): Uint8Array<ArrayBuffer> | string {
  // A view into the answer of a broker, which a Buffer types as perhaps shared memory.
  return typeof bytes === 'string' ? bytes : new Uint8Array(bytes);
}

/** `fetch failed` hides what failed in its cause; the text of that may hold more of the address than its code. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return codeOf(cause) ?? codeOf(error) ?? describeError(cause ?? error);
}
