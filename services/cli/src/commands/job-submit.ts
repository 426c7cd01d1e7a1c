/** `tidemark job submit`: a wish becomes a record; the distributor's answer becomes the exit code. */
import { randomUUID } from 'node:crypto';
import type { JobRequested } from '@tidemark/contracts';
import { planJob, type SubmitAnswer, submitJob, windowLines } from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import { newRequest, OnExhausted, OnLost, Ordering, TargetRefusal, WindowRefusal } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { count, int32, secondsOrPeriod } from '../arguments.ts';
import { actor, type Context, withConnections, withFloorSight } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { jobJson, stateText } from '../job-output.ts';
import { printOne } from '../output.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import { type PreviewCliOptions, previewJson, previewLines, previewOf, withPreviewOptions } from '../window-preview.ts';
import { DISORDER_HELP, exitCodeOfRefusal, FROM_HELP, orFail, TO_HELP } from './window.ts';

interface SubmitCliOptions extends RequestCliOptions, PreviewCliOptions, Pick<CommonOptions, 'dryRun'> {
  readonly id?: string;
  readonly to: string;
  /** In milliseconds. */
  readonly disorder?: bigint;
  readonly wait: boolean;
}

/** What a job asks for, whoever asks. */
export interface RequestCliOptions {
  readonly topic: string;
  readonly handler: string;
  readonly from: string;
  readonly ordering: string;
  readonly chunk: number;
  readonly chunkBytes: number;
  readonly rangesPerPartition: number;
  readonly concurrency: number;
  readonly rate: number;
  readonly attempts: number;
  readonly parkedMax: number;
  readonly onExhausted: keyof typeof ON_EXHAUSTED;
  readonly maxDeadLetters: bigint;
  readonly maxSeconds: bigint;
  readonly maxChunks: bigint;
  readonly maxFailures: bigint;
  readonly param: Readonly<Record<string, string>>;
  readonly onLost: string;
  /** In milliseconds. */
  readonly holdForAudit: bigint;
  readonly priority: number;
  readonly note: string;
  readonly acceptDuplicates: boolean;
  readonly allowUnknownHandler: boolean;
}

/** A word without a blank needs no quotes on a command line. */
const ON_EXHAUSTED = { 'dead-letter': OnExhausted.deadLetter, suspend: OnExhausted.suspend } as const;

/** Somebody looks at what ran in the night on the next day. */
const HOLD_PRESET = '1d';

const DEFAULTS = newRequest({ jobId: '', topic: '', handler: '' });

export function registerSubmit(job: Command, { command, run }: Registrar): void {
  const submit = command(job, 'submit', 'request a traversal of a window of a topic by a handler', ['dryRun']).option(
    '--id <id>',
    'the same id with the same content is the same job; drawn when left out',
  );
  withRequestOptions(submit)
    .option('--to <place>', TO_HELP, DEFAULTS.to)
    .option('--disorder <time>', DISORDER_HELP, secondsOrPeriod)
    .option('--no-wait', 'do not wait until the window is pinned');
  withPreviewOptions(submit);
  run(submit, async (context, _: [], options: SubmitCliOptions) =>
    withConnections(context, async (connections) => {
      const { id = `job-${randomUUID()}`, to, disorder: disorderMs = DEFAULTS.disorderMs } = options;
      const request = { ...requestOf(id, options), to, disorderMs };
      if (options.dryRun) return tellPlanned(context, connections, { request, options });
      if (options.count || options.recordsPerSecond !== undefined)
        fail(ExitCode.usage, '--count and --records-per-second tell what a job would take: they need --dry-run');
      const answer = await submitJob(connections, request, {
        allowUnknownHandler: options.allowUnknownHandler,
        signal: context.terminal.signal,
        ...(options.wait ? {} : { answerTimeoutMs: 0 }),
      });
      return tellSubmitted(context, request, answer);
    }),
  );
}

