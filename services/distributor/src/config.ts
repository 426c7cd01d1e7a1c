/** The one place of this service that reads the environment. */
import { IDEMPOTENCY_HORIZON_MS } from '@tidemark/jobs';
import {
  connectionSettings,
  type Environment,
  integerSetting,
  loadConfig,
  programSettings,
  replicationFactorSetting,
  z,
} from '@tidemark/observability';
import {
  BREAKER_DEADLINE_MS,
  CHECKPOINT_EVERY_MS,
  ENDED_JOBS_KEPT_MS,
  ENDED_JOBS_KEPT_MS_MAX,
  ENDED_RUNS_KEPT,
  ENDED_RUNS_KEPT_MAX,
  LEADERSHIP_TTL_MS,
  OPEN_TRANSACTION_DEADLINE_MS,
} from './limits.ts';

const { TIDEMARK_POSTGRES: _unused, ...connections } = connectionSettings;

export const distributorSettings = z.object({
  ...connections,
  ...programSettings,
  /** Of our own topics, where they do not exist yet. */
  TIDEMARK_REPLICATION_FACTOR: replicationFactorSetting,
  /** What a lost cursor store costs: work of at most this long is delivered again. */
  TIDEMARK_CHECKPOINT_EVERY_MS: integerSetting({ min: 100, max: 60_000, default: CHECKPOINT_EVERY_MS }),
  /** A job held back by an open transaction for longer is suspended. */
  TIDEMARK_OPEN_TRANSACTION_DEADLINE_MS: integerSetting({
    min: 1_000,
    max: 86_400_000,
    default: OPEN_TRANSACTION_DEADLINE_MS,
  }),
  /** A job whose handler waits for a dependency that is down for longer is suspended. */
  TIDEMARK_BREAKER_DEADLINE_MS: integerSetting({ min: 1_000, max: 7 * 86_400_000, default: BREAKER_DEADLINE_MS }),
  /** After its end the state of a job is kept for so long; below the horizon a request that is sent again would run again. */
  TIDEMARK_ENDED_JOBS_KEPT_MS: integerSetting({
    min: IDEMPOTENCY_HORIZON_MS,
    max: ENDED_JOBS_KEPT_MS_MAX,
    default: ENDED_JOBS_KEPT_MS,
  }),
  /** Of each series so many ended runs, the newest ones, are kept. */
  TIDEMARK_ENDED_RUNS_KEPT: integerSetting({ min: 1, max: ENDED_RUNS_KEPT_MAX, default: ENDED_RUNS_KEPT }),
  /** A distributor that is silent for longer is replaced by a standby. */
  TIDEMARK_LEADERSHIP_TTL_MS: integerSetting({ min: 1_000, max: 300_000, default: LEADERSHIP_TTL_MS }),
});

export function readConfig(env: Environment) {
  return loadConfig({ program: 'distributor', settings: distributorSettings, env });
}
