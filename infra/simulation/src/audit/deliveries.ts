/** P1, P4, P5: who is handed what. Nothing outside the window or beyond the claim, in order, and again only what may be. */
import type { RangeState } from '@tidemark/cursors';
import { rangeIdOf } from '@tidemark/keyspace';
import type { HistoryEvent } from '../history.ts';
import { type JobLedger, jobOf, type Ledger, placeOf } from './ledger.ts';
import { offsets, type Rule } from './rule.ts';

type Delivered = Extract<HistoryEvent, { kind: 'delivered' }>;
type Stored = Extract<HistoryEvent, { kind: 'stored' }>;

/** What one owner may hand out. */
interface Tenure {
  readonly cursor: bigint;
  claimed: bigint;
  /** Settled under this token. */
  readonly settled: Set<string>;
}

export function deliveryRule(): Rule {
  const tenures = new Map<string, Tenure>();
  const youngest = new Map<string, { readonly token: string; readonly filling: number }>();
  /** Ever parked, by job, partition and offset: a retry is handed out below the cursor. */
  const parked = new Set<string>();
  /** By job, partition and offset: the last call of a handler that had it. */
  const calls = new Map<string, number>();
  return {
    after(event, ledger) {
      if (event.kind === 'stored') noteStored(event, ledger, { tenures, parked, youngest });
      if (event.kind === 'answered') {
        const tenure = tenures.get(tenureOf(event));
        tenure?.settled.add(placeOf(event.partition, event.offset));
      }
      return [];
    },
    *before(event, ledger) {
      if (event.kind !== 'delivered') return;
      const job = ledger.jobs.get(event.jobId);
      if (job === undefined) return;
      const place = `${event.jobId}/${placeOf(event.partition, event.offset)}`;
      yield* allowed(job, event, tenures.get(tenureOf(event)), parked.has(place));
      yield* trusted(job, event, youngest.get(`${event.jobId}/${event.rangeId}`));
      yield* inOrder(job, event, calls);
      calls.set(place, event.call);
    },
  };
}

function tenureOf({ jobId, rangeId, token }: Pick<Delivered, 'jobId' | 'rangeId' | 'token'>): string {
  return `${jobId}/${rangeId}/${token}`;
}

interface Notes {
  readonly tenures: Map<string, Tenure>;
  readonly parked: Set<string>;
  readonly youngest: Map<string, { readonly token: string; readonly filling: number }>;
}

function noteStored(event: Stored, ledger: Ledger, { tenures, parked, youngest }: Notes): void {
  const { call, look } = event;
  const jobId = jobOf(call);
  const job = ledger.jobs.get(jobId);
  if (job === undefined) return;
  for (const range of look?.ranges ?? []) noteParked(jobId, range, parked);
  if (call.operation === 'lease' && call.answer?.kind === 'granted') {
    const { cursor, token } = call.answer;
    const key = tenureOf({ jobId, rangeId: rangeIdOf(call.request.range), token });
    youngest.set(`${jobId}/${rangeIdOf(call.request.range)}`, { token, filling: job.filling });
    if (!tenures.has(key)) tenures.set(key, { cursor, claimed: cursor, settled: new Set() });
  }
  if (call.operation === 'claim' && call.answer?.kind === 'claimed') {
    const tenure = tenures.get(tenureOf({ jobId, rangeId: rangeIdOf(call.request.range), token: call.request.token }));
    if (tenure !== undefined && call.answer.horizon > tenure.claimed) tenure.claimed = call.answer.horizon;
  }
}

function noteParked(jobId: string, range: RangeState, parked: Set<string>): void {
  for (const { offset } of range.parked) parked.add(`${jobId}/${placeOf(range.partition, offset)}`);
}

function* allowed(job: JobLedger, event: Delivered, tenure: Tenure | undefined, wasParked: boolean): Iterable<string> {
  const { partition, offset, rangeId, token } = event;
  const what = `${job.facts.jobId} ${placeOf(partition, offset)}`;
  const window = job.windows.find((each) => each.partition === partition);
  if (window === undefined || offset <= window.start || offset > window.end)
    yield `P1 ${what} is handed out, and lies outside the window`;
  if (!job.isRecord(partition, offset))
    yield `P2 ${what} is handed out, and is ${job.truth(partition, offset)?.kind ?? 'nothing'}`;
  if (job.isFiltered(partition, offset)) yield `P1 ${what} is handed out, and its time is outside the window`;
  if (tenure === undefined) {
    yield `P5 ${what} is handed out under ${token}, which was never granted`;
    return;
  }
  if (!wasParked && offset > tenure.claimed)
    yield `P5 ${what} is handed out under ${token}, which claimed up to ${tenure.claimed}`;
  if (!wasParked && offset <= tenure.cursor) yield `P4 ${what} is handed out again, the cursor was at ${tenure.cursor}`;
  if (tenure.settled.has(placeOf(partition, offset)))
    yield `P4 ${what} is handed out twice by one owner, who had settled it`;
  const range = job.look?.ranges.find((each) => rangeIdOf(each) === rangeId);
  if (range !== undefined && range.token === token && offset > range.end)
    yield `P5 ${what} is handed out beyond the end ${range.end} of its range`;
}

/**
 * Trust ends before the lease does on the store's clock, so nobody is at work any more when somebody else is granted the range.
 * A store that was filled anew knows nothing of former leases.
 */
function* trusted(
  job: JobLedger,
  { partition, offset, token }: Delivered,
  youngest: { readonly token: string; readonly filling: number } | undefined,
): Iterable<string> {
  if (
    youngest === undefined ||
    youngest.filling !== job.filling ||
    token.split(':')[0] !== youngest.token.split(':')[0]
  )
    return;
  if (token < youngest.token)
    yield `P5 ${job.facts.jobId} ${placeOf(partition, offset)} is handed out under ${token}, after ${youngest.token} was granted`;
}

/** Under `partition` and `key`, everything before it (of its key) is settled, or was handed over in the same call. */
function* inOrder(job: JobLedger, event: Delivered, calls: ReadonlyMap<string, number>): Iterable<string> {
  const { ordering, jobId } = job.facts;
  const { partition, offset } = event;
  const window = job.windows.find((each) => each.partition === partition);
  if (ordering === 'none' || window === undefined) return;
  const key = job.truth(partition, offset)?.key ?? null;
  if (ordering === 'key' && key === null) return;
  for (const before of offsets(window.start, offset - 1n)) {
    if (ordering === 'key' && job.truth(partition, before)?.key !== key) continue;
    if (job.isOver(partition, before)) continue;
    if (calls.get(`${jobId}/${placeOf(partition, before)}`) === event.call) continue;
    yield `P6 ${jobId} ${placeOf(partition, offset)} is handed out before ${before} is settled, under ordering ${ordering}`;
    return;
  }
}
