/** The one place where the launcher reads its environment. */
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { StackError } from './errors.ts';
import { PORT_BASE_DEFAULT, PORT_OFFSETS } from './limits.ts';

export const SERVICE_NAMES = ['kafka', 'redis', 'postgres', 'registry'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** Kafka as host:port, the others as URLs. */
export type Endpoints = Record<ServiceName, string>;

export type Ports = Record<keyof typeof PORT_OFFSETS, number>;

export interface StackConfig {
  /** The checkout that the stack belongs to. */
  root: string;
  /** Pids, logs and data of the local services. */
  folder: string;
  /** Jars shared by all checkouts of this user. */
  cache: string;
  /** As the console itself reads it; undefined when nobody asked for one. */
  consolePort: number | undefined;
  /** First of ten ports; undefined when nobody asked for one. */
  portBase: number | undefined;
  /** Addresses given by the environment. */
  given: Partial<Endpoints>;
  /** Where programs may be. */
  javaHome: string | undefined;
  jvmFolder: string;
  /** A browser for tests; undefined when it is to be found. */
  chromium: string | undefined;
  /** Debian's: one folder a version. */
  postgresFolder: string;
  path: string;
}

const GIVEN_VARIABLES: Record<ServiceName, string> = {
  kafka: 'TIDEMARK_KAFKA',
  redis: 'TIDEMARK_REDIS',
  postgres: 'TIDEMARK_POSTGRES',
  registry: 'TIDEMARK_REGISTRY',
};

export function variableOf(service: ServiceName): string {
  return GIVEN_VARIABLES[service];
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): StackConfig {
  const root = resolve(import.meta.dirname, '../../..');
  const given: Partial<Endpoints> = {};
  for (const service of SERVICE_NAMES) {
    const value = env[GIVEN_VARIABLES[service]]?.trim();
    if (value) given[service] = value;
  }
  return {
    root,
    folder: join(root, '.stack'),
    cache: join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark'),
    portBase: readPortBase(env['TIDEMARK_STACK_PORT']),
    given,
    javaHome: env['JAVA_HOME'] || undefined,
    chromium: env['TIDEMARK_CHROMIUM'] || undefined,
    consolePort: Number(env['TIDEMARK_CONSOLE_PORT']) || undefined,
    jvmFolder: '/usr/lib/jvm',
    postgresFolder: '/usr/lib/postgresql',
    path: env['PATH'] ?? '',
  };
}

function readPortBase(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const base = Number(text);
  if (!Number.isInteger(base) || base < 1024 || base > 65_526) {
    throw new StackError(
      `TIDEMARK_STACK_PORT is "${text}"; it must be a whole number from 1024 to 65526, the first of ten free ports.`,
    );
  }
  return base;
}

export function portsFrom(base: number = PORT_BASE_DEFAULT): Ports {
  const ports = Object.entries(PORT_OFFSETS).map(([name, offset]) => [name, base + offset]);
  return Object.fromEntries(ports) as Ports;
}

export function endpointsAt(ports: Record<ServiceName, number>): Endpoints {
  return {
    kafka: `127.0.0.1:${ports.kafka}`,
    redis: `redis://127.0.0.1:${ports.redis}`,
    postgres: `postgres://tidemark:tidemark@127.0.0.1:${ports.postgres}/tidemark`,
    registry: `http://127.0.0.1:${ports.registry}/apis/ccompat/v7`,
  };
}

/** Tells the folders of several checkouts apart where they share a place outside. */
export function checkoutHash(root: string): string {
  return createHash('sha256').update(root).digest('hex').slice(0, 12);
}
