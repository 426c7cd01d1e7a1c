/** Finds a Java that is new enough, without trusting that the first one on the PATH is. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOnPath, isExecutable, run } from '../commands.ts';
import type { StackConfig } from '../config.ts';
import { aptInstall } from '../debian.ts';
import { StackError } from '../errors.ts';
import { KAFKA_JAVA_MIN, REGISTRY_JAVA_MIN } from '../limits.ts';
import type { OnProgress } from '../progress.ts';

export interface Java {
  command: string;
  major: number;
}

export interface Javas {
  kafka: Java;
  registry: Java;
}

/** Debian's packages, newest long-term release first; which of them exist depends on the release of Debian. */
const APT_PACKAGES = ['openjdk-25-jre-headless', 'openjdk-21-jre-headless'];

export async function findJavas(
  config: StackConfig,
  needs: { registry: boolean },
  onProgress: OnProgress,
): Promise<Javas> {
  const minimum = needs.registry ? REGISTRY_JAVA_MIN : KAFKA_JAVA_MIN;
  let found = await installedJavas(config);
  if (!best(found, minimum)) {
    for (const name of APT_PACKAGES) {
      if (await aptInstall([name], { path: config.path, onProgress })) break;
    }
    found = await installedJavas(config);
  }
  const java = best(found, minimum);
  if (!java) throw new StackError(explain(config, found, minimum));
  return { kafka: best(found, KAFKA_JAVA_MIN) ?? java, registry: java };
}

/** JAVA_HOME is a wish and comes first; of the others the newest. */
function best(found: readonly Java[], minimum: number): Java | undefined {
  const enough = found.filter((java) => java.major >= minimum);
  return enough.find((java) => java === found[0]) ?? enough.sort((a, b) => b.major - a.major)[0];
}

async function installedJavas(config: StackConfig): Promise<Java[]> {
  const onPath = findOnPath('java', config.path);
  const others = [...(onPath ? [onPath] : []), ...installedUnder(config.jvmFolder)];
  const ordered = await Promise.all(
    [...(config.javaHome ? [join(config.javaHome, 'bin/java')] : []), ...others].map(describe),
  );
  const known = ordered.filter((java) => java !== undefined);
  if (config.javaHome && ordered[0]) return known;
  return known.sort((a, b) => b.major - a.major);
}

function installedUnder(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name, 'bin/java'));
  } catch {
    return [];
  }
}

async function describe(command: string): Promise<Java | undefined> {
  if (!isExecutable(command)) return undefined;
  const major = majorFromRelease(command) ?? (await majorFromCommand(command));
  return major === undefined ? undefined : { command, major };
}

/** The `release` file beside bin/ spares the start of a virtual machine. */
function majorFromRelease(command: string): number | undefined {
  try {
    const release = readFileSync(join(dirname(dirname(realpathSync(command))), 'release'), 'utf8');
    return majorOf(/JAVA_VERSION="([^"]+)"/.exec(release)?.[1]);
  } catch {
    return undefined;
  }
}

async function majorFromCommand(command: string): Promise<number | undefined> {
  const result = await run(command, ['-version'], { timeoutMs: 10_000 });
  return majorOf(/version "([^"]+)"/.exec(result.stderr)?.[1]);
}

export function majorOf(version: string | undefined): number | undefined {
  const match = /^(?:1\.)?(\d+)/.exec(version ?? '');
  return match ? Number(match[1]) : undefined;
}

function explain(config: StackConfig, found: readonly Java[], minimum: number): string {
  const have =
    found.length === 0
      ? 'none was found'
      : `found only Java ${[...new Set(found.map((java) => java.major))].join(', ')}`;
  const what =
    minimum === REGISTRY_JAVA_MIN
      ? `The schema registry needs Java ${minimum} or newer (Kafka ${KAFKA_JAVA_MIN})`
      : `Kafka needs Java ${minimum} or newer`;
  return [
    `${what}, ${have} in JAVA_HOME, on the PATH and under ${config.jvmFolder}.`,
    `Install one (for example Temurin 25, or Debian's openjdk-21-jre-headless) and set JAVA_HOME, start Docker, or give running services by`,
    'TIDEMARK_KAFKA and TIDEMARK_REGISTRY.',
  ].join(' ');
}
