/** `tidemark job pause | resume | cancel | kill | release`: an order, what became of it, and the exit code for that. */
import type { JobState } from '@tidemark/contracts';
import {
  describeSeries,
  isOver,
  jobVerdictOf,
  type KillAllAnswer,
  killAll,
  type Raise,
  resumeCommand,
  type SteerAnswer,
  steerJob,
} from '@tidemark/control';
import { CommandName, JobPhase } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { count, seconds } from '../arguments.ts';
import { actor, type Context, confirmed, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { jobJson, stateText, unknownJob } from '../job-output.ts';
import { printOne } from '../output.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import { seriesJson } from '../series-output.ts';

interface SteerCliOptions extends CommonOptions {
  readonly wait: boolean;
  readonly force?: boolean;
  /** In milliseconds. */
  readonly deadline?: number;
  readonly all?: boolean;
  readonly maxSeconds?: bigint;
  readonly maxChunks?: bigint;
  readonly maxFailures?: bigint;
  readonly maxDeadLetters?: bigint;
}

const COMMON = ['dryRun', 'reason', 'yes'] as const;

export function registerSteer(job: Command, { command, run }: Registrar): void {
  const declare = (nameAndArguments: string, description: string): Command =>
    command(job, nameAndArguments, description, COMMON).option('--no-wait', 'do not wait until it is applied');
  const draining = (order: Command): Command =>
    order
      .addOption(new Option('--force', 'do not wait for chunks in flight').conflicts('deadline'))
      .option(
        '--deadline <seconds>',
        'how long chunks in flight may take before they are no longer waited for',
        deadline,
      );

  const pause = draining(declare('pause <id>', 'stop a job for a while; chunks in flight are still settled'));
  const resume = declare('resume <id>', 'let a paused or suspended job go on, with larger limits if you say so')
    .option('--max-seconds <count>', 'seconds of running since its start; 0 = no limit', count)
    .option('--max-chunks <count>', 'chunks since its start; 0 = no limit', count)
    .option('--max-failures <count>', 'failed attempts since its start; 0 = no limit', count)
    .option('--max-dead-letters <count>', 'dead letters since its start', count);
  const cancel = draining(declare('cancel <id>', 'end a job where it is; what it did stays done'));
  const kill = declare('kill [id]', 'pause a job at once, or all jobs that run; nobody is waited for').option(
    '--all',
    'every job that runs, and stop every series',
  );

  const release = declare('release <id>', 'let go what the log keeps for an audit of a job, proved or not');

  const bind = (to: Command, order: CommandName): void =>
    run(to, (context, [id]: [string], options: SteerCliOptions) => steerBy(context, order, id, options));
  bind(pause, CommandName.pause);
  bind(resume, CommandName.resume);
  bind(cancel, CommandName.cancel);
  bind(release, CommandName.release);
  run(kill, (context, [id]: [string | undefined], options: SteerCliOptions) => {
    if ((id === undefined) === (options.all !== true))
      fail(ExitCode.usage, 'either the id of a job or --all says what to kill');
    return id === undefined ? killAllBy(context, options) : steerBy(context, CommandName.kill, id, options);
  });
}

async function steerBy(
  context: Context,
  command: CommandName,
  id: string,
  options: SteerCliOptions,
): Promise<ExitCode> {
  const { force, deadline, dryRun, reason } = options;
  const raise = raiseOf(options);
  return withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
    const question = QUESTIONS[command];
    if (question !== undefined && !dryRun) await confirmed(context, `${question} job ${id}?`, options.yes);
    const answer = await steerJob(
      { jobLog },
      {
        jobId: id,
        command,
        reason,
        actor: actor(),
        ...(force === undefined ? {} : { force }),
        ...(deadline === undefined ? {} : { deadlineMs: deadline }),
        ...(raise === undefined ? {} : { raise }),
      },
      { dryRun, signal: context.terminal.signal, ...(options.wait ? {} : { answerTimeoutMs: 0 }) },
    );
    const text = textOf(command, id, answer);
    const state = 'state' in answer ? jobJson({ state: answer.state }) : {};
    printOne(context.terminal, context.format, { jobId: id, order: command, result: answer.kind, ...state }, () => [
      text,
    ]);
    return ExitCode.ok;
  });
}

/** Before what hurts. */
const QUESTIONS: Readonly<Partial<Record<CommandName, string>>> = {
  cancel: 'Cancel',
  kill: 'Kill',
  release: 'Let the log be cut before an audit of',
};

function deadline(text: string): number {
  const ms = seconds(text);
  if (ms === 0) throw new InvalidArgumentError('It must be above 0; --force does not wait at all.');
  return ms;
}

function raiseOf({ maxSeconds, maxChunks, maxFailures, maxDeadLetters }: SteerCliOptions): Raise | undefined {
  const raise = {
    ...(maxSeconds === undefined ? {} : { secondsMax: maxSeconds }),
    ...(maxChunks === undefined ? {} : { chunksMax: maxChunks }),
    ...(maxFailures === undefined ? {} : { failuresMax: maxFailures }),
    ...(maxDeadLetters === undefined ? {} : { deadLettersMax: maxDeadLetters }),
  };
  return Object.keys(raise).length === 0 ? undefined : raise;
}

