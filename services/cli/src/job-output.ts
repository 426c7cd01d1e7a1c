/** Jobs as the command line shows them. */

import type { JobState, Pin } from '@tidemark/contracts';
import {
  adviceOn,
  type BudgetUse,
  type Column,
  describeBudget,
  describeCount,
  describeDuration,
  describeProgress,
  describeWaiting,
  type JobLoss,
  type JobView,
  lossOf,
  plainText,
  rangeLines,
  STILL,
  settledLines,
  type Waiting,
  type WaitingRangeView,
  wordOfRange,
} from '@tidemark/control';
import { auditDeadlineOf, IDEMPOTENCY_HORIZON_MS, isHeldForAudit, releasedText, shownParameters } from '@tidemark/jobs';
import { mergeIntervals, RangeStatus } from '@tidemark/keyspace';
import { ExitCode, fail } from './exit-code.ts';
import { LOST_LISTED_MAX, RANGES_LISTED_MAX } from './limits.ts';
import { instant } from './output.ts';

/** `RUNNING`, `COMPLETED (clean)`. A reason may hold words of a handler. */
export function stateText({ state, reason }: JobState): string {
  return reason === '' ? state : `${state} (${plainText(reason)})`;
}

/** A job in a list: the view only while it is under way and the cursor store answers. */
export interface ListedJob {
  readonly state: JobState;
  readonly view: JobView | undefined;
}

const JOB_COLUMNS: readonly Column<ListedJob>[] = [
  { title: 'JOB', of: ({ state }) => state.jobId },
  { title: 'STATE', of: ({ state }) => stateText(state) },
  { title: 'TOPIC', of: ({ state }) => state.request.topic },
  { title: 'HANDLER', of: ({ state }) => state.request.handler },
  {
    title: 'OFFSETS',
    of: ({ state: { pin } }) => pin?.partitions.reduce((sum, { start, end }) => sum + (end - start), 0n) ?? '',
    align: 'right',
  },
  {
    title: 'DONE',
    of: ({ view }) => (view === undefined ? '' : `${Math.floor(view.progress.percent)} %`),
    align: 'right',
  },
  { title: 'PARKED', of: ({ view }) => view?.counters.parked || '', align: 'right' },
  { title: 'RETRIES', of: ({ state, view }) => (view?.counters ?? state.totals)?.retries || '', align: 'right' },
  { title: 'BUDGET', of: ({ view }) => mostUsed(view?.budget ?? []) },
  { title: 'REQUESTED', of: ({ state }) => instant(state.requestedAtMs) },
  {
    title: 'WAITS FOR',
    of: ({ view }) => (view?.waiting === undefined ? '' : describeWaiting(view.waiting, view.storeNowMs)),
  },
];

/** Left out when no job has anything to say there. */
const IF_FILLED = ['DONE', 'PARKED', 'RETRIES', 'BUDGET', 'WAITS FOR'];

export function jobColumns(rows: readonly ListedJob[]): readonly Column<ListedJob>[] {
  return JOB_COLUMNS.filter(({ title, of }) => !IF_FILLED.includes(title) || rows.some((row) => of(row) !== ''));
}

/** Of the limits that a job has, the one that it comes closest to. */
function mostUsed(budget: readonly BudgetUse[]): string {
  const shares = budget.flatMap(({ name, used, max }) =>
    max === undefined || used === 0n ? [] : [{ name, percent: max === 0n ? 100n : (used * 100n) / max }],
  );
  const [most] = shares.sort((a, b) => Number(b.percent - a.percent));
  return most === undefined ? '' : `${most.percent} % of ${most.name}`;
}

type KnownJob = { readonly state: JobState } & Partial<JobView>;

/** The shape that programs get: stable names, 64-bit numbers as strings. */
export function jobJson(job: KnownJob): object {
  const { ranges, storeNowMs } = job;
  return {
    ...jobSummaryJson(job),
    ranges: storeNowMs === undefined ? undefined : ranges?.map((range) => rangeJson(range, storeNowMs)),
  };
}

/** Without the ranges, of which there may be thousands. */
export function jobSummaryJson({ state, ...view }: KnownJob): object {
  const { progress, counters, budget, windows, waiting, storeNowMs } = view;
  const loss = lossOf(state, view.ranges ?? []);
  return {
    jobId: state.jobId,
    state: state.state,
    reason: state.reason,
    request: { ...state.request, parameters: shownParameters(state.request.parameters) },
    requestedAt: instant(state.requestedAtMs),
    updatedAt: instant(state.updatedAtMs),
    pin:
      state.pin === null
        ? null
        : {
            pinnedAt: instant(state.pin.pinnedAtMs),
            topicId: state.pin.topicId,
            partitions: state.pin.partitions,
            unsentKeys: state.pin.unsentKeys,
            unsent: state.pin.unsent,
          },
    totals: state.totals,
    lost: loss.places,
    lostUnplaced: loss.unplaced,
    heldForAudit: holdJson(state),
    releasedFloors: state.releasedFloors.map(({ atMs, ...floor }) => ({ ...floor, at: instant(atMs) })),
    progress,
    counters,
    budget: budget?.map(({ name, used, max, isUsedUp }) => ({ name, used, max: max ?? null, isUsedUp })),
    settled: windows?.map(({ partition, settledUpTo }) => ({ partition, settledUpTo: settledUpTo ?? null })),
    waiting: storeNowMs === undefined ? undefined : waitingJson(waiting, storeNowMs),
  };
}

