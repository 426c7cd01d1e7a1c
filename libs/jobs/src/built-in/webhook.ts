/** The built-in handler `webhook`: what its parameters mean, and which of them nobody may be shown. */
import { WEBHOOK_TIMEOUT_MS, WEBHOOK_TIMEOUT_MS_MAX, WEBHOOK_TIMEOUT_MS_MIN } from '../limits.ts';
import { oneOf, type Parameters, type Read, unknownParameters } from './settings.ts';

export const WEBHOOK = 'webhook';

export interface WebhookSettings {
  readonly url: URL;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  /** For one request, answer included. */
  readonly timeoutMs: number;
  /** `json`: the decoded value, where it is framed as Avro; `raw`: the bytes as they are. */
  readonly body: 'json' | 'raw';
  /** Names in lower case. */
  readonly headers: Parameters;
}

const HEADER = 'header.';

export function readWebhook(parameters: Parameters): Read<WebhookSettings> {
  const url = urlOf(parameters['url']);
  const method = oneOf('method', parameters['method'], ['POST', 'PUT', 'PATCH']);
  const body = oneOf('body', parameters['body'], ['json', 'raw']);
  const timeoutMs = parameters['timeoutMs'] === undefined ? WEBHOOK_TIMEOUT_MS : Number(parameters['timeoutMs']);
  const isTime =
    Number.isInteger(timeoutMs) && timeoutMs >= WEBHOOK_TIMEOUT_MS_MIN && timeoutMs <= WEBHOOK_TIMEOUT_MS_MAX;
  const given = Object.entries(parameters).filter(([name]) => name.startsWith(HEADER));
  const headers = given.map(([name, value]) => [name.slice(HEADER.length).toLowerCase(), value] as const);
  const faults = [
    ...unknownParameters(WEBHOOK, parameters, { known: ['url', 'method', 'timeoutMs', 'body'], prefix: HEADER }),
    ...(typeof url === 'string' ? [url] : []),
    ...method.faults,
    ...body.faults,
    ...(isTime
      ? []
      : [`parameter timeoutMs is not a whole number from ${WEBHOOK_TIMEOUT_MS_MIN} to ${WEBHOOK_TIMEOUT_MS_MAX}`]),
    ...headers.flatMap(([name, value]) => headerFaults(name, value)),
  ];
  if (faults.length > 0 || typeof url === 'string') return { kind: 'faults', faults };
  const settings = { url, method: method.word, body: body.word, timeoutMs, headers: Object.fromEntries(headers) };
  return { kind: 'settings', settings };
}

/** An address, or what is wrong with it. It may hold a secret, so it is not repeated. */
function urlOf(text: string | undefined): URL | string {
  if (text === undefined) return 'parameter url is missing: where the records are posted to';
  const url = URL.parse(text);
  if (url === null) return 'parameter url is not an address, as http://host:port/path is one';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `parameter url must begin with http: or https:, not with ${url.protocol}`;
  if (url.username !== '' || url.password !== '')
    return 'parameter url must hold neither user nor password; header.authorization is the place for them';
  return url;
}

/** Ours, and what the connection itself needs. */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function headerFaults(name: string, value: string): readonly string[] {
  if (RESERVED.has(name) || name.startsWith('tm-'))
    return [`parameter ${HEADER}${name}: this header is set by the handler itself`];
  try {
    new Headers([[name, value]]);
    return [];
  } catch {
    return [
      `parameter ${HEADER}${name} is not a header of HTTP: its name or its value has characters that none may have`,
    ];
  }
}

/** Parameters as they may be shown: values of headers are secrets more often than not, and so is the path of many a hook. */
export function shownParameters(parameters: Parameters): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, shownValue(name, value)]));
}

const HIDDEN = '(hidden)';

function shownValue(name: string, value: string): string {
  if (name.startsWith(HEADER)) return HIDDEN;
  return name === 'url' ? shownUrl(value) : value;
}

function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return HIDDEN;
  const { protocol, host, pathname, search, hash } = url;
  return `${protocol}//${host}/${pathname.length > 1 || search !== '' || hash !== '' ? HIDDEN : ''}`;
}