/** What became of an order that was followed; otherwise the failure is thrown. */
function textOf(command: CommandName, id: string, answer: SteerAnswer): string {
  switch (answer.kind) {
    case 'applied':
      return command === CommandName.release
        ? `${id}  the log is not held for an audit of it any more`
        : `${id}  ${stateText(answer.state)}`;
    case 'already':
      return `${id}  ${stateText(answer.state)} already; nothing was changed`;
    case 'dry run':
      return `would ${command} job ${id}, which is ${stateText(answer.state)}; nothing was changed`;
    case 'ordered':
      return `asked for: ${command} ${id}`;
    case 'overtaken':
      return fail(
        ExitCode.conflict,
        `job ${id} is ${stateText(answer.state)}: the ${command} came too late for another order or the end of its work`,
      );
    case 'under way':
      return fail(
        ExitCode.timedOut,
        `job ${id} is ${stateText(answer.state)}, and chunks in flight are still being handled; wait with "tidemark job wait ${id}", or add --force and do not wait for them`,
      );
    case 'unanswered':
      return fail(ExitCode.timedOut, unanswered(`${command} of job ${id}`, answer.waitedMs));
    case 'unknown job':
      return unknownJob(id);
    case 'not in this state':
      return fail(ExitCode.conflict, `job ${id} is ${stateText(answer.state)}: ${whyNot(command, answer.state)}`);
    case 'used up':
      return fail(
        ExitCode.conflict,
        `job ${id} would be suspended again at once (${answer.what}); "${resumeCommand(id, answer.budget)}" raises what is used up`,
      );
    default:
      return assertNever(answer);
  }
}

function whyNot(command: CommandName, state: JobState): string {
  if (command === CommandName.release) return noHold(state);
  if (isOver(jobVerdictOf(state))) return 'it is over already';
  switch (command) {
    case CommandName.pause:
    case CommandName.kill:
      return `only a running job can be ${command === CommandName.pause ? 'paused' : 'killed'}`;
    case CommandName.resume:
      return state.state === JobPhase.running
        ? 'limits are raised with the resume of a paused or suspended job; pause it first'
        : 'only a paused or suspended job can be resumed';
    case CommandName.cancel:
      return 'it can be cancelled as soon as it is pinned';
    default:
      return assertNever(command);
  }
}

function noHold({ request }: JobState): string {
  return request.holdForAuditMs === 0n
    ? 'the log is not held for an audit of it; --hold-for-audit of "tidemark job submit" asks for that'
    : 'the log is not held for an audit of it any more; the audit trail says since when (JobAuditHoldReleased, JobAuditHoldEnded)';
}

async function killAllBy(context: Context, options: SteerCliOptions): Promise<ExitCode> {
  const { dryRun, reason, yes } = options;
  // Elsewhere a script means what it says; here a slip of one would stop everything.
  if (!dryRun && !yes && !context.terminal.isInteractive)
    fail(ExitCode.usage, 'kill --all stops every job and series; --yes says that it is meant');
  return withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
    if (!dryRun) await confirmed(context, 'Kill every job that runs, and stop every series?', yes);
    const answer = await killAll(
      { jobLog },
      { reason, actor: actor() },
      { dryRun, signal: context.terminal.signal, ...(options.wait ? {} : { answerTimeoutMs: 0 }) },
    );
    const jobs = 'states' in answer ? answer.states.map((state) => jobJson({ state })) : undefined;
    const series = 'series' in answer ? answer.series.map(seriesJson) : undefined;
    const lines = killedLines(answer);
    printOne(
      context.terminal,
      context.format,
      { order: CommandName.kill, all: true, result: answer.kind, jobs, series },
      () => lines,
    );
    return ExitCode.ok;
  });
}

function killedLines(answer: KillAllAnswer): readonly string[] {
  switch (answer.kind) {
    case 'applied':
      if (answer.states.length + answer.series.length === 0)
        return ['no job was running and no series active; the order reaches those that were on their way'];
      return linesOf(answer);
    case 'dry run':
      return [
        `would kill ${countOf(answer.states.length, 'job')}${answer.series.length === 0 ? '' : ` and stop ${answer.series.length} series`}; nothing was changed`,
        ...linesOf(answer),
      ];
    case 'ordered':
      return ['asked for: kill of all jobs and series'];
    case 'unanswered':
      return fail(
        ExitCode.timedOut,
        `${unanswered('kill of all jobs and series', answer.waitedMs)}; not stopped: ${answer.left.join(', ')}`,
      );
    default:
      return assertNever(answer);
  }
}

function linesOf({ states, series }: Extract<KillAllAnswer, { kind: 'applied' | 'dry run' }>): readonly string[] {
  return [
    ...states.map((state) => `${state.jobId}  ${stateText(state)}`),
    ...series.map((state) => `series ${state.series}  ${describeSeries(state)}`),
  ];
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function unanswered(what: string, waitedMs: number): string {
  return `${what} is written down, but no distributor applied it within ${waitedMs / 1000} s; "tidemark distributor" runs one`;
}
