/** The settings of a worker process. */
import {
  connectionSettings,
  type Environment,
  integerSetting,
  listSetting,
  loadConfig,
  programSettings,
  replicationFactorSetting,
  z,
} from '@tidemark/observability';
import {
  DEAD_LETTER_RETENTION_MS,
  DEAD_LETTER_RETENTION_MS_MIN,
  LEASE_TTL_MAX_MS,
  LEASE_TTL_MIN_MS,
  LEASE_TTL_MS,
  RANGES_MAX_MAX,
  SLOTS_DEFAULT,
  SLOTS_MAX,
  STOP_GRACE_MS,
} from './limits.ts';

const { TIDEMARK_KAFKA, TIDEMARK_REDIS, TIDEMARK_REGISTRY, TIDEMARK_NAMESPACE } = connectionSettings;

export const workerSettings = z.object({
  TIDEMARK_KAFKA,
  TIDEMARK_REDIS,
  TIDEMARK_REGISTRY,
  TIDEMARK_NAMESPACE,
  ...programSettings,
  /** Paths of modules that export handlers, separated by commas. */
  TIDEMARK_HANDLERS: listSetting(),
  /** Ranges worked on at the same time. */
  TIDEMARK_SLOTS: integerSetting({ min: 1, max: SLOTS_MAX, default: SLOTS_DEFAULT }),
  /** Ranges worked on at the same time by all workers, which must agree on it; 0 = no limit. */
  TIDEMARK_RANGES_MAX: integerSetting({ min: 0, max: RANGES_MAX_MAX, default: 0 }),
  TIDEMARK_LEASE_TTL_MS: integerSetting({ min: LEASE_TTL_MIN_MS, max: LEASE_TTL_MAX_MS, default: LEASE_TTL_MS }),
  /** How long running records may finish after SIGTERM. */
  TIDEMARK_STOP_GRACE_MS: integerSetting({ min: 0, max: 60_000, default: STOP_GRACE_MS }),
  /** Of dead-letter topics that the worker creates. */
  TIDEMARK_REPLICATION_FACTOR: replicationFactorSetting,
  /** Of dead-letter topics that the worker creates, whatever their sources keep; -1 = for ever. */
  TIDEMARK_DEAD_LETTER_RETENTION_MS: integerSetting({
    min: -1,
    max: Number.MAX_SAFE_INTEGER,
    default: DEAD_LETTER_RETENTION_MS,
  }).refine((ms) => ms === -1 || ms >= DEAD_LETTER_RETENTION_MS_MIN, {
    message: `must be -1 (for ever) or at least ${DEAD_LETTER_RETENTION_MS_MIN} (an hour)`,
  }),
});

export type WorkerConfig = z.output<typeof workerSettings>;

export function loadWorkerConfig(env: Environment): WorkerConfig {
  return loadConfig({ program: 'worker', settings: workerSettings, env });
}
