/** `tidemark deadletter redrive`: a bounded job over the dead letters of a topic, which hands them over as the records they are of. */
import { randomUUID } from 'node:crypto';
import type { JobRequested } from '@tidemark/contracts';
import { FormerTopic, plainText, planRedrive, type RedriveCount, type RedrivePlan, submitJob } from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import {
  deadLetterTopic,
  isSameContent,
  LetterParameter,
  newRequest,
  Ordering,
  REPUBLISH,
  shownParameters,
} from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import { type Command, Option } from 'commander';
import { count, int32 } from '../arguments.ts';
import { actor, type Context, confirmed, withConnections } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { unknownJob } from '../job-output.ts';
import { ROUNDS_MAX_DEFAULT } from '../limits.ts';
import { printOne } from '../output.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import { classOption } from './dead-letter-options.ts';
import { parameter, tellSubmitted } from './job-submit.ts';

interface RedriveOptions extends CommonOptions {
  readonly job?: string;
  readonly class?: string;
  readonly handler?: string;
  readonly param: Readonly<Record<string, string>>;
  readonly id?: string;
  readonly ordering: string;
  readonly rate: number;
  readonly maxRounds: number;
  readonly maxDeadLetters?: bigint;
  readonly acceptDuplicates: boolean;
  readonly recreated: FormerTopic;
}

export function registerRedrive(root: Command, { command, run }: Registrar): void {
  const redrive = command(root, 'redrive <topic>', 'hand dead letters to a handler again, as a job of its own', [
    'dryRun',
    'reason',
    'yes',
  ])
    .option('--job <id>', 'only those of one job; its handler and parameters are taken')
    .addOption(classOption())
    .option('--handler <name>', 'who gets them; must be named without --job')
    .option('--param <name=value>', 'handed to the handler; may be repeated', parameter, {})
    .option('--id <id>', 'of the new job; drawn when left out')
    .addOption(
      new Option('--ordering <kind>', 'what must not run at the same time within a chunk')
        .choices(Object.values(Ordering))
        .default(Ordering.key),
    )
    .option('--rate <records>', 'records a second, over all workers; 0 = no limit', int32({ min: 0 }), 0)
    .option(
      '--max-rounds <count>',
      'leave alone what was dead-lettered so often',
      int32({ min: 1 }),
      ROUNDS_MAX_DEFAULT,
    )
    .option('--max-dead-letters <count>', 'more that fail again suspend the job', count)
    .option('--accept-duplicates', 'run a handler that is not idempotent', false)
    .addOption(
      new Option('--recreated <what>', 'letters of a topic that was deleted or created again since they were written')
        .choices(Object.values(FormerTopic))
        .default(FormerTopic.refuse),
    );
  run(redrive, (context, [topic]: [string], options: RedriveOptions) =>
    withConnections(context, (connections) => redriveTopic(context, connections, topic, options)),
  );
}

async function redriveTopic(
  context: Context,
  connections: Connections,
  topic: string,
  options: RedriveOptions,
): Promise<ExitCode> {
  const { terminal } = context;
  const asked = await requestOf(connections, topic, options);
  const repeated = options.dryRun ? undefined : await sameWish(connections, asked);
  if (repeated !== undefined)
    return tellSubmitted(context, repeated, await submitJob(connections, repeated, { signal: terminal.signal }));
  const question = { topic, parameters: asked.parameters, former: options.recreated };
  const plan = await planRedrive(connections.cluster, question, terminal.signal);
  if (plan.kind !== 'planned') return refused(topic, plan);
  const { count: found } = plan;
  const request = { ...asked, parameters: plan.parameters, to: plan.to };
  if (options.dryRun) {
    const shown = { ...request, parameters: shownParameters(request.parameters) };
    printOne(terminal, context.format, { jobId: request.jobId, dryRun: true, ...found, request: shown }, () =>
      dryRunLines(topic, request, found),
    );
    return ExitCode.ok;
  }
  if (found.letters === 0)
    fail(ExitCode.notFound, `no dead letter of ${topic} is asked for; "tidemark deadletter list ${topic}" shows all`);
  await confirmed(
    context,
    `Hand ${found.letters} dead letters of ${topic} to handler ${request.handler} again?`,
    options.yes,
  );
  for (const line of leftLines(found)) terminal.note(line);
  return tellSubmitted(context, request, await submitJob(connections, request, { signal: terminal.signal }));
}

