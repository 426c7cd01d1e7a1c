/** `tidemark deadletter redrive`: a bounded job over the dead letters of a topic, which hands them over as the records they are of. */
import type { JobRequested, JobState } from '@tidemark/contracts';
import {
  describeRedriveRefusal,
  FormerTopic,
  leftByRedrive,
  plainText,
  planRedrive,
  type RedriveCount,
  type RedrivePlan,
  redriveRequest,
  sameRedrive,
  submitJob,
} from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import { Ordering, REPUBLISH, shownParameters } from '@tidemark/jobs';
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
  const states = await connections.jobLog.states();
  const asked = requestOf(states, topic, options);
  const repeated = options.dryRun ? undefined : sameRedrive(states, asked);
  if (repeated !== undefined)
    return tellSubmitted(context, repeated, await submitJob(connections, repeated, { signal: terminal.signal }));
  const question = { topic, parameters: asked.parameters, former: options.recreated };
  const plan = await planRedrive(connections.cluster, question, terminal.signal);
  if (plan.kind !== 'planned')
    return fail(EXIT_CODES[plan.kind] ?? ExitCode.conflict, describeRedriveRefusal(topic, plan));
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
  for (const line of leftByRedrive(found)) terminal.note(line);
  return tellSubmitted(context, request, await submitJob(connections, request, { signal: terminal.signal }));
}

/** Of refusals; all others are conflicts with what is there. */
const EXIT_CODES: Readonly<Partial<Record<RedrivePlan['kind'], ExitCode>>> = {
  'topic missing': ExitCode.notFound,
  'cut short': ExitCode.unavailable,
};

function dryRunLines(topic: string, request: JobRequested, found: RedriveCount): readonly string[] {
  const { handler, parameters } = request;
  const target = handler === REPUBLISH ? ` (to topic ${parameters['topic'] ?? ''})` : '';
  return [
    `would hand ${found.letters} dead letters of ${topic} to handler ${handler}${target}; nothing was requested`,
    ...(found.letters === 0 ? [] : [`by class   ${amounts(found.byClass)}`, `by round   ${amounts(found.byRound)}`]),
    ...(found.edited === 0 ? [] : [`edited     ${found.edited} corrected copies are among them`]),
    ...leftByRedrive(found),
  ];
}

function amounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, amount]) => `${plainText(what)}: ${amount}`)
    .join(', ');
}

function requestOf(states: ReadonlyMap<string, JobState>, topic: string, options: RedriveOptions): JobRequested {
  const answer = redriveRequest(states, {
    topic,
    job: options.job,
    faultClass: options.class,
    handler: options.handler,
    parameters: options.param,
    id: options.id,
    ordering: options.ordering,
    rate: options.rate,
    roundsMax: options.maxRounds,
    deadLettersMax: options.maxDeadLetters,
    acceptDuplicates: options.acceptDuplicates,
    reason: options.reason,
    actor: actor(),
  });
  if (answer.kind === 'request') return answer.request;
  if (answer.kind === 'unknown job') return unknownJob(answer.jobId);
  return fail(ExitCode.usage, 'name who gets the letters: --handler, or --job for the handler of that job');
}
