/** The one place where the benchmarks read their environment. */
import {
  connectionSettings,
  type Environment,
  integerSetting,
  loadConfig,
  programSettings,
  z,
} from '@tidemark/observability';
import { QUIET_SECONDS } from './limits.ts';

const benchSettings = z.object({
  /** Folder of the peer programs; `--peers-dir` goes before it. */
  TIDEMARK_PEERS: z.string().optional(),
  /** As the peers' harness calls it. */
  QUIET_S: integerSetting({ min: 0, max: 3_600, default: QUIET_SECONDS }),
  XDG_CACHE_HOME: z.string().optional(),
});

export function loadBenchConfig(env: Environment): z.output<typeof benchSettings> {
  return loadConfig({ program: 'bench', settings: benchSettings, env });
}

const traverserSettings = z.object({
  TIDEMARK_REDIS: connectionSettings.TIDEMARK_REDIS,
  TIDEMARK_REGISTRY: connectionSettings.TIDEMARK_REGISTRY,
  /** The two names that the peers' harness gives to whatever it measures. */
  KAFKA_BOOTSTRAP: z.string().transform((text) => text.split(',')),
  BENCH_TOPIC: z.string(),
  /** Records to traverse, from the beginning of the topic; all of them without it. */
  BENCH_RECORDS: z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).optional(),
  /** `count` looks at every record; `blocking` sleeps for each, in the order of its key. */
  BENCH_WORK: z.enum(['count', 'blocking']).default('count'),
  /** `1`: also says what the job has left in Redis. */
  BENCH_STATE: z.enum(['0', '1']).default('0'),
});

export type TraverserConfig = z.output<typeof traverserSettings>;

export function loadTraverserConfig(env: Environment): TraverserConfig {
  return loadConfig({ program: 'bench traverser', settings: traverserSettings, env });
}

const relayUnderTestSettings = z.object({
  TIDEMARK_REGISTRY: connectionSettings.TIDEMARK_REGISTRY,
  TIDEMARK_NAMESPACE: connectionSettings.TIDEMARK_NAMESPACE,
  ...programSettings,
  /** What the peers' harness tells a relay. */
  KAFKA_BOOTSTRAP: z.string().transform((text) => text.split(',')),
  OUTBOX_PG_PORT: integerSetting({ min: 1, max: 65_535, default: 55_499 }),
  OUTBOX_TOPIC: z.string(),
});

export function loadRelayUnderTestConfig(env: Environment): z.output<typeof relayUnderTestSettings> {
  return loadConfig({ program: 'bench relay', settings: relayUnderTestSettings, env });
}
