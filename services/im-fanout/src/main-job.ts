/**
 * `npm start`: the whole way once, on real services. Table -> outbox -> relay -> topic -> job event -> distributor ->
 * ranges -> workers -> handler -> inbox, and then the proof that the numbers add up. Exit 0 only when they do.
 */
import { parseArgs } from 'node:util';
import {
  createPaceMeter,
  describeCount,
  describeProgress,
  isOver,
  JobVerdict,
  type JobView,
  jobVerdictOf,
  watchJob,
} from '@tidemark/control';
import { type Connections, connect } from '@tidemark/control/connect';
import { describeError, isOutage, TidemarkError } from '@tidemark/keyspace';
import type { Environment } from '@tidemark/observability';
import { StackError, up } from '@tidemark/stack';
import { Client, Pool } from 'pg';
import { processEnvironment, readMainJobConfig } from './config.ts';
import { createApplication, postThePlan, requestFanOut } from './main-job/application.ts';
import { CRASH_SLOTS, type Crashes, judgeRepeats, planCrashes } from './main-job/crash.ts';
import { assertProgramsAlive, startPrograms } from './main-job/programs.ts';
import { awaitPublished, reconcile } from './main-job/reconcile.ts';
import { report, whereToLookNext } from './main-job/report.ts';
import { forgetOldRuns, namesOfRun, type RunNames } from './main-job/run-names.ts';
import { processScreen, type Screen } from './main-job/screen.ts';
import { keepPosting } from './posting.ts';
import { expectedDelivery, MAIN_JOB_SIZE, planWorld } from './world.ts';

/** Any number would do; the same one makes every run the same. */
const SEED = 20_261_129;
const POOL_CONNECTIONS = 5;
/** Posting goes on while the job runs: 40 messages a second. */
const POST_EVERY_MS = 25;
/** A run takes half a minute; one that takes ten times as long hangs. */
const JOB_TIMEOUT_MS = 300_000;
/** How often a log without a reader gets a line. */
const PLAIN_LINE_EVERY_MS = 3_000;

async function main(screen: Screen, { crash }: { readonly crash: boolean }): Promise<boolean> {
  const names = namesOfRun(new Date());
  screen.line('Tidemark: one job over a real log, end to end');
  screen.line('');
  const stack = await screen.step(
    'services',
    (progress) => up({ onProgress: progress }),
    ({ kafka, mode }) => `Kafka at ${kafka}, Postgres, Redis, schema registry: ${mode}`,
  );
  const addresses = {
    TIDEMARK_KAFKA: stack.kafka,
    TIDEMARK_REDIS: stack.redis,
    TIDEMARK_POSTGRES: stack.postgres,
    TIDEMARK_REGISTRY: stack.registry,
  };
  const slots = crash ? { TIDEMARK_SLOTS: String(CRASH_SLOTS) } : {};
  const env: Environment = { ...processEnvironment(), ...addresses, ...slots };
  const config = readMainJobConfig(env);
  // The local login is in the README; a given one may be a secret.
  const psql = stack.mode === 'given' ? 'psql "$TIDEMARK_POSTGRES"' : `psql ${stack.postgres}`;
  const connections = await connect({
    kafka: config.TIDEMARK_KAFKA,
    redisUrl: config.TIDEMARK_REDIS,
    registryUrl: config.TIDEMARK_REGISTRY,
    namespace: config.TIDEMARK_NAMESPACE,
    clientId: 'main-job',
  });
  const client = new Client({ connectionString: config.TIDEMARK_POSTGRES, application_name: 'main-job' });
  const pool = new Pool({
    connectionString: config.TIDEMARK_POSTGRES,
    max: POOL_CONNECTIONS,
    application_name: 'messenger',
  });
  pool.on('error', () => {}); // the next query hears of a broken connection
  try {
    await client.connect();
    return await runJob({ screen, names, connections, client, pool, env, psql, crash });
  } finally {
    await pool.end();
    await client.end();
    await connections.close();
  }
}

interface Run {
  readonly screen: Screen;
  readonly names: RunNames;
  readonly connections: Connections;
  readonly client: Client;
  readonly pool: Pool;
  readonly env: Environment;
  readonly psql: string;
  readonly crash: boolean;
}

