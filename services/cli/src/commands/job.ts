/** `tidemark job …`: submit, look at, wait for and steer jobs. */

import { type JobState, jsonText } from '@tidemark/contracts';
import {
  awaitState,
  createPaceMeter,
  describeCount,
  describeProgress,
  describeWaiting,
  isOver,
  JobVerdict,
  type JobView,
  jobVerdictOf,
  needsPerson,
  plainText,
  viewJob,
  viewJobs,
  WaitKind,
  watchJob,
} from '@tidemark/control';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Command } from 'commander';
import { seconds } from '../arguments.ts';
import { type Context, withConnections, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { jobColumns, jobJson, jobLines, jobSummaryJson, stateText, unknownJob } from '../job-output.ts';
import { WAIT_TOLD_AFTER_MS } from '../limits.ts';
import { Format, printOne, printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { registerAudit } from './job-audit.ts';
import { registerSteer } from './job-steer.ts';
import { registerSubmit } from './job-submit.ts';

export function registerJob(program: Command, registrar: Registrar): void {
  const { group, command, run } = registrar;
  const job = group(program, 'job', 'submit, watch and steer jobs');
  registerSubmit(job, registrar);
  run(command(job, 'list', 'all jobs, the newest first'), list);
  run(command(job, 'show <id>', 'one job: window, ranges, counters'), (context, [id]: [string]) => show(context, id));
  run(command(job, 'watch <id>', 'follow a job until it is over'), (context, [id]: [string]) => watch(context, id));
  const wait = command(job, 'wait <id>', 'wait in silence until a job is over').option(
    '--timeout <seconds>',
    'exit with 7 after this long',
    seconds,
  );
  run(wait, (context, [id]: [string], options: { readonly timeout?: number }) => waitFor(context, id, options.timeout));
  registerSteer(job, registrar);
  registerAudit(job, registrar);
}

/** The list is in Kafka. What the jobs wait for is in the cursor store, and left out with a word while that is down. */
async function list(context: Context): Promise<void> {
  const print = (states: readonly JobState[], views: ReadonlyMap<string, JobView>): void => {
    const rows = states.map((state) => ({ state, view: views.get(state.jobId) }));
    printRows(context.terminal, context.format, {
      rows,
      columns: jobColumns(rows),
      json: ({ state, view }) => jobSummaryJson({ ...view, state }),
      none: 'no jobs',
    });
  };
  try {
    await withConnections(context, async (connections) => {
      const states = newestFirst(await connections.jobLog.states());
      print(states, await viewJobs(connections, states));
    });
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.class !== ErrorClass.unavailable) throw error;
    await withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
      print(newestFirst(await jobLog.states()), new Map());
    });
    context.terminal.note(`tidemark: how far jobs are and what they wait for is not known: ${error.message}`);
  }
}

function newestFirst(states: ReadonlyMap<string, JobState>): readonly JobState[] {
  return [...states.values()].sort((a, b) => Number(b.requestedAtMs - a.requestedAtMs));
}

async function show(context: Context, id: string): Promise<void> {
  await withConnections(context, async (connections) => {
    const state = (await connections.jobLog.states()).get(id) ?? unknownJob(id);
    const view = await viewJob(connections, state);
    printOne(context.terminal, context.format, jobJson(view), () => jobLines(view));
  });
}

async function watch(context: Context, id: string): Promise<ExitCode> {
  const { terminal } = context;
  return withConnections(context, async (connections) => {
    if (!(await connections.jobLog.states()).has(id)) unknownJob(id);
    const printer = progressPrinter(context);
    const last = await watchJob(connections, { jobId: id, signal: terminal.signal, onView: printer });
    terminal.live('');
    if (last === undefined || !isOver(jobVerdictOf(last.state))) return ExitCode.failed;
    printOne(terminal, context.format === Format.table ? Format.table : Format.jsonl, jobJson(last), () =>
      jobLines(last),
    );
    return exitCodeOfJob(last.state);
  });
}

/** On a terminal one line that changes; elsewhere a line when something is to be told: a tenth more, another state or wait. */
function progressPrinter({ terminal, format }: Context): (view: JobView) => void {
  const meter = createPaceMeter();
  const lasting = createLastingWait();
  let told = '';
  return (view) => {
    const { state, progress } = view;
    const pace = meter.observe(performance.now(), progress);
    const wait = lasting(performance.now(), view);
    const line = (bar: boolean): string =>
      `${stateText(state)}  ${describeProgress(progress, pace, { bar })}${restText(view, wait)}`;
    if (terminal.isInteractive) {
      terminal.live(line(true));
      return;
    }
    const step = `${stateText(state)} ${Math.floor(progress.percent / 10)} ${wait?.kind}`;
    if (step === told || isOver(jobVerdictOf(state))) return;
    told = step;
    terminal.out(format === Format.table ? line(false) : jsonText(jobSummaryJson(view)));
  };
}

/** What a job waits for, once it has waited for it for a while. */
function createLastingWait(): (nowMs: number, view: JobView) => JobView['waiting'] {
  let kind: WaitKind | undefined;
  let sinceMs = 0;
  return (nowMs, { waiting }) => {
    if (waiting?.kind !== kind) sinceMs = nowMs;
    kind = waiting?.kind;
    return nowMs - sinceMs >= WAIT_TOLD_AFTER_MS ? waiting : undefined;
  };
}

function restText({ counters, storeNowMs }: JobView, wait: JobView['waiting']): string {
  const parked = counters.parked === 0n ? '' : `  ${describeCount(counters.parked)} parked`;
  // The state says already what a person is waited for.
  if (wait === undefined || wait.kind === WaitKind.person) return parked;
  return `${parked}  waits for ${plainText(describeWaiting(wait, storeNowMs))}`;
}

/** Ends when no worker can move the job any more: it is over, or only a person can let it go on. */
async function waitFor(context: Context, id: string, timeoutMs: number | undefined): Promise<ExitCode> {
  const { terminal } = context;
  const isEnough = (state: JobState): boolean => isOver(jobVerdictOf(state)) || needsPerson(jobVerdictOf(state));
  return withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
    const seen = (await jobLog.states()).get(id) ?? unknownJob(id);
    const state = isEnough(seen)
      ? seen
      : await awaitState(jobLog, {
          jobId: id,
          after: seen,
          until: isEnough,
          signal: terminal.signal,
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
        });
    if (state === undefined && terminal.signal.aborted) return ExitCode.failed;
    if (state === undefined)
      fail(
        ExitCode.timedOut,
        `job ${id} was ${stateText(seen)} and is not over after ${(timeoutMs ?? 0) / 1000} s; it goes on, wait again or see "tidemark job show ${id}"`,
      );
    printOne(terminal, context.format, jobJson({ state }), () => [`${id}  ${stateText(state)}`]);
    if (needsPerson(jobVerdictOf(state)))
      terminal.note(
        `job ${id} needs a person: ${plainText(state.reason) || state.state}; "tidemark job resume ${id}" lets it go on`,
      );
    return exitCodeOfJob(state);
  });
}

export function exitCodeOfJob(state: JobState): ExitCode {
  const verdict = jobVerdictOf(state);
  if (verdict === JobVerdict.clean) return ExitCode.ok;
  return verdict === JobVerdict.withFaults ? ExitCode.finishedWithFaults : ExitCode.failed;
}
