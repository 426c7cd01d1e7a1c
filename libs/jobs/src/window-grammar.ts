/**
 * How people write windows.
 *
 *     from: earliest | now | INSTANT | p:offset,… | after:JOB
 *     to:   now | INSTANT | p:offset,…
 *
 * INSTANT is ISO 8601 *with* a zone, or epoch milliseconds. Offsets are the first and the last one, both included; the
 * conversion to `(start, end]` happens in `window-resolve.ts`. A window by time is `[from, to)` on the record timestamp.
 * Whoever knows how far apart records are says so (a disorder bound): such a window ends before the log does.
 * What could be misread (seconds, a local time) is refused with a hint instead of guessed.
 */
import { type Offset, toOffset } from '@tidemark/keyspace';
import { EPOCH_MS_MAX, EPOCH_MS_MIN, NAMED_PARTITIONS_MAX } from './limits.ts';

export type WindowEnd =
  | { readonly kind: 'now' }
  | { readonly kind: 'instant'; readonly ms: number }
  | { readonly kind: 'offsets'; readonly offsets: ReadonlyMap<number, Offset> };
export type WindowStart =
  | WindowEnd
  | { readonly kind: 'earliest' }
  | { readonly kind: 'after'; readonly jobId: string };

export interface WindowSpec {
  readonly from: WindowStart;
  readonly to: WindowEnd;
  /** With an instant as `to`: no record of a partition is more than this older than one before it. Undefined = nobody knows. */
  readonly disorderMs?: number;
}

export type WindowParse =
  | { readonly kind: 'window'; readonly spec: WindowSpec }
  | { readonly kind: 'refused'; readonly reasons: readonly string[] };

type Parse<Spec> = { readonly kind: 'parsed'; readonly spec: Spec } | Refused;
interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
}

const FROM_FORMS = 'earliest, now, an ISO instant with a zone, epoch milliseconds, p:offset,… or after:JOB';
const TO_FORMS = 'now, an ISO instant with a zone, epoch milliseconds or p:offset,…';

/** All faults of both texts at once, each naming its side. */
export function parseWindow(texts: {
  readonly from: string;
  readonly to: string;
  /** As in a request: below 0 = not stated. */
  readonly disorderMs?: bigint;
}): WindowParse {
  const from = parseStart(texts.from);
  const to = parseEnd(texts.to, TO_FORMS);
  if (from.kind === 'refused' || to.kind === 'refused') {
    const reasons: string[] = [];
    if (from.kind === 'refused') reasons.push(`from: ${from.reason}`);
    if (to.kind === 'refused') reasons.push(`to: ${to.reason}`);
    return { kind: 'refused', reasons };
  }
  const reasons = [...contradictions(from.spec, to.spec)];
  const { disorderMs = -1n } = texts;
  const isBounded = disorderMs >= 0n;
  if (isBounded && to.spec.kind !== 'instant')
    reasons.push('a disorder bound says where a window by time ends: it needs an instant as its end');
  if (reasons.length > 0) return { kind: 'refused', reasons };
  const bound = isBounded ? { disorderMs: Number(disorderMs) } : {};
  return { kind: 'window', spec: { from: from.spec, to: to.spec, ...bound } };
}

function parseStart(text: string): Parse<WindowStart> {
  if (text === 'earliest') return { kind: 'parsed', spec: { kind: 'earliest' } };
  const after = /^after:(.*)$/.exec(text);
  if (after === null) return parseEnd(text, FROM_FORMS);
  const jobId = after[1] ?? '';
  return jobId === ''
    ? refuse('after: needs a job id, as in after:nightly-1')
    : { kind: 'parsed', spec: { kind: 'after', jobId } };
}

function parseEnd(text: string, forms: string): Parse<WindowEnd> {
  if (text === 'now') return { kind: 'parsed', spec: { kind: 'now' } };
  if (/^\d+$/.test(text)) return parseEpochMs(text);
  if (/^\d+:\d/.test(text) && !text.includes('T')) return parseOffsets(text);
  if (/^\d{4}-\d{2}/.test(text)) return parseInstant(text);
  return refuse(`${JSON.stringify(text)} is none of: ${forms}`);
}

