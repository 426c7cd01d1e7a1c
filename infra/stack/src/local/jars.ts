/** Kafka and the registry come from Maven Central into a cache that all checkouts of a user share. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { findOnPath, run } from '../commands.ts';
import type { StackConfig } from '../config.ts';
import { aptInstall } from '../debian.ts';
import { StackError } from '../errors.ts';
import { DOWNLOAD_TIMEOUT_MS, KAFKA_VERSION, REGISTRY_VERSION } from '../limits.ts';
import { identify } from '../processes.ts';
import type { OnProgress } from '../progress.ts';

/** A download says something at most this often. */
const PROGRESS_INTERVAL_MS = 2_000;

export function kafkaJars(config: StackConfig): string {
  return join(config.cache, `kafka-${KAFKA_VERSION}`);
}

export function registryApp(config: StackConfig): string {
  return join(config.cache, `apicurio-registry-${REGISTRY_VERSION}`);
}

export async function ensureKafkaJars(config: StackConfig, onProgress: OnProgress): Promise<string> {
  const target = kafkaJars(config);
  await fillOnce(target, async (folder) => {
    const pom = join(import.meta.dirname, '../../pom.xml');
    await maven(
      config,
      ['-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`],
      `Kafka ${KAFKA_VERSION}`,
      onProgress,
    );
  });
  return target;
}

export async function ensureRegistryApp(config: StackConfig, onProgress: OnProgress): Promise<string> {
  const target = registryApp(config);
  await fillOnce(target, async (folder) => {
    const artifact = `io.apicurio:apicurio-registry-app:${REGISTRY_VERSION}:tar.gz:all`;
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
    await maven(
      config,
      [goal, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`],
      `the schema registry ${REGISTRY_VERSION}`,
      onProgress,
    );
    const archive = readdirSync(folder).find((name) => name.endsWith('.tar.gz'));
    if (!archive) throw new StackError(`Maven fetched no archive for ${artifact}.`);
    const unpacked = await run('tar', ['xzf', archive], { cwd: folder });
    if (unpacked.code !== 0) throw new StackError(`${archive} could not be unpacked: ${unpacked.stderr.trim()}`);
    rmSync(join(folder, archive));
  });
  return target;
}

/** The folder appears under its name only when it is whole, so a download that was cut off is fetched again. */
async function fillOnce(target: string, fill: (folder: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  removeAbandoned(target);
  const temporary = `${target}.part-${process.pid}`;
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true });
  try {
    await fill(temporary);
    if (!existsSync(target)) renameSync(temporary, target);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** What a launcher that was killed left half done. */
function removeAbandoned(target: string): void {
  for (const name of readdirSync(dirname(target))) {
    const [, whole, pid] = /^(.+)\.part-(\d+)$/.exec(name) ?? [];
    if (whole === basename(target) && !identify(Number(pid))) rmSync(join(dirname(target), name), { recursive: true });
  }
}

async function maven(config: StackConfig, args: string[], what: string, onProgress: OnProgress): Promise<void> {
  if (!findOnPath('mvn', config.path)) await aptInstall(['maven'], { path: config.path, onProgress });
  const command = findOnPath('mvn', config.path);
  if (!command)
    throw new StackError(
      'Maven (mvn) is needed once to fetch Kafka and the schema registry; install it (Debian: apt-get install maven).',
    );
  onProgress(`fetching ${what} from Maven Central`);
  let files = 0;
  let lastSaid = performance.now();
  const onLine = (line: string): void => {
    if (!line.includes('Downloaded from')) return;
    files += 1;
    if (performance.now() - lastSaid < PROGRESS_INTERVAL_MS) return;
    lastSaid = performance.now();
    onProgress(`fetching ${what}: ${files} files so far`);
  };
  const result = await run(command, ['-B', ...args], { cwd: config.cache, timeoutMs: DOWNLOAD_TIMEOUT_MS, onLine });
  if (result.code === 0) return;
  const reasons = result.stdout.split('\n').filter((line) => line.includes('ERROR'));
  throw new StackError(`Maven could not fetch ${what}:\n${reasons.slice(0, 5).join('\n') || result.stderr.trim()}`);
}
