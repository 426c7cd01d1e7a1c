/** Series and what became of orders to them, in the words of command line and console. */
import type { SeriesDefinition, SeriesState } from '@tidemark/contracts';
import { isKilledSeries, lastingFault, type SeriesOrderName, SeriesStatus } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import type { OrderSeriesAnswer } from './series.ts';
import { plainText } from './table.ts';

/** `ACTIVE`, `STOPPED (why)`. */
export function describeSeries({ status, reason }: Pick<SeriesState, 'status' | 'reason'>): string {
  return reason === '' ? status : `${status} (${plainText(reason)})`;
}

/** `every 600 s`, `30 2 * * * Europe/Berlin`. */
export function describeSchedule({ cron, zone, everyMs }: SeriesDefinition): string {
  return cron === '' ? `every ${everyMs / 1_000n} s` : `${cron} ${zone}`;
}

type GivenOrder = Exclude<SeriesOrderName, 'create'>;

/** One sentence, also for what was refused; without the name of the series in front. */
export function describeSeriesOrder(order: GivenOrder, series: string, answer: OrderSeriesAnswer): string {
  switch (answer.kind) {
    case 'applied':
      return APPLIED[order](answer.state, answer.before);
    case 'dry run':
      return `would ${order}; it is ${describeSeries(answer.state)}, and nothing was changed`;
    case 'ordered':
      return `${order} ordered`;
    case 'unknown series':
      return `no series ${series} is known; "tidemark series list" shows all`;
    case 'not in this state':
      return refusalText(series, answer.reason);
    case 'unanswered':
      return unansweredSeries(series, answer.waitedMs);
    default:
      return assertNever(answer);
  }
}

export function unansweredSeries(series: string, waitedMs: number): string {
  return `the order to series ${series} is written, but no distributor answered within ${waitedMs / 1000} s; it is applied as soon as one runs: "tidemark distributor"`;
}

/** A run that was ordered may find that the series cannot go on; then that is its answer. */
export function hasStopped(order: GivenOrder, answer: OrderSeriesAnswer): boolean {
  return order === 'run' && answer.kind === 'applied' && answer.state.status === SeriesStatus.stopped;
}

const APPLIED: Readonly<Record<GivenOrder, (state: SeriesState, before: SeriesState) => string>> = {
  run: (state, before) => {
    if (state.status === SeriesStatus.stopped) return `series ${state.series} is ${describeSeries(state)}`;
    if (state.runs > before.runs)
      return `run ${state.series}-${state.runs}; "tidemark job watch ${state.series}-${state.runs}"`;
    return state.liveRun === ''
      ? 'nothing new since the last run, so there is nothing to run'
      : `the next run begins as soon as ${state.liveRun} ends`;
  },
  resume: (_, before) =>
    isKilledSeries(before)
      ? resumedAfterKill(before)
      : `ACTIVE again, behind what stopped it: ${before.reason}. What that run did not settle is skipped; "tidemark job show ${before.series}-${before.runs}" shows its window, for a job of its own`,
  delete: (_, before) =>
    before.liveRun === ''
      ? 'DELETED; the log is no longer held for it'
      : `DELETED; run ${before.liveRun} goes on by itself`,
};

/** Nothing was skipped: a run that was killed with it is paused, and the next one begins behind it. */
function resumedAfterKill({ liveRun }: SeriesState): string {
  if (liveRun === '') return 'ACTIVE again';
  return `ACTIVE again; run ${liveRun} was killed, too, and the next one begins when that has ended: "tidemark job resume ${liveRun}"`;
}

function refusalText(series: string, reason: string): string {
  return lastingFault(reason) === undefined && reason.includes('resume it first')
    ? `${reason}: "tidemark series resume ${series}"`
    : reason;
}