async function runJob(run: Run): Promise<boolean> {
  const { screen, names, connections, client, pool, env } = run;
  const { namespace } = connections;
  const { schema } = names;
  const world = planWorld(MAIN_JOB_SIZE, SEED);
  const expected = expectedDelivery(world);

  const topic = await screen.step(
    'tables',
    async () => {
      const created = await createApplication(connections, client, { names, world, replicationFactor: 1 });
      await forgetOldRuns(client, namespace);
      return created;
    },
    () =>
      `${describeCount(MAIN_JOB_SIZE.users)} users, ${MAIN_JOB_SIZE.groups} groups of 2 to ${describeCount(MAIN_JOB_SIZE.groupLargest)} in schema ${schema}`,
  );
  await screen.step(
    'programs',
    () => startPrograms(env),
    (started) => `${started.map(({ name, pid }) => `${name} (${pid})`).join(', ')}; logs in .stack/logs`,
  );
  await screen.step(
    'messages',
    () => postThePlan(pool, client, { schema, world, seed: SEED }),
    ({ committed, rolledBack }) =>
      `${describeCount(committed)} posted and ${describeCount(rolledBack)} rolled back; ${world.recalled.length} recalled, ${world.left.length} members left, ${world.muted.length} muted`,
  );
  const posting = keepPosting(pool, { schema, world, everyMs: POST_EVERY_MS });
  try {
    await screen.step(
      'request',
      () => requestFanOut(client, { namespace, names, world }),
      () => `job ${names.jobId}, as an event inside a business transaction`,
    );
    const crashes = run.crash ? planCrashes(screen, env) : undefined;
    const view = await follow(run, crashes);
    await crashes?.settled();
    const later = await posting.stop();
    const hasEnded = view !== undefined && isOver(jobVerdictOf(view.state));
    if (!hasEnded || view.state.pin === null) return tellUnfinished(screen, names, view);
    screen.line(`  ${'job'.padEnd(12)}${summaryOf(view, expected.inboxRows)}`);
    screen.line(
      `  ${'meanwhile'.padEnd(12)}${describeCount(later.committed)} more messages posted, ${describeCount(later.rolledBack)} rolled back`,
    );
    await awaitPublished(connections.cluster, client, { schema, topic });
    const reconciliation = await reconcile(connections.cluster, client, {
      schema,
      jobId: names.jobId,
      topic,
      pin: view.state.pin,
      planned: { messages: MAIN_JOB_SIZE.messages, ...expected },
    });
    const repeats =
      crashes === undefined
        ? undefined
        : await judgeRepeats(client, {
            schema,
            jobId: names.jobId,
            redisLostAt: crashes.redisLostAt,
            missed: crashes.missed,
          });
    const addsUp = report(screen, { names, view, reconciliation, repeats });
    whereToLookNext(screen, names, run.psql);
    screen.line('');
    screen.line(
      addsUp
        ? `Everything adds up: ${describeCount(reconciliation.inboxRows)} inbox rows, none missing, none twice.`
        : 'NOT everything adds up: see WRONG above, and the logs in .stack/logs.',
    );
    return addsUp && jobVerdictOf(view.state) === JobVerdict.clean;
  } finally {
    await posting.stop().catch(() => {});
  }
}

/** Shows the progress until the job is over or needs a person. */
async function follow({ screen, names, connections }: Run, crashes: Crashes | undefined): Promise<JobView | undefined> {
  const meter = createPaceMeter();
  let toldAtMs = Number.NEGATIVE_INFINITY;
  screen.live(`  ${'job'.padEnd(12)}waiting for the window to be pinned`);
  const onView = (view: JobView): void => {
    crashes?.onView(view);
    if (crashes?.isUnderWay !== true) assertProgramsAlive();
    const nowMs = performance.now();
    const text = `  ${'job'.padEnd(12)}${describeProgress(view.progress, meter.observe(nowMs, view.progress), { bar: screen.isInteractive })}`;
    if (screen.isInteractive) screen.live(text);
    else if (nowMs - toldAtMs >= PLAIN_LINE_EVERY_MS && !isOver(jobVerdictOf(view.state))) {
      screen.line(text);
      toldAtMs = nowMs;
    }
  };
  const signal = AbortSignal.timeout(JOB_TIMEOUT_MS);
  const until = (verdict: JobVerdict): boolean => isOver(verdict) || verdict === JobVerdict.suspended;
  for (;;) {
    try {
      return await watchJob(connections, { jobId: names.jobId, signal, onView, until });
    } catch (error) {
      // The store may be away for longer than a call is patient, but only when it was taken away on purpose.
      if (crashes?.isUnderWay !== true || !isOutage(error)) throw error;
    }
  }
}

function summaryOf({ state, progress }: JobView, inboxRows: number): string {
  const tookMs = state.pin === null ? 0 : Number(state.updatedAtMs - state.pin.pinnedAtMs);
  const perSecond = (count: number): string => describeCount(count / Math.max(0.001, tookMs / 1000));
  return `${state.state} (${state.reason}) in ${(tookMs / 1000).toFixed(1)} s from pin to end: ${perSecond(Number(progress.offsetsTotal))} offsets/s, ${perSecond(inboxRows)} inbox rows/s`;
}

function tellUnfinished(screen: Screen, { jobId }: RunNames, view: JobView | undefined): boolean {
  const where =
    view === undefined
      ? 'was not answered by the distributor'
      : `is ${view.state.state}${view.state.reason === '' ? '' : ` (${view.state.reason})`}`;
  screen.line(
    `  job ${jobId} ${where} and is not over; "npx tidemark job show ${jobId}" shows it, the logs are in .stack/logs`,
  );
  return false;
}

const screen = processScreen();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    screen.line(`stopped by ${name}; what was started keeps running until "npx tidemark down"`);
    process.exit(130);
  });
}
try {
  const { values } = parseArgs({ options: { crash: { type: 'boolean', default: false } } });
  process.exitCode = (await main(screen, values)) ? 0 : 1;
} catch (error) {
  screen.live('');
  const expected = error instanceof TidemarkError || error instanceof StackError;
  process.stderr.write(`npm start: ${expected ? '' : 'internal error: '}${describeError(error)}\n`);
  process.exitCode =
    error instanceof StackError || (error instanceof TidemarkError && error.class === 'unavailable') ? 6 : 1;
}
