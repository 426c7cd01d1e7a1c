/** The settings of a relay process. */
import {
  connectionSettings,
  type Environment,
  integerSetting,
  loadConfig,
  programSettings,
  replicationFactorSetting,
  z,
} from '@tidemark/observability';
import { LEASE_TTL_MS, LEASE_TTL_MS_MAX, LEASE_TTL_MS_MIN, POLL_MS, POLL_MS_MAX, POLL_MS_MIN } from './limits.ts';

const { TIDEMARK_KAFKA, TIDEMARK_POSTGRES, TIDEMARK_REGISTRY, TIDEMARK_NAMESPACE } = connectionSettings;

export const relaySettings = z.object({
  TIDEMARK_KAFKA,
  TIDEMARK_POSTGRES,
  TIDEMARK_REGISTRY,
  TIDEMARK_NAMESPACE,
  ...programSettings,
  /** Key of the position and part of the transactional id. Relays of one name take turns; an outbox has one name. */
  TIDEMARK_RELAY_NAME: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,60}$/, 'must be letters, digits, _ and -, 60 at most')
    .prefault('main'),
  TIDEMARK_LEASE_TTL_MS: integerSetting({ min: LEASE_TTL_MS_MIN, max: LEASE_TTL_MS_MAX, default: LEASE_TTL_MS }),
  /** How long a lost hint may delay a row. */
  TIDEMARK_RELAY_POLL_MS: integerSetting({ min: POLL_MS_MIN, max: POLL_MS_MAX, default: POLL_MS }),
  /** Of our own topics, where they do not exist yet. */
  TIDEMARK_REPLICATION_FACTOR: replicationFactorSetting,
});

export function loadRelayConfig(env: Environment) {
  return loadConfig({ program: 'relay', settings: relaySettings, env });
}