function parseEpochMs(text: string): Parse<WindowEnd> {
  const value = Number(text);
  if (value >= EPOCH_MS_MIN && value <= EPOCH_MS_MAX) return { kind: 'parsed', spec: { kind: 'instant', ms: value } };
  if (value < EPOCH_MS_MIN)
    return refuse(
      `${text} looks like epoch seconds, milliseconds are expected: write ${text}000 if ${isoOf(value * 1000)} is meant`,
    );
  return refuse(`${text} is too large for epoch milliseconds (micro- or nanoseconds?): expected 13 digits`);
}

function parseOffsets(text: string): Parse<WindowEnd> {
  const offsets = new Map<number, Offset>();
  const items = text.split(',');
  if (items.length > NAMED_PARTITIONS_MAX)
    return refuse(`names ${items.length} partitions, at most ${NAMED_PARTITIONS_MAX} are allowed`);
  for (const item of items) {
    const match = /^(\d{1,9}):(\d{1,19})$/.exec(item);
    if (match === null) return refuse(`${JSON.stringify(item)} is not partition:offset with whole numbers from 0`);
    const partition = Number(match[1]);
    const offset = BigInt(match[2] ?? '');
    if (offset >= 2n ** 63n) return refuse(`${offset} is larger than any offset`);
    if (offsets.has(partition)) return refuse(`partition ${partition} is named twice`);
    offsets.set(partition, toOffset(offset));
  }
  return { kind: 'parsed', spec: { kind: 'offsets', offsets } };
}

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d{2}:?\d{2})?$/;
const MINUTE_MS = 60_000;

function parseInstant(text: string): Parse<WindowEnd> {
  const match = INSTANT.exec(text);
  if (match === null) return refuse(`${JSON.stringify(text)} is not an ISO instant such as 2026-03-01T08:00:00Z`);
  const [, year, month, day, hour, minute, second = '0', fraction = '', zone] = match;
  if (hour === undefined)
    return refuse(
      `${text} has no time of day: write ${text.replace(/Z$|[+-]\d{2}:?\d{2}$/, '')}T00:00:00Z, or another zone`,
    );
  if (zone === undefined)
    return refuse(
      `${text} has no zone, and yours may not be ours: write ${text}Z for UTC, or an offset such as ${text}+02:00`,
    );
  const wall = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  // Date.UTC rolls the 30th of February over into March; a date that does not come back as written does not exist.
  const written = `${year}-${month}-${day}T${hour}:${minute}:${second.padStart(2, '0')}`;
  if (!Number.isFinite(wall) || isoOf(wall).slice(0, 19) !== written)
    return refuse(`${text} is no date or time of the calendar`);
  const shift = zoneShiftMs(zone);
  if (shift === undefined) return refuse(`${zone} is not a zone offset: hours up to 18, minutes up to 59`);
  // Timestamps are whole milliseconds: `t >= x` and `t < x` both mean the same for x and for x rounded up.
  const fractionMs = Math.ceil(Number(fraction.padEnd(9, '0')) / 1e6);
  return { kind: 'parsed', spec: { kind: 'instant', ms: wall - shift + fractionMs } };
}

function zoneShiftMs(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 18 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

/** What is wrong whatever the log looks like. */
function contradictions(from: WindowStart, to: WindowEnd): readonly string[] {
  if (from.kind === 'instant' && to.kind === 'instant' && from.ms > to.ms) {
    return [`the end ${isoOf(to.ms)} is before the start ${isoOf(from.ms)}`];
  }
  if (from.kind !== 'offsets' || to.kind !== 'offsets') return [];
  const faults: string[] = [];
  for (const [partition, first] of from.offsets) {
    const last = to.offsets.get(partition);
    if (last === undefined) faults.push(`from names partition ${partition}, to does not`);
    else if (last < first) faults.push(`the end ${last} of partition ${partition} is before its start ${first}`);
  }
  for (const partition of to.offsets.keys())
    if (!from.offsets.has(partition)) faults.push(`to names partition ${partition}, from does not`);
  return faults;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function refuse(reason: string): Refused {
  return { kind: 'refused', reason };
}