function rangeJson(range: WaitingRangeView, storeNowMs: number): object {
  return {
    partition: range.partition,
    start: range.start,
    end: range.end,
    cursor: range.cursor,
    status: range.status,
    happens: wordOfRange(range, storeNowMs),
    waiting: waitingJson(range.waiting, storeNowMs),
    note: range.note,
    counters: range.counters,
    lost: mergeIntervals([...range.passed, ...range.lost]),
    owner: range.owner,
    token: range.token,
  };
}

function waitingJson(waiting: Waiting | undefined, storeNowMs: number): object | null {
  if (waiting === undefined) return null;
  const { kind, reason, sinceMs } = waiting;
  return {
    kind,
    reason,
    seconds: sinceMs === undefined ? null : Math.max(0, Math.round((storeNowMs - sinceMs) / 1000)),
  };
}

export function jobLines(view: JobView): readonly string[] {
  const { state, ranges, progress, counters, windows, waiting } = view;
  const { request, pin } = state;
  const lines = [
    `job        ${state.jobId}`,
    `state      ${stateText(state)}`,
    `topic      ${request.topic}${pin === null ? '' : `  (id ${pin.topicId})`}`,
    `handler    ${request.handler}`,
    `window     from ${request.from} to ${request.to}${pin === null ? '' : `, pinned at ${instant(pin.pinnedAtMs)}`}`,
    `progress   ${describeProgress(progress, STILL, { bar: false }).trim()}`,
    `used       ${describeBudget(view.budget)}`,
  ];
  if (counters.parked > 0n) lines.push(`parked     ${describeCount(counters.parked)} records wait for another attempt`);
  if (counters.retries > 0n) lines.push(`retries    ${describeCount(counters.retries)}`);
  if (waiting !== undefined) {
    const advice = adviceOn(waiting, { jobId: state.jobId, budget: view.budget });
    lines.push(`waits for  ${describeWaiting(waiting, view.storeNowMs)}${advice === '' ? '' : `. ${advice}`}`);
  }
  if (request.series !== '')
    lines.push(`series     a run of ${request.series}; "tidemark series show ${request.series}"`);
  lines.push(...holdLines(state));
  if (request.note !== '') lines.push(`note       ${request.note}`);
  if (pin !== null && pin.unsentKeys > 0n) lines.push(...unsentLines(pin));
  if (windows.length > 0) lines.push('', 'covered is start < offset <= end', ...settledLines(windows));
  if (ranges.length > 0) lines.push('', ...boundedRangeLines(view));
  lines.push(...lossLines(lossOf(state, ranges)));
  return lines;
}

function lossLines({ places, unplaced }: JobLoss): readonly string[] {
  const listed = places.slice(0, LOST_LISTED_MAX);
  const lines = listed.map(
    ({ partition, first, last }) => `lost: offsets ${first} to ${last} of partition ${partition}`,
  );
  if (listed.length < places.length)
    lines.push(`lost: ${describeCount(places.length - listed.length)} more intervals; -o json lists all`);
  if (unplaced > 0n) lines.push(`lost: ${describeCount(unplaced)} offsets more, whose places were not kept`);
  return lines;
}

/** Null: the log is not held for an audit of it, or not any more. */
function holdJson(state: JobState): object | null {
  if (!isHeldForAudit(state)) return null;
  const untilMs = auditDeadlineOf(state);
  return { until: untilMs === undefined ? null : instant(untilMs), afterEndMs: state.request.holdForAuditMs };
}

function holdLines(state: JobState): readonly string[] {
  const { jobId, request, releasedFloors } = state;
  const lines: string[] = [];
  if (isHeldForAudit(state)) {
    const untilMs = auditDeadlineOf(state);
    const after = describeDuration(Number(request.holdForAuditMs));
    lines.push(
      `held       for an audit ${untilMs === undefined ? `until ${after} after its end` : `until ${instant(untilMs)}`}; "tidemark job audit ${jobId}" proves it and lets go, "tidemark job release ${jobId}" lets go`,
    );
  }
  const [first] = releasedFloors;
  if (first !== undefined) lines.push(`released   ${instant(first.atMs)}: ${releasedText(releasedFloors)}`);
  return lines;
}

/** Their rows are not in the window: the relay could not send the first of each. */
function unsentLines({ unsentKeys, unsent }: Pin): readonly string[] {
  const keys = `${describeCount(unsentKeys)} ${unsentKeys === 1n ? 'key was' : 'keys were'}`;
  const omitted = unsentKeys - BigInt(unsent.length);
  return [
    `unsent     ${keys} waiting unsent at the pin, and their rows are not in the window`,
    ...unsent.map(
      ({ key, position, reason }) =>
        `           key ${JSON.stringify(key)} from position ${position} on: ${plainText(reason)}`,
    ),
    ...(omitted > 0n ? [`           ${describeCount(omitted)} more are not listed; see "tidemark relay status"`] : []),
  ];
}

/** Of too many those that are not done, first. */
function boundedRangeLines({ ranges, storeNowMs }: JobView): readonly string[] {
  if (ranges.length <= RANGES_LISTED_MAX) return rangeLines({ ranges, storeNowMs });
  const isDone = ({ status }: WaitingRangeView): number => Number(status === RangeStatus.done);
  const listed = [...ranges].sort((a, b) => isDone(a) - isDone(b)).slice(0, RANGES_LISTED_MAX);
  const omitted = describeCount(ranges.length - listed.length);
  return [...rangeLines({ ranges: listed, storeNowMs }), `${omitted} more ranges are not listed; -o json lists all`];
}

const KEPT = `its state is kept for ${IDEMPOTENCY_HORIZON_MS / 86_400_000} days or longer, and of a series those of the newest runs`;

export function unknownJob(id: string): never {
  return fail(
    ExitCode.notFound,
    `no job ${id} is known; "tidemark job list" shows all. One that has ended may have been removed since: ${KEPT}`,
  );
}
