/** Settings from the environment: zod fields keyed by the names of the variables, checked all at once. */
import { ErrorClass, isNamespace, NAMESPACE_RULE, TidemarkError } from '@tidemark/keyspace';
import { z } from 'zod';
import { REPLICATION_FACTOR_MAX, STACK_PORT_DEFAULT, STACK_PORT_OFFSETS } from './limits.ts';
import { LogLevel } from './logger.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const HOST_AND_PORT = /^(\[[0-9a-fA-F:]+\]|[^\s:,/]+):\d{1,5}$/;

/** A whole number from `min` to `max`, both included. */
export function integerSetting(options: { readonly min: number; readonly max: number; readonly default: number }) {
  return z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(options.min).max(options.max))
    .prefault(String(options.default));
}

/** `true` or `false`. */
export function flagSetting(fallback: boolean) {
  return z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .prefault(fallback ? 'true' : 'false');
}

/** Comma-separated texts without blanks; empty by default. */
export function listSetting() {
  return z
    .string()
    .prefault('')
    .transform((text) => splitList(text));
}

function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function urlSetting(protocols: readonly string[]) {
  return z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });
}

/** Of our own topics, where a program has to create them. One broker is enough to begin with. */
export const replicationFactorSetting = integerSetting({ min: 1, max: REPLICATION_FACTOR_MAX, default: 1 });

/** Where the services are. Spread the ones a program needs into its settings; without a value they point at the local stack. */
export const connectionSettings = {
  TIDEMARK_KAFKA: z
    .string()
    .transform((text) => splitList(text))
    .refine((brokers) => brokers.length > 0 && brokers.every((broker) => HOST_AND_PORT.test(broker)), {
      error: 'must be host:port, several separated by commas',
    }),
  TIDEMARK_REDIS: urlSetting(['redis:', 'rediss:']),
  TIDEMARK_POSTGRES: urlSetting(['postgres:', 'postgresql:']),
  TIDEMARK_REGISTRY: urlSetting(['http:', 'https:']),
  /** Prefix of our own topics, transactional ids and Redis keys, and the Postgres schema. */
  TIDEMARK_NAMESPACE: z
    .string()
    .refine(isNamespace, { error: `must be ${NAMESPACE_RULE}` })
    .prefault('tidemark'),
} as const;

/** What every long-running program has. */
export const programSettings = {
  TIDEMARK_LOG_LEVEL: z.enum(LogLevel).prefault('info'),
  /** Port of /metrics, /livez and /readyz; 0 = off. */
  TIDEMARK_METRICS_PORT: integerSetting({ min: 0, max: 65_535, default: 0 }),
  /** Loopback unless somebody decides that a network may see the numbers (a container's probes need it). */
  TIDEMARK_METRICS_HOST: z.string().min(1).prefault('127.0.0.1'),
} as const;

function connectionDefaults(env: Environment): Environment {
  const base = Number(env['TIDEMARK_STACK_PORT'] || STACK_PORT_DEFAULT);
  const portOf = (service: keyof typeof STACK_PORT_OFFSETS): number => base + STACK_PORT_OFFSETS[service];
  return {
    TIDEMARK_KAFKA: `127.0.0.1:${portOf('kafka')}`,
    TIDEMARK_REDIS: `redis://127.0.0.1:${portOf('redis')}`,
    TIDEMARK_POSTGRES: `postgres://tidemark:tidemark@127.0.0.1:${portOf('postgres')}/tidemark`,
    TIDEMARK_REGISTRY: `http://127.0.0.1:${portOf('registry')}/apis/ccompat/v7`,
  };
}

export interface LoadConfigOptions<Shape extends z.ZodRawShape> {
  readonly program: string;
  /** `z.object({ ...connectionSettings, ... })`; relations between settings are its `.refine(...)`. */
  readonly settings: z.ZodObject<Shape>;
  readonly env: Environment;
}

/**
 * The typed configuration, or a TidemarkError `config` (BAD_CONFIG) whose message lists every fault. A variable set to
 * nothing counts as not set, because that is what `.env` files and compose files mean by it.
 */
export function loadConfig<Shape extends z.ZodRawShape>(
  options: LoadConfigOptions<Shape>,
): z.output<z.ZodObject<Shape>> {
  const { settings, env } = options;
  const defaults = connectionDefaults(env);
  const given = Object.fromEntries(
    Object.keys(settings.shape)
      .map((name) => [name, env[name]?.trim() || defaults[name]] as const)
      .filter(([, value]) => value !== undefined),
  );
  const result = settings.safeParse(given);
  if (result.success) return result.data;
  throw new TidemarkError({
    code: 'BAD_CONFIG',
    class: ErrorClass.config,
    message: `the configuration of ${options.program} has faults: ${result.error.issues.map(describeIssue).join('; ')}`,
  });
}

/** Values are not repeated: they may be secrets, and whoever set them can look. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const name = issue.path.join('.');
  if (issue.code === 'invalid_type' && issue.input === undefined) return `${name}: is not set`;
  return name === '' ? issue.message : `${name}: ${issue.message}`;
}

/**
 * TIDEMARK_* variables that no setting of the program reads: most often a slip of the pen. Those of the local stack are
 * not counted.
 */
export function unknownVariables(options: {
  readonly settings: z.ZodObject;
  readonly env: Environment;
}): readonly string[] {
  const known = new Set([
    ...Object.keys(options.settings.shape),
    ...Object.keys(connectionSettings),
    ...Object.keys(programSettings),
  ]);
  return Object.keys(options.env)
    .filter((name) => name.startsWith('TIDEMARK_') && !name.startsWith('TIDEMARK_STACK') && !known.has(name))
    .sort();
}
