/** `tidemark outbox install | attach | detach | bootstrap | status`: which tables are projected into which topics. */
import {
  BOOTSTRAP_BACKLOG_ROWS,
  BOOTSTRAP_PATIENCE_MS,
  BOOTSTRAP_ROWS,
  BOOTSTRAP_ROWS_MAX,
  type Bootstrap,
} from '@tidemark/outbox';
import { attachTable, detachTable, installOutbox } from '@tidemark/outbox/postgres';
import type { Command } from 'commander';
import type { Client } from 'pg';
import { seconds, wholeNumber } from '../arguments.ts';
import { type Context, confirmed, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { printOne } from '../output.ts';
import { withPostgres } from '../postgres.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import {
  type BootstrapCliOptions,
  bootstrapBy,
  bootstrapJson,
  outcomeOf,
  runBootstrap,
  showAttached,
} from './outbox-bootstrap.ts';
import { unknownTopic } from './window.ts';

interface AttachCliOptions extends Pick<CommonOptions, 'dryRun'> {
  readonly topic: string;
  readonly createTopic?: number;
  readonly key?: readonly string[];
  readonly type?: string;
  readonly appendOnly: boolean;
  readonly bootstrap: boolean;
}

type DetachCliOptions = Pick<CommonOptions, 'dryRun' | 'yes'>;

export function registerOutbox(program: Command, { group, command, run }: Registrar): void {
  const outbox = group(program, 'outbox', 'project tables of Postgres into topics');
  run(
    command(outbox, 'install', 'create or update the outbox schema (named by TIDEMARK_NAMESPACE)', ['dryRun']),
    (context, _: [], options: Pick<CommonOptions, 'dryRun'>) => install(context, options),
  );
  const attach = command(outbox, 'attach <table>', 'capture every committed change of a table', ['dryRun'])
    .requiredOption('--topic <name>', 'where the rows go; it must exist')
    .option('--create-topic <partitions>', 'create the topic first, with so many partitions', wholeNumber({ min: 1 }))
    .option('--key <column...>', 'columns that identify a row; the primary key when left out')
    .option('--type <name>', 'type of the events; schema.table when left out')
    .option('--append-only', 'rows are only ever inserted: UPDATE and DELETE are refused from now on', false)
    .option('--bootstrap', 'then tell the rows that the table has already', false);
  run(attach, (context, [table]: [string], options: AttachCliOptions) => attachBy(context, table, options));
  run(
    command(outbox, 'detach <table>', 'capture no further changes of a table; what is captured is still published', [
      'dryRun',
      'yes',
    ]),
    (context, [table]: [string], options: DetachCliOptions) => detach(context, table, options),
  );
  const bootstrap = command(
    outbox,
    'bootstrap <table>',
    'tell the rows that an attached table had before; stopped or crashed, it goes on where it stands',
  )
    .option('--rows <n>', 'rows of one transaction', wholeNumber({ min: 1, max: BOOTSTRAP_ROWS_MAX }), BOOTSTRAP_ROWS)
    .option(
      '--backlog <rows>',
      'wait while more rows wait for the relay',
      wholeNumber({ min: 1 }),
      BOOTSTRAP_BACKLOG_ROWS,
    )
    .option('--patience <seconds>', 'give up after so long without a step', seconds, BOOTSTRAP_PATIENCE_MS)
    .option('--restart', 'tell all rows again', false);
  run(bootstrap, (context, [table]: [string], options: BootstrapCliOptions) => bootstrapBy(context, table, options));
  run(command(outbox, 'status', 'which tables are attached, and how far their bootstraps are'), showAttached);
}

