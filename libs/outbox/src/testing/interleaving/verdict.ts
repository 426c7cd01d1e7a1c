/** P9 on one run: what the reader delivered against the order in which the database itself let the writers of a key follow each other. */
import { FAULTS_TOLD_MAX } from './limits.ts';

/** One outbox row of a committed transaction, as that transaction saw it. */
export interface TrueRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly txid: bigint;
  /** Counts the statements of the key's writers, drawn while they held the key's lock. */
  readonly n: number;
  /** The last one of its statement for this key. */
  readonly isLast: boolean;
  /** Text of the row after the statement; null when it was gone; undefined where nothing can be said. */
  readonly image: string | null | undefined;
}

export interface DeliveredRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly payload: string | null;
  /** Rows of one place were delivered at once, those of a lower one before. Only requests are judged by it. */
  readonly place?: number;
  /** Where the delivery has some: within one of them the order counts. */
  readonly partition?: number;
}

/** A job's request, which is behind everything that was committed before it. */
export interface JobRequest {
  /** Of its row. */
  readonly id: string;
  /** Ids of the rows before it. */
  readonly covers: readonly string[];
}

/** Whether the row was known to wait when the place was delivered: a request does not wait for such rows. */
export type Waited = (row: DeliveredRow, place: number) => boolean;

/** A row of a captured table when all is over. */
export interface StandingRow {
  readonly topic: string;
  readonly key: string;
  readonly image: string;
}

export type FaultKind =
  | 'lost'
  | 'repeated'
  | 'never committed'
  | 'overtaken'
  | 'moved'
  | 'stale'
  | 'request too early'
  | 'page changed'
  | 'stopped'
  | 'stuck';

export interface Fault {
  readonly kind: FaultKind;
  readonly text: string;
}

export interface Evidence {
  readonly truth: readonly TrueRow[];
  readonly delivered: readonly DeliveredRow[];
  readonly standing: readonly StandingRow[];
  readonly capturedTopics: readonly string[];
  readonly requests?: readonly JobRequest[];
  readonly waited?: Waited | undefined;
}

export function judge(evidence: Evidence): readonly Fault[] {
  return [countFaults, orderFaults, partitionFaults, imageFaults, lastStateFaults, requestFaults].flatMap((faultsOf) =>
    faultsOf(evidence),
  );
}

function countFaults({ truth, delivered }: Evidence): readonly Fault[] {
  const faults: Fault[] = [];
  const times = new Map<string, number>();
  for (const row of delivered) times.set(row.id, (times.get(row.id) ?? 0) + 1);
  for (const row of truth) {
    const count = times.get(row.id) ?? 0;
    if (count === 0)
      faults.push({
        kind: 'lost',
        text: `${nameOf(row)} number ${row.n} of transaction ${row.txid} was never delivered`,
      });
    if (count > 1)
      faults.push({ kind: 'repeated', text: `${nameOf(row)} number ${row.n} was delivered ${count} times` });
  }
  const known = new Set(truth.map((row) => row.id));
  for (const row of delivered) {
    if (known.has(row.id)) continue;
    faults.push({ kind: 'never committed', text: `${nameOf(row)} ${row.id} was delivered and is not in the database` });
  }
  return faults;
}

function orderFaults({ truth, delivered }: Evidence): readonly Fault[] {
  const faults: Fault[] = [];
  const byId = new Map(truth.map((row) => [row.id, row]));
  const newest = new Map<string, TrueRow>();
  for (const { id } of delivered) {
    const row = byId.get(id);
    if (row === undefined) continue;
    const before = newest.get(nameOf(row));
    if (before !== undefined && !mayFollow(before, row)) {
      faults.push({
        kind: 'overtaken',
        text: `${nameOf(row)} number ${row.n} of transaction ${row.txid} came after ${before.n} of ${before.txid}`,
      });
    } else {
      newest.set(nameOf(row), row);
    }
  }
  return faults;
}

/** One row delivered twice is told as such, not as out of order. */
function mayFollow(before: TrueRow, row: TrueRow): boolean {
  return row.n > before.n || row.id === before.id || (row.n === before.n && !before.isLast);
}

/** Between two partitions nothing tells what was first. */
function partitionFaults({ delivered }: Evidence): readonly Fault[] {
  const found = new Map<string, number | undefined>();
  return delivered.flatMap((row): readonly Fault[] => {
    const { partition } = row;
    if (!found.has(nameOf(row))) found.set(nameOf(row), partition);
    const first = found.get(nameOf(row));
    return first === partition
      ? []
      : [{ kind: 'moved', text: `${nameOf(row)} is in partitions ${first} and ${partition}` }];
  });
}

function requestFaults({ delivered, requests = [], waited }: Evidence): readonly Fault[] {
  const byId = new Map(delivered.map((row) => [row.id, row]));
  return requests.flatMap(({ id, covers }) => {
    const request = byId.get(id);
    if (request === undefined) return []; // lost, which is told already
    const { place = 0 } = request;
    const late = covers.flatMap((covered) => {
      const row = byId.get(covered);
      return row === undefined || (row.place ?? 0) <= place || waited?.(row, place) === true ? [] : [row];
    });
    return late.map(
      (row): Fault => ({
        kind: 'request too early',
        text: `job ${request.key} was requested after ${nameOf(row)} ${row.id} was committed, and told at ${place}, before it at ${row.place}`,
      }),
    );
  });
}

function imageFaults({ truth, delivered }: Evidence): readonly Fault[] {
  const images = new Map(truth.filter((row) => row.isLast).map((row) => [row.id, row.image]));
  return delivered.flatMap((row): readonly Fault[] => {
    const image = images.get(row.id);
    if (image === undefined || image === row.payload) return [];
    return [{ kind: 'stale', text: `${nameOf(row)} was told as ${row.payload}, and the row was ${image}` }];
  });
}

/** The newest event of a key is the row that stands in the table, or says that there is none. */
function lastStateFaults({ delivered, standing, capturedTopics }: Evidence): readonly Fault[] {
  const told = new Map<string, string>();
  for (const row of delivered.filter(({ topic }) => capturedTopics.includes(topic))) {
    if (row.payload === null) told.delete(nameOf(row));
    else told.set(nameOf(row), row.payload);
  }
  const stands = new Map(standing.map((row) => [nameOf(row), row.image]));
  const names = [...new Set([...told.keys(), ...stands.keys()])];
  return names
    .filter((name) => told.get(name) !== stands.get(name))
    .map((name) => ({ kind: 'stale', text: `${name} is told as ${told.get(name)} and stands as ${stands.get(name)}` }));
}

function nameOf({ topic, key }: { readonly topic: string; readonly key: string }): string {
  return `${topic}/${key}`;
}

/** Pairs of one key whose transaction ids are in the other order than their locks: without any, a run proves little. */
export function countInversions(truth: readonly TrueRow[]): number {
  const newest = new Map<string, bigint>();
  let inversions = 0;
  for (const row of [...truth].sort((a, b) => a.n - b.n)) {
    const before = newest.get(nameOf(row));
    if (before !== undefined && before > row.txid) inversions += 1;
    newest.set(nameOf(row), row.txid);
  }
  return inversions;
}

export function describeFaults(faults: readonly Fault[]): string {
  const told = faults.slice(0, FAULTS_TOLD_MAX).map(({ kind, text }) => `\n  ${kind}: ${text}`);
  return `${faults.length} faults${told.join('')}`;
}
