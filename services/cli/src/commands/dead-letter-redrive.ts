/** `tidemark deadletter redrive`: a bounded job over the dead letters of a topic, which hands them over as the records they are of. */
import { randomUUID } from 'node:crypto';
import type { JobRequested } from '@tidemark/contracts';
import { deadLetters, letterTopic, submitJob } from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import { deadLetterTopic, LetterParameter, newRequest, Ordering } from '@tidemark/jobs';
import { type Command, Option } from 'commander';
import { count, int32 } from '../arguments.ts';
import { actor, type Context, confirmed, withConnections } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { unknownJob } from '../job-output.ts';
import { ROUNDS_MAX_DEFAULT } from '../limits.ts';
import { printOne } from '../output.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import { tellSubmitted } from './job-submit.ts';

interface RedriveOptions extends CommonOptions {
  readonly job?: string;
  readonly class?: string;
  readonly handler?: string;
  readonly id?: string;
  readonly ordering: string;
  readonly rate: number;
  readonly maxRounds: number;
  readonly maxDeadLetters?: bigint;
}

export function registerRedrive(root: Command, { command, run }: Registrar): void {
  const redrive = command(root, 'redrive <topic>', 'hand dead letters to a handler again, as a job of its own', [
    'dryRun',
    'reason',
    'yes',
  ])
    .option('--job <id>', 'only those of one job; its handler and parameters are taken')
    .option('--class <word>', 'only those of one class of faults: data, transient or timeout')
    .option('--handler <name>', 'who gets them; must be named without --job')
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
    .option('--max-dead-letters <count>', 'more that fail again suspend the job', count);
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
  const request = await requestOf(connections, topic, options);
  const found = await countLetters(context, connections, topic, options);
  if (options.dryRun) {
    printOne(context.terminal, context.format, { jobId: request.jobId, dryRun: true, ...found, request }, () => [
      `would hand ${found.letters} dead letters of ${topic} to handler ${request.handler}, from ${found.records} records; nothing was requested`,
      ...(found.pointers === 0 ? [] : [pointersLeft(found.pointers)]),
    ]);
    return ExitCode.ok;
  }
  if (found.letters === 0)
    fail(ExitCode.notFound, `no dead letter of ${topic} is asked for; "tidemark deadletter list ${topic}" shows all`);
  await confirmed(
    context,
    `Hand ${found.letters} dead letters of ${topic} to handler ${request.handler} again?`,
    options.yes,
  );
  if (found.pointers > 0) context.terminal.note(pointersLeft(found.pointers));
  return tellSubmitted(context, request, await submitJob(connections, request, { signal: context.terminal.signal }));
}

function pointersLeft(count: number): string {
  return `${count} more hold no record, which was too large for their topic: they are left where they are`;
}

async function requestOf({ jobLog }: Connections, topic: string, options: RedriveOptions): Promise<JobRequested> {
  const former =
    options.job === undefined ? undefined : ((await jobLog.states()).get(options.job) ?? unknownJob(options.job));
  const handler = options.handler ?? former?.request.handler;
  if (handler === undefined)
    return fail(ExitCode.usage, 'name who gets the letters: --handler, or --job for the handler of that job');
  return newRequest({
    jobId: options.id ?? `redrive-${randomUUID()}`,
    topic: deadLetterTopic(topic),
    handler,
    parameters: {
      ...withoutLetters(former?.request.parameters ?? {}),
      ...(options.job === undefined ? {} : { [LetterParameter.job]: options.job }),
      ...(options.class === undefined ? {} : { [LetterParameter.faultClass]: options.class }),
      [LetterParameter.roundsMax]: String(options.maxRounds),
    },
    ordering: options.ordering,
    rate: options.rate,
    acceptDuplicates: former?.request.acceptDuplicates ?? false,
    note: options.reason,
    requestedBy: actor(),
    ...(options.maxDeadLetters === undefined ? {} : { deadLettersMax: options.maxDeadLetters }),
  });
}

/** Which letters a former redrive was about says nothing of this one. */
function withoutLetters(parameters: JobRequested['parameters']): JobRequested['parameters'] {
  const names: ReadonlySet<string> = new Set(Object.values(LetterParameter));
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.has(name)));
}

/** As they are now; the job takes those that are there when it is pinned. */
async function countLetters(
  { terminal }: Context,
  { cluster }: Connections,
  topic: string,
  options: RedriveOptions,
): Promise<{ readonly letters: number; readonly records: number; readonly pointers: number }> {
  const letters = await letterTopic(cluster, topic);
  if (letters === undefined) return { letters: 0, records: 0, pointers: 0 };
  const filter = { jobId: options.job, faultClass: options.class };
  let asked = 0;
  let pointers = 0;
  const records = new Set<string>();
  for await (const item of deadLetters(cluster, letters, filter, terminal.signal)) {
    if (item.kind === 'cut short')
      fail(ExitCode.unavailable, `partition ${item.partition} of ${letters.topic} cannot be read: ${item.reason}`);
    const { origin, form, round } = item.letter;
    if (round >= options.maxRounds) continue;
    if (form === 'pointer') pointers += 1;
    else {
      asked += 1;
      records.add(`${origin.partition}:${origin.offset}`);
    }
  }
  return { letters: asked, records: records.size, pointers };
}
