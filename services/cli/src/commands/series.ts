/** `tidemark series …`: durable chains of windows over a topic, run by the clock or by hand. */
import type { SeriesDefinition } from '@tidemark/contracts';
import {
  type CreateSeriesAnswer,
  createSeries,
  describeSeries,
  describeSeriesOrder,
  hasStopped,
  type OrderSeriesAnswer,
  orderSeries,
  planSeries,
  unansweredSeries,
  windowLines,
} from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import { isHeld, type SeriesOrderName } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import { type Command, Option } from 'commander';
import { period } from '../arguments.ts';
import { actor, type Context, confirmed, withConnections, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { printOne, printRows } from '../output.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import { SERIES_COLUMNS, seriesJson, seriesLines } from '../series-output.ts';
import {
  exitCodeOfReason,
  type RequestCliOptions,
  requestOf,
  tellSubmitted,
  withRequestOptions,
} from './job-submit.ts';

interface CreateCliOptions extends RequestCliOptions, Pick<CommonOptions, 'dryRun'> {
  readonly cron?: string;
  readonly zone: string;
  /** In milliseconds. */
  readonly every?: bigint;
  readonly wait: boolean;
}

interface OrderCliOptions extends Pick<CommonOptions, 'dryRun' | 'reason'> {
  /** Not of a run, which takes nothing away, as a submit does not, and so asks nothing. */
  readonly yes?: boolean;
  readonly wait: boolean;
}

export function registerSeries(program: Command, { group, command, run }: Registrar): void {
  const series = group(program, 'series', 'run windows one after the other, without a gap and without an overlap');
  const create = withRequestOptions(command(series, 'create <name>', 'a chain of windows over a topic', ['dryRun']))
    .addOption(new Option('--cron <fields>', 'when a run is due: minute hour day month weekday').conflicts('every'))
    .option('--zone <name>', 'time zone of the cron fields, such as Europe/Berlin', 'UTC')
    .option('--every <period>', 'when a run is due: each 30s, 10m, 6h or 1d', period)
    .option('--no-wait', 'do not wait until it is accepted');
  run(create, (context, [name]: [string], options: CreateCliOptions) => createBy(context, name, options));
  run(command(series, 'list', 'all series'), list);
  run(command(series, 'show <name>', 'one series: status, schedule, where the next run begins'), show);
  const order = (name: Exclude<SeriesOrderName, 'create'>, description: string): void => {
    const common = ['dryRun', 'reason'] as const;
    const declared = command(series, `${name} <name>`, description, name in QUESTIONS ? [...common, 'yes'] : common);
    declared.option('--no-wait', 'do not wait until it is applied');
    run(declared, (context, [of]: [string], options: OrderCliOptions) => orderBy(context, name, of, options));
  };
  order('run', 'a run now, of the same chain');
  order('resume', 'let a stopped series go on, behind the run if one stopped it');
  order('delete', 'end the chain, and no longer hold the log for it; a run that is live goes on');
}

/** Asked before an order after which something is not worked on, or not kept, that would have been. */
const QUESTIONS: Readonly<Partial<Record<SeriesOrderName, (name: string) => string>>> = {
  resume: (name) => `Resume series ${name}? If a run of it stopped it, what that run did not settle is skipped.`,
  delete: (name) => `Delete series ${name}? The log is no longer held for its next run.`,
};

async function list(context: Context): Promise<void> {
  await withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
    const rows = [...(await jobLog.series()).values()].filter(isHeld).sort((a, b) => (a.series < b.series ? -1 : 1));
    printRows(context.terminal, context.format, { rows, columns: SERIES_COLUMNS, json: seriesJson, none: 'no series' });
  });
}

async function show(context: Context, [name]: [string]): Promise<void> {
  await withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
    const state = (await jobLog.series()).get(name) ?? unknownSeries(name);
    printOne(context.terminal, context.format, seriesJson(state), () => seriesLines(state));
  });
}

async function createBy(context: Context, name: string, options: CreateCliOptions): Promise<ExitCode> {
  const { cron = '', zone, every = 0n } = options;
  if (cron === '' && every === 0n)
    fail(ExitCode.usage, 'either --cron or --every says when a run is due, as in --cron "*/5 * * * *" or --every 10m');
  const definition = { request: requestOf(name, options), cron, zone, everyMs: every };
  return withConnections(context, async (connections) => {
    if (options.dryRun) return tellPlanned(context, connections, definition, options);
    const answer = await createSeries(connections, definition, {
      allowUnknownHandler: options.allowUnknownHandler,
      reason: options.note,
      actor: actor(),
      signal: context.terminal.signal,
      ...(options.wait ? {} : { answerTimeoutMs: 0 }),
    });
    return tellCreated(context, definition, answer);
  });
}