/** Asks everything that a submit asks, and the log and the floors besides; writes nothing. */
function tellPlanned(
  context: Context,
  connections: Connections,
  { request, options }: { readonly request: JobRequested; readonly options: SubmitCliOptions },
): Promise<ExitCode> {
  const { allowUnknownHandler } = options;
  const { jobId, handler, topic, rate, holdForAuditMs } = request;
  return withFloorSight(context, async (sight) => {
    const floors = sight.kind === 'known' ? sight.floors : undefined;
    const planned = await planJob(connections, request, { allowUnknownHandler, floors });
    if (planned.kind !== 'planned') return tellSubmitted(context, request, planned);
    const { window: plan, ranges } = planned;
    const timed = await previewOf(context, connections, { plan, floors: sight, options, handler, ratePerSecond: rate });
    const json = { jobId, dryRun: true, ranges, holdForAuditMs, ...previewJson(timed) };
    printOne(context.terminal, context.format, json, () => [
      `would cover ${timed.preview.sum.offsets} offsets of ${topic} in ${ranges} ranges; nothing was requested`,
      ...previewLines(timed, holdForAuditMs),
    ]);
    return ExitCode.ok;
  });
}

/** Those of `RequestCliOptions`. */
export function withRequestOptions(command: Command): Command {
  return command
    .requiredOption('--topic <name>', 'whose records')
    .requiredOption('--handler <name>', 'what to do with each')
    .option('--from <place>', FROM_HELP, DEFAULTS.from)
    .addOption(
      new Option('--ordering <kind>', 'what must not run at the same time within a chunk')
        .choices(Object.values(Ordering))
        .default(DEFAULTS.ordering),
    )
    .option('--chunk <records>', 'records that one cursor move may cover', int32({ min: 1 }), DEFAULTS.chunkRecords)
    .option('--chunk-bytes <bytes>', 'and their bytes', int32({ min: 1 }), DEFAULTS.chunkBytes)
    .option(
      '--ranges-per-partition <count>',
      'ranges that a partition is cut into under ordering none; 0 = as its size asks for',
      int32({ min: 0 }),
      DEFAULTS.rangesPerPartition,
    )
    .option(
      '--concurrency <ranges>',
      'ranges worked on at the same time, over all workers; 0 = as many as there are',
      int32({ min: 0 }),
      DEFAULTS.concurrency,
    )
    .option('--rate <records>', 'records a second, over all workers; 0 = no limit', int32({ min: 0 }), DEFAULTS.rate)
    .option('--attempts <count>', 'attempts per record before they are used up', int32({ min: 1 }), DEFAULTS.attempts)
    .option(
      '--parked-max <records>',
      'records of a range that may wait for a later attempt while it goes on; 0 = every attempt in place',
      int32({ min: 0 }),
      DEFAULTS.parkedMax,
    )
    .addOption(
      new Option('--on-exhausted <what>', 'when the attempts of a record are used up')
        .choices(Object.keys(ON_EXHAUSTED))
        .default('dead-letter'),
    )
    .addOption(limit('--max-seconds <count>', 'seconds of running that suspend the job; 0 = no limit', 0n))
    .addOption(limit('--max-chunks <count>', 'chunks that suspend it; 0 = no limit', 0n))
    .addOption(limit('--max-failures <count>', 'failed attempts that suspend it; 0 = no limit', 0n))
    .addOption(limit('--max-dead-letters <count>', 'more dead letters than this suspend it', DEFAULTS.deadLettersMax))
    .option('--param <name=value>', 'handed to the handler; may be repeated', parameter, {})
    .addOption(
      new Option('--on-lost <what>', 'when somebody removed records of the window')
        .choices(Object.values(OnLost))
        .default(DEFAULTS.onLost),
    )
    .addOption(
      new Option(
        '--hold-for-audit [time]',
        `how long after its end the log keeps the whole window, until "tidemark job audit" has proved it: seconds or 10m, 6h, 7d, at most 90d; without a time ${HOLD_PRESET}`,
      )
        .argParser(secondsOrPeriod)
        .preset(HOLD_PRESET)
        .default(DEFAULTS.holdForAuditMs, 'not held'),
    )
    .option('--priority <number>', 'larger goes first', int32({ min: -(2 ** 31) }), DEFAULTS.priority)
    .option('--note <text>', 'why; kept with the job and in the audit trail', '')
    .option('--accept-duplicates', 'run a handler that is not idempotent', false)
    .option('--allow-unknown-handler', 'wait for a worker that knows the handler', false);
}

