/** One Kafka process that is broker and controller (KRaft), with settings that suit tests: see the README for what differs from the defaults. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../commands.ts';
import { StackError } from '../errors.ts';
import { startDetached } from '../processes.ts';
import type { LocalService } from './service.ts';

export interface KafkaOptions {
  folder: string;
  logFile: string;
  port: number;
  controllerPort: number;
  /** Folder of the jars, see `ensureKafkaJars`. */
  jars: string;
  java: string;
  heapMegabytes: number;
  /** Further or other lines of server.properties. */
  settings?: Readonly<Record<string, string>>;
}

export function kafkaService(options: KafkaOptions): LocalService {
  const address = `127.0.0.1:${options.port}`;
  const propertiesFile = join(options.folder, 'server.properties');
  return {
    name: 'kafka',
    address,
    ports: [options.port, options.controllerPort],
    logFile: options.logFile,
    async start() {
      mkdirSync(options.folder, { recursive: true });
      writeFileSync(propertiesFile, propertiesText(options));
      await formatOnce(options, propertiesFile);
      return startDetached({
        command: options.java,
        args: [
          ...['-Xms128m', `-Xmx${options.heapMegabytes}m`, '-XX:+UseG1GC', '-XX:+ExitOnOutOfMemoryError'],
          ...javaArguments(options.jars, 'kafka.Kafka'),
          propertiesFile,
        ],
        cwd: options.folder,
        logFile: options.logFile,
      });
    },
    async settle() {},
  };
}

/** For the broker and for every tool in the same jars. */
export function javaArguments(jars: string, mainClass: string): string[] {
  const logging = join(import.meta.dirname, '../../log4j2.properties');
  return ['-Djava.awt.headless=true', `-Dlog4j2.configurationFile=${logging}`, '-cp', `${jars}/*`, mainClass];
}

function propertiesText(options: KafkaOptions): string {
  const lines: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    // A static quorum keeps working when the stack moves to other ports; a dynamic one stores its address.
    'controller.quorum.voters': `1@127.0.0.1:${options.controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${options.port},CONTROLLER://127.0.0.1:${options.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${options.port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': join(options.folder, 'logs'),
    ...BROKER_SETTINGS,
    ...options.settings,
  };
  return `${Object.entries(lines)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;
}

/** docker-compose.yml says the same as KAFKA_* variables; a test compares the two. */
export const BROKER_SETTINGS: Readonly<Record<string, string>> = {
  'auto.create.topics.enable': 'false',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  // Fewer internal partitions: one node gains nothing from fifty and opens files for each.
  'offsets.topic.num.partitions': '5',
  'transaction.state.log.num.partitions': '5',
  'share.coordinator.state.topic.num.partitions': '1',
  // Tests wait for compaction, retention and the abort of hung transactions.
  'log.cleaner.backoff.ms': '1000',
  'log.retention.check.interval.ms': '1000',
  'log.initial.task.delay.ms': '500',
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': '1000',
  'group.initial.rebalance.delay.ms': '0',
  // The default takes 128 MiB of the heap.
  'log.cleaner.dedupe.buffer.size': '16777216',
};

/** The last file that formatting writes tells that it was finished; anything less is wiped and made anew. */
async function formatOnce(options: KafkaOptions, propertiesFile: string): Promise<void> {
  const logs = join(options.folder, 'logs');
  const marker = join(options.folder, 'formatted');
  if (existsSync(marker)) return;
  rmSync(logs, { recursive: true, force: true });
  const clusterId = `T${randomBytes(16).toString('base64url').slice(1)}`; // must not begin with a dash
  const args = [
    ...javaArguments(options.jars, 'kafka.tools.StorageTool'),
    'format',
    '-t',
    clusterId,
    '-c',
    propertiesFile,
  ];
  const result = await run(options.java, ['-XX:TieredStopAtLevel=1', ...args]);
  if (result.code !== 0)
    throw new StackError(`Kafka's storage could not be formatted: ${(result.stderr || result.stdout).trim()}`);
  writeFileSync(marker, `${clusterId}\n`);
}