async function tellPlanned(
  context: Context,
  connections: Connections,
  definition: SeriesDefinition,
  { allowUnknownHandler }: CreateCliOptions,
): Promise<ExitCode> {
  const planned = await planSeries(connections, definition, { allowUnknownHandler });
  if (planned.kind !== 'planned') return tellCreated(context, definition, planned);
  const { jobId: name, topic } = definition.request;
  const { window, ranges } = planned;
  const partitions = window.partitions.map(({ partition, start, end }) => ({ partition, start, end }));
  const json = { series: name, dryRun: true, ranges, partitions };
  printOne(context.terminal, context.format, json, () => [
    `would create series ${name}; nothing was ordered`,
    `a run that began now would be ${ranges} ranges of ${topic}, start < offset <= end`,
    ...windowLines(window.partitions),
  ]);
  return ExitCode.ok;
}

function tellCreated(context: Context, definition: SeriesDefinition, answer: CreateSeriesAnswer): ExitCode {
  const { terminal, format } = context;
  const name = definition.request.jobId;
  switch (answer.kind) {
    case 'created': {
      const { state, created } = answer;
      const again = created ? '' : '; the same series was created before';
      printOne(terminal, format, { ...seriesJson(state), created }, () => [
        `${name}  ${describeSeries(state)}${again}`,
        ...seriesLines(state).slice(2),
      ]);
      return ExitCode.ok;
    }
    case 'ordered':
      printOne(terminal, format, { series: name, result: 'ordered' }, () => [`${name}  ordered`]);
      return ExitCode.ok;
    case 'other content':
      return fail(
        ExitCode.conflict,
        `series ${name} exists with other content and is ${describeSeries(answer.state)}; "tidemark series show ${name}" shows it, another name makes another series`,
      );
    case 'refused':
      return fail(exitCodeOfReason(answer.state.reason), `series ${name} was refused: ${answer.state.reason}`);
    case 'invalid series':
      return fail(ExitCode.usage, answer.faults.join('; '));
    case 'unanswered':
      return unanswered(name, answer.waitedMs);
    case 'malformed':
    case 'not idempotent':
    case 'target refused':
    case 'unknown handler':
    case 'unknown topic':
    case 'window refused':
      return tellSubmitted(context, definition.request, answer);
    default:
      return assertNever(answer);
  }
}

async function orderBy(
  context: Context,
  order: Exclude<SeriesOrderName, 'create'>,
  name: string,
  options: OrderCliOptions,
): Promise<ExitCode> {
  return withLog(context, ['kafka', 'registry'], async ({ jobLog }) => {
    const question = options.dryRun ? undefined : QUESTIONS[order];
    if (question !== undefined) await confirmed(context, question(name), options.yes === true);
    const answer = await orderSeries(
      { jobLog },
      { series: name, order },
      {
        dryRun: options.dryRun,
        reason: options.reason,
        actor: actor(),
        signal: context.terminal.signal,
        ...(options.wait ? {} : { answerTimeoutMs: 0 }),
      },
    );
    const text = describeSeriesOrder(order, name, answer);
    const exitCode = hasStopped(order, answer) ? ExitCode.failed : EXIT_CODES[answer.kind];
    if (exitCode !== ExitCode.ok) fail(exitCode, text);
    const state = 'state' in answer ? seriesJson(answer.state) : {};
    printOne(context.terminal, context.format, { series: name, order, result: answer.kind, ...state }, () => [
      `${name}  ${text}`,
    ]);
    return ExitCode.ok;
  });
}

const EXIT_CODES: Readonly<Record<OrderSeriesAnswer['kind'], ExitCode>> = {
  applied: ExitCode.ok,
  'dry run': ExitCode.ok,
  ordered: ExitCode.ok,
  'unknown series': ExitCode.notFound,
  'not in this state': ExitCode.conflict,
  unanswered: ExitCode.timedOut,
};

function unknownSeries(name: string): never {
  return fail(ExitCode.notFound, `no series ${name} is known; "tidemark series list" shows all`);
}

function unanswered(name: string, waitedMs: number): never {
  return fail(ExitCode.timedOut, unansweredSeries(name, waitedMs));
}
