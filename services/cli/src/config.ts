/** The one place where the command line reads its environment. Addresses: given, else of the local stack that runs, else its default ports. */
import { connectionSettings, type Environment, loadConfig, replicationFactorSetting, z } from '@tidemark/observability';
import { endpoints } from '@tidemark/stack';

const SETTINGS = z.object({
  ...connectionSettings,
  /** Of topics that `outbox attach --create-topic` creates. */
  TIDEMARK_REPLICATION_FACTOR: replicationFactorSetting,
});

const ADDRESSES = {
  TIDEMARK_KAFKA: 'kafka',
  TIDEMARK_REDIS: 'redis',
  TIDEMARK_POSTGRES: 'postgres',
  TIDEMARK_REGISTRY: 'registry',
} as const;

export type CliConfig = z.output<typeof SETTINGS>;

export interface EffectiveConfig {
  readonly config: CliConfig;
  readonly sources: Readonly<Record<string, 'environment' | 'local stack' | 'default'>>;
  /** For programs that are started from here: they get the same addresses. */
  readonly env: Environment;
}

export function readConfig(env: Environment): EffectiveConfig {
  const running = addressesOfRunningStack(env);
  const effective: Record<string, string | undefined> = { ...running };
  for (const [name, value] of Object.entries(env)) if (value?.trim()) effective[name] = value;
  const config = loadConfig({ program: 'tidemark', settings: SETTINGS, env: effective });
  const sources = Object.fromEntries(
    Object.keys(config).map((name) => [
      name,
      env[name]?.trim() ? 'environment' : running[name] === undefined ? 'default' : 'local stack',
    ]),
  ) as EffectiveConfig['sources'];
  return { config, sources, env: effective };
}

/** The stack may run at ports that only its own records know. Empty when it is not running. */
function addressesOfRunningStack(env: Environment): Record<string, string> {
  if (Object.keys(ADDRESSES).every((name) => env[name]?.trim())) return {};
  try {
    const found = endpoints();
    return Object.fromEntries(Object.entries(ADDRESSES).map(([variable, service]) => [variable, found[service]]));
  } catch {
    return {};
  }
}