/** The help of an option cannot write a bigint by itself. */
function limit(flags: string, description: string, byDefault: bigint): Option {
  return new Option(flags, description).argParser(count).default(byDefault, byDefault.toString());
}

/** Up to now, unless the caller says otherwise. */
export function requestOf(jobId: string, options: RequestCliOptions): JobRequested {
  return newRequest({
    jobId,
    topic: options.topic,
    handler: options.handler,
    parameters: options.param,
    from: options.from,
    ordering: options.ordering,
    chunkRecords: options.chunk,
    chunkBytes: options.chunkBytes,
    rangesPerPartition: options.rangesPerPartition,
    concurrency: options.concurrency,
    rate: options.rate,
    attempts: options.attempts,
    parkedMax: options.parkedMax,
    onExhausted: ON_EXHAUSTED[options.onExhausted],
    deadLettersMax: options.maxDeadLetters,
    budget: { secondsMax: options.maxSeconds, chunksMax: options.maxChunks, failuresMax: options.maxFailures },
    onLost: options.onLost,
    holdForAuditMs: options.holdForAudit,
    acceptDuplicates: options.acceptDuplicates,
    priority: options.priority,
    note: options.note,
    requestedBy: actor(),
  });
}

export function tellSubmitted({ terminal, format }: Context, request: JobRequested, answer: SubmitAnswer): ExitCode {
  const { jobId } = request;
  switch (answer.kind) {
    case 'accepted': {
      const { state, created } = answer;
      printOne(terminal, format, { ...jobJson({ state }), created }, () => [
        created ? `${jobId}  ${stateText(state)}` : `${jobId}  ${stateText(state)}; the same job was requested before`,
        ...(state.pin === null ? [] : ['covered is start < offset <= end', ...windowLines(state.pin.partitions)]),
      ]);
      return ExitCode.ok;
    }
    case 'requested':
      printOne(terminal, format, { jobId, state: 'REQUESTED' }, () => [`${jobId}  requested`]);
      return ExitCode.ok;
    case 'unanswered':
      return fail(
        ExitCode.timedOut,
        `job ${jobId} is requested, but no distributor answered within ${answer.waitedMs / 1000} s; it is pinned as soon as one runs: "tidemark distributor"`,
      );
    case 'refused':
      return fail(exitCodeOfReason(answer.state.reason), `job ${jobId} was refused: ${answer.state.reason}`);
    case 'invalid':
      return fail(ExitCode.usage, answer.faults.join('; '));
    case 'target refused':
      return fail(exitCodeOfReason(`${answer.code}:`), answer.reason);
    case 'unknown handler':
      return fail(ExitCode.notFound, unknownHandler(request.handler, answer.known));
    case 'not idempotent':
      return fail(
        ExitCode.usage,
        `handler ${request.handler} is not idempotent, and after a crash a chunk is handled again; --accept-duplicates consents to that`,
      );
    case 'other content':
      return fail(
        ExitCode.conflict,
        `job ${jobId} exists with other content and is ${stateText(answer.state)}; "tidemark job show ${jobId}" shows it, another --id makes another job`,
      );
    case 'unknown topic':
    case 'malformed':
    case 'window refused':
      orFail(answer);
      return ExitCode.failed;
    default:
      return assertNever(answer);
  }
}

function unknownHandler(handler: string, known: readonly string[]): string {
  const others = known.length === 0 ? 'no worker runs' : `known are ${known.join(', ')}`;
  return `no worker has announced a handler ${handler} (${others}); "tidemark worker --handlers FILE" runs one, --allow-unknown-handler waits for it`;
}

/** Parses `--param`, which may be repeated. */
export function parameter(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be name=value.');
  return { ...before, [name]: value };
}

/** The distributor names what is wrong by a code in front. */
export function exitCodeOfReason(reason: string): ExitCode {
  const code = /^([A-Z_]+):/.exec(reason)?.[1];
  if (code === 'TOPIC_NOT_FOUND' || code === TargetRefusal.missing) return ExitCode.notFound;
  if (code === TargetRefusal.partitions || code === TargetRefusal.own) return ExitCode.usage;
  const refusal = Object.values(WindowRefusal).find((known) => known === code);
  return refusal === undefined ? ExitCode.failed : exitCodeOfRefusal(refusal);
}
