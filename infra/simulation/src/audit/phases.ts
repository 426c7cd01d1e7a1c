/** P1 and the states of a job: the window is fixed once, states follow the drawing, and a mode takes hold at once. */
import { isTerminal } from '@tidemark/jobs';
import type { HistoryEvent } from '../history.ts';
import { type JobLedger, jobOf, type Ledger } from './ledger.ts';
import { ACCEPTED, type Rule } from './rule.ts';

type Durable = Extract<HistoryEvent, { kind: 'durable' }>;
type State = Durable['states'][number];

const NEXT: Readonly<Record<string, readonly string[]>> = {
  '': ['REQUESTED', 'PINNING', 'REFUSED', 'COMPLETED'],
  REQUESTED: ['PINNING', 'REFUSED', 'CANCELLED'],
  PINNING: ['RUNNING', 'REFUSED', 'CANCELLING', 'CANCELLED'],
  RUNNING: ['PAUSING', 'PAUSED', 'SUSPENDED', 'COMPLETED', 'UNRECOVERABLE', 'CANCELLING', 'CANCELLED'],
  PAUSING: ['PAUSED', 'SUSPENDED', 'COMPLETED', 'UNRECOVERABLE', 'CANCELLING', 'CANCELLED'],
  PAUSED: ['RUNNING', 'CANCELLING', 'CANCELLED'],
  SUSPENDED: ['RUNNING', 'PAUSED', 'CANCELLING', 'CANCELLED'],
  CANCELLING: ['CANCELLED'],
};

/** What a job in the mode no longer takes. */
const REFUSED_IN: Readonly<Record<string, ReadonlySet<string>>> = {
  running: new Set(),
  draining: new Set(['granted', 'claimed', 'split']),
  halted: new Set(['granted', 'claimed', 'split', 'renewed', 'advanced', 'settled', 'stopped']),
};

export function phaseRule(): Rule {
  const requested = new Map<string, readonly bigint[]>();
  return {
    *before(event, ledger) {
      if (event.kind === 'requested' && !requested.has(event.jobId)) requested.set(event.jobId, event.highWatermarks);
      if (event.kind === 'durable') for (const state of event.states) yield* moved(event, state, ledger, requested);
      if (event.kind === 'stored') yield* inMode(event, ledger);
    },
  };
}

function* moved(
  event: Durable,
  state: State,
  ledger: Ledger,
  requested: ReadonlyMap<string, readonly bigint[]>,
): Iterable<string> {
  const job = ledger.jobs.get(state.jobId);
  if (job === undefined) return;
  const before = job.state;
  const from = before?.state ?? '';
  if (from !== state.state && !(NEXT[from] ?? []).includes(state.state))
    yield `${state.jobId} went from ${from} to ${state.state}`;
  if (before !== undefined && isTerminal(from) && from !== state.state) yield `${state.jobId} had ended as ${from}`;
  if (before?.pin != null && !samePin(before, state)) yield `P1 the window of ${state.jobId} was changed after the pin`;
  if (before?.pin == null && state.pin !== null) yield* pinned(event, state, requested.get(state.jobId) ?? []);
}

function samePin(a: State, b: State): boolean {
  const text = ({ pin }: State): string =>
    (pin?.partitions ?? []).map(({ partition, start, end }) => `${partition}:${start}-${end}`).join(' ');
  return text(a) === text(b) && a.pin?.topicId === b.pin?.topicId;
}

/** `end` of a window to `now`: everything acknowledged before the request is in, nothing acknowledged after the pin is. */
function* pinned(event: Durable, state: State, atRequest: readonly bigint[]): Iterable<string> {
  const now = event.highWatermarks.get(state.jobId) ?? [];
  for (const { partition, start, end } of state.pin?.partitions ?? []) {
    const place = `${state.jobId} in partition ${partition}`;
    if (end < (atRequest[partition] ?? 0n) - 1n)
      yield `P1 ${place} ends at ${end}, ${atRequest[partition]} was the high watermark at the request`;
    if (end > (now[partition] ?? 0n) - 1n)
      yield `P1 ${place} ends at ${end}, beyond the high watermark ${now[partition]} of now`;
    if (start < -1n || start > end) yield `P1 ${place} starts at ${start} and ends at ${end}`;
  }
}

function* inMode(event: Extract<HistoryEvent, { kind: 'stored' }>, ledger: Ledger): Iterable<string> {
  const { call, look } = event;
  const job: JobLedger | undefined = ledger.jobs.get(jobOf(call));
  const mode = job?.look?.mode;
  if (job !== undefined) yield* atRest(job, event);
  if (job === undefined || mode === undefined || call.answer === undefined) return;
  const { kind } = call.answer;
  if (!ACCEPTED.has(kind) || !REFUSED_IN[mode]?.has(kind)) return;
  // The remembered answer of a repeat changes nothing.
  if (versionsOf(job.look) === versionsOf(look)) return;
  yield `${job.facts.jobId} was ${mode} and ${kind} ${call.operation}`;
}

/** What rests, or is over, is durable only when nobody gets on with it any more. */
function* atRest(job: JobLedger, { by, call, look }: Extract<HistoryEvent, { kind: 'stored' }>): Iterable<string> {
  const phase = job.state?.state ?? '';
  if (!AT_REST.has(phase) || call.answer === undefined) return;
  const { kind } = call.answer;
  if (!GETS_ON.has(kind) || versionsOf(job.look) === versionsOf(look)) return;
  yield `${job.facts.jobId} is ${phase}, and ${by} ${kind} it`;
}

const AT_REST: ReadonlySet<string> = new Set(['PAUSED', 'SUSPENDED', 'CANCELLED', 'COMPLETED', 'UNRECOVERABLE']);
const GETS_ON: ReadonlySet<string> = new Set(['granted', 'claimed', 'advanced', 'settled', 'stopped']);

function versionsOf(look: JobLedger['look']): string {
  return (look?.ranges ?? []).map(({ version }) => version).join(' ');
}
