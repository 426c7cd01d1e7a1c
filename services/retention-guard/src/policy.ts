/**
 * How people say how long a topic is kept: `orders=7d,chat=10GiB,audit=30d+50GiB`. With both, what either would remove may
 * go, as in Kafka's own retention. `0s` keeps nothing beyond what is needed. Pure.
 */
import { isTopicName } from '@tidemark/keyspace';
import { POLICY_AGE_MS_MAX } from './limits.ts';

export interface RetentionPolicy {
  readonly topic: string;
  /** Records that are older may go; undefined = no bound by age. */
  readonly ageMs: number | undefined;
  /** What lies beyond the newest bytes of a partition may go; undefined = no bound by size. */
  readonly bytes: bigint | undefined;
}

export type PolicyParse =
  | { readonly kind: 'parsed'; readonly policies: readonly RetentionPolicy[] }
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

const AGES: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};
const SIZES: Readonly<Record<string, bigint>> = {
  B: 1n,
  KiB: 1n << 10n,
  MiB: 1n << 20n,
  GiB: 1n << 30n,
  TiB: 1n << 40n,
};
const HINT =
  'say how long as 7d or 12h (ms, s, m, h, d, w), how much as 10GiB (B, KiB, MiB, GiB, TiB), or both as 7d+10GiB';

export function parsePolicies(text: string): PolicyParse {
  const policies = new Map<string, RetentionPolicy>();
  const faults: string[] = [];
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [topic = '', bound, ...more] = entry.split('=').map((each) => each.trim());
    if (!isTopicName(topic) || bound === undefined || more.length > 0) {
      faults.push(`${JSON.stringify(entry)} is not topic=bound`);
      continue;
    }
    if (policies.has(topic)) faults.push(`topic ${topic} is named twice`);
    const parsed = parseBounds(bound);
    if (typeof parsed === 'string') faults.push(`topic ${topic}: ${parsed}`);
    else policies.set(topic, { topic, ...parsed });
  }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'parsed', policies: [...policies.values()] };
}

/** Milliseconds; undefined when it is no age, or one beyond a century. */
export function parseAge(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d+)([a-z]+)$/.exec(text.trim()) ?? [];
  const ms = Object.hasOwn(AGES, unit) ? Number(count) * (AGES[unit] ?? Number.NaN) : Number.NaN;
  return ms <= POLICY_AGE_MS_MAX ? ms : undefined;
}

function parseBounds(text: string): Omit<RetentionPolicy, 'topic'> | string {
  let ageMs: number | undefined;
  let bytes: bigint | undefined;
  for (const part of text.split('+').map((each) => each.trim())) {
    const [, count = '', unit = ''] = /^(\d+)([a-zA-Z]+)$/.exec(part) ?? [];
    const age = Object.hasOwn(AGES, unit) ? AGES[unit] : undefined;
    const size = Object.hasOwn(SIZES, unit) ? SIZES[unit] : undefined;
    if (age !== undefined && ageMs === undefined) ageMs = Number(count) * age;
    else if (size !== undefined && bytes === undefined) bytes = BigInt(count) * size;
    else return `${JSON.stringify(part)} is no bound; ${HINT}`;
  }
  if (ageMs !== undefined && ageMs > POLICY_AGE_MS_MAX) return 'more than a century is no bound by age';
  return { ageMs, bytes };
}