function refused(topic: string, plan: Exclude<RedrivePlan, { readonly kind: 'planned' }>): never {
  switch (plan.kind) {
    case 'topic missing':
      return fail(
        ExitCode.notFound,
        `topic ${topic} does not exist any more, and ${plan.letters} letters are of its records: "tidemark deadletter export ${topic}" keeps them; --recreated take hands them over all the same`,
      );
    case 'topic recreated':
      return fail(
        ExitCode.conflict,
        `${plan.letters} letters are of a topic ${topic} that was deleted and created again since: the same offsets name other records now, and a sink may take one for the other. --recreated leave leaves them where they are, --recreated take hands them over all the same`,
      );
    case 'too many repeats':
      return fail(
        ExitCode.conflict,
        `${plan.records} records of ${topic} have several letters, more than one request can name: redrive them by --job or --class, the newest job first`,
      );
    case 'cut short':
      return fail(
        ExitCode.unavailable,
        `partition ${plan.partition} of ${deadLetterTopic(topic)} cannot be read: ${plan.reason}`,
      );
    default:
      return assertNever(plan);
  }
}

function dryRunLines(topic: string, request: JobRequested, found: RedriveCount): readonly string[] {
  const { handler, parameters } = request;
  const target = handler === REPUBLISH ? ` (to topic ${parameters['topic'] ?? ''})` : '';
  return [
    `would hand ${found.letters} dead letters of ${topic} to handler ${handler}${target}; nothing was requested`,
    ...(found.letters === 0 ? [] : [`by class   ${amounts(found.byClass)}`, `by round   ${amounts(found.byRound)}`]),
    ...(found.edited === 0 ? [] : [`edited     ${found.edited} corrected copies are among them`]),
    ...leftLines(found),
  ];
}

function amounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, amount]) => `${plainText(what)}: ${amount}`)
    .join(', ');
}

/** What stays where it is, and why. */
function leftLines({ pointers, tooOften, replaced, former }: RedriveCount): readonly string[] {
  const lines: readonly (readonly [number, string])[] = [
    [pointers, 'hold no record, which was too large for their topic'],
    [tooOften, 'were dead-lettered as often as --max-rounds says'],
    [replaced, 'are of records of which a later letter or a corrected copy counts'],
  ];
  return [
    ...lines.flatMap(([left, why]) => (left === 0 ? [] : [`${left} more ${why}: they are left where they are`])),
    ...(former === 0 ? [] : [`${former} are of a topic that was deleted or created again since`]),
  ];
}

async function requestOf({ jobLog }: Connections, topic: string, options: RedriveOptions): Promise<JobRequested> {
  const former =
    options.job === undefined ? undefined : ((await jobLog.states()).get(options.job) ?? unknownJob(options.job));
  const handler = options.handler ?? former?.request.handler;
  if (handler === undefined)
    return fail(ExitCode.usage, 'name who gets the letters: --handler, or --job for the handler of that job');
  // Parameters and consent were given for that handler, and mean nothing to another one.
  const isSameHandler = handler === former?.request.handler;
  return newRequest({
    jobId: options.id ?? `redrive-${randomUUID()}`,
    topic: deadLetterTopic(topic),
    handler,
    parameters: {
      ...(isSameHandler ? withoutLetters(former.request.parameters) : {}),
      ...options.param,
      ...(options.job === undefined ? {} : { [LetterParameter.job]: options.job }),
      ...(options.class === undefined ? {} : { [LetterParameter.faultClass]: options.class }),
      [LetterParameter.roundsMax]: String(options.maxRounds),
    },
    ordering: options.ordering,
    rate: options.rate,
    acceptDuplicates: options.acceptDuplicates || (isSameHandler && former.request.acceptDuplicates),
    note: options.reason,
    requestedBy: actor(),
    ...(options.maxDeadLetters === undefined ? {} : { deadLettersMax: options.maxDeadLetters }),
  });
}

/** The job of this id, if it was asked for with these words: which letters there were then is no part of the wish. */
async function sameWish({ jobLog }: Connections, asked: JobRequested): Promise<JobRequested | undefined> {
  const present = (await jobLog.states()).get(asked.jobId)?.request;
  if (present === undefined) return undefined;
  const { [LetterParameter.newest]: _newest, [LetterParameter.topicId]: _topicId, ...parameters } = present.parameters;
  return isSameContent(asked, { ...present, parameters, to: asked.to }) ? present : undefined;
}

/** Which letters a former redrive was about says nothing of this one. */
function withoutLetters(parameters: JobRequested['parameters']): JobRequested['parameters'] {
  const names: ReadonlySet<string> = new Set(Object.values(LetterParameter));
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.has(name)));
}
