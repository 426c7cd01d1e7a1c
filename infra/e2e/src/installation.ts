/** One installation of Tidemark for one test: a database and a namespace of its own, and its programs as processes. */
import { createCodec } from '@tidemark/contracts/registry';
import type { JobLog } from '@tidemark/jobs';
import { createJobLog } from '@tidemark/jobs/kafka';
import type { LogCluster } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { installOutbox } from '@tidemark/outbox/postgres';
import {
  environmentOf,
  type SpawnedProgram,
  services,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
} from '@tidemark/testkit';
import pg from 'pg';
import { onTestFailed, onTestFinished } from 'vitest';

/** Short, so that a killed owner's range is soon another's. */
const LEASE_TTL_MS = 3_000;
/** Of each program when a test failed. */
const LINES_SHOWN = 25;

export interface TestInstallation {
  readonly namespace: string;
  readonly databaseUrl: string;
  readonly client: pg.Client;
  readonly cluster: LogCluster;
  readonly jobLog: JobLog;
  /** Ends with the test, if not before. */
  program(name: 'relay' | 'distributor' | 'worker', env?: NodeJS.ProcessEnv): SpawnedProgram;
}

/** What it opened and created is gone when the test is finished; topics stay, under names that nobody else uses. */
export async function openInstallation(name: string): Promise<TestInstallation> {
  const { kafka, postgres, registry } = services();
  const namespace = uniqueNamespace(name);
  const database = uniqueName(name).replaceAll(/[^a-z0-9]/g, '_');
  const admin = await connected(postgres);
  await admin.query(`create database ${database}`);
  const databaseUrl = Object.assign(new URL(postgres), { pathname: `/${database}` }).href;
  const client = await connected(databaseUrl);
  await installOutbox(client, { namespace });
  const cluster = createKafkaCluster({ brokers: kafka.split(','), clientId: name });
  const jobLog = createJobLog({ cluster, codec: createCodec({ registryUrl: registry }), namespace });
  const programs: SpawnedProgram[] = [];
  onTestFailed(() => {
    for (const { pid, lines } of programs)
      console.error(`process ${pid} last said:\n${lines.slice(-LINES_SHOWN).join('\n')}`);
  });
  onTestFinished(async () => {
    await Promise.all(programs.map((program) => program.kill('SIGKILL')));
    await jobLog.close();
    await cluster.close();
    await client.end();
    await admin.query(`drop database ${database} with (force)`);
    await admin.end();
  });
  return {
    namespace,
    databaseUrl,
    client,
    cluster,
    jobLog,
    program(program, env = {}) {
      const spawned = spawnProgram({
        script: `services/${program}/src/main.ts`,
        env: {
          ...environmentOf(namespace, { postgres: databaseUrl }),
          TIDEMARK_LEASE_TTL_MS: String(LEASE_TTL_MS),
          ...env,
        },
      });
      programs.push(spawned);
      return spawned;
    },
  };
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