async function install(context: Context, { dryRun }: Pick<CommonOptions, 'dryRun'>): Promise<void> {
  const namespace = context.effective.config.TIDEMARK_NAMESPACE;
  await withPostgres(context, async (client) => {
    if (dryRun) {
      const { rows } = await client.query<{ present: boolean }>('select to_regnamespace($1) is not null as present', [
        namespace,
      ]);
      tell(
        context,
        { namespace, dryRun },
        `would ${rows[0]?.present === true ? 'check and update' : 'create'} the schema ${namespace}; nothing was changed`,
      );
      return;
    }
    const applied = await installOutbox(client, { namespace });
    tell(
      context,
      { namespace, applied },
      applied.length === 0
        ? `the outbox in schema ${namespace} is up to date`
        : `the outbox in schema ${namespace} is installed: ${applied.join(', ')}`,
    );
  });
}

/** Jobs read the log when they like; a retention of time would remove records before they come. */
const CREATED_TOPIC_CONFIGS = { 'retention.ms': '-1', 'retention.bytes': '-1' } as const;

const BOOTSTRAP_DEFAULTS: BootstrapCliOptions = {
  rows: BOOTSTRAP_ROWS,
  backlog: BOOTSTRAP_BACKLOG_ROWS,
  patience: BOOTSTRAP_PATIENCE_MS,
  restart: false,
};

async function attachBy(context: Context, table: string, options: AttachCliOptions): Promise<ExitCode> {
  const { TIDEMARK_NAMESPACE: namespace, TIDEMARK_REPLICATION_FACTOR: replicationFactor } = context.effective.config;
  const { topic, dryRun } = options;
  const wish = {
    namespace,
    table,
    topic,
    appendOnly: options.appendOnly,
    ...(options.key === undefined ? {} : { keyColumns: options.key }),
    ...(options.type === undefined ? {} : { eventType: options.type }),
  };
  const told = await withLog(context, ['kafka'], async ({ cluster }) => {
    // The relay would stop over rows of a topic that is not there; only an explicit wish creates one.
    const isThere = (await cluster.catalog.describe(topic)) !== undefined;
    const { createTopic } = options;
    if (!isThere && createTopic === undefined)
      fail(ExitCode.notFound, `${unknownTopic(topic)}; --create-topic creates it`);
    return withPostgres(context, async (client) => {
      // Tried before the topic is made: a table that is refused must not leave one behind.
      if (dryRun || !isThere) await triedOut(client, () => attachTable(client, wish));
      if (dryRun) return undefined;
      if (!isThere && createTopic !== undefined)
        await cluster.catalog.ensure({
          topic,
          partitionCount: createTopic,
          replicationFactor,
          configs: CREATED_TOPIC_CONFIGS,
        });
      await attachTable(client, wish);
      return options.bootstrap ? runBootstrap(context, client, table, BOOTSTRAP_DEFAULTS) : undefined;
    });
  });
  printOne(
    context.terminal,
    context.format,
    { table, topic, dryRun, ...(told === undefined ? {} : { bootstrap: bootstrapJson(told) }) },
    () =>
      dryRun ? [`could attach ${table} to topic ${topic}; nothing was changed`] : attachedLines(table, topic, told),
  );
  return told?.finishedAtMs === null ? ExitCode.failed : ExitCode.ok;
}

function attachedLines(table: string, topic: string, told: Bootstrap | undefined): readonly string[] {
  return [
    `${table} is attached to topic ${topic}`,
    told === undefined ? `rows that it has already: "tidemark outbox bootstrap ${table}" tells them` : outcomeOf(told),
  ];
}

async function detach(context: Context, table: string, { yes, dryRun }: DetachCliOptions): Promise<void> {
  const namespace = context.effective.config.TIDEMARK_NAMESPACE;
  if (!dryRun) await confirmed(context, `Capture no further changes of ${table}?`, yes);
  await withPostgres(context, (client) => {
    const work = (): Promise<void> => detachTable(client, { namespace, table });
    return dryRun ? triedOut(client, work) : work();
  });
  tell(context, { table, dryRun }, dryRun ? `could detach ${table}; nothing was changed` : `${table} is detached`);
}

/** Does it and takes it back. */
async function triedOut(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
  } finally {
    await client.query('rollback');
  }
}

function tell({ terminal, format }: Context, value: object, line: string): void {
  printOne(terminal, format, value, () => [line]);
}
