/** Versions, ports and waiting times of the local services, each with its reason. */

/** The broker and the tools that judge it come from one release. */
export const KAFKA_VERSION = '4.4.0';
export const REGISTRY_VERSION = '3.3.3';

/** Kafka's own floor, and the floor of the registry's class files. */
export const KAFKA_JAVA_MIN = 17;
export const REGISTRY_JAVA_MIN = 21;

/** `CLUSTER ADDSLOTS` works from old servers on, `--cluster-port` only from here. */
export const REDIS_MAJOR_MIN = 7;
export const REDIS_CLUSTER_SLOTS = 16_384;

/** Below the ephemeral range of Linux (32768), above everything that is registered for databases and brokers in common use. */
export const PORT_BASE_DEFAULT = 19_090;

/** One block of ten ports: whoever moves the base moves them all. */
export const PORT_OFFSETS = {
  kafka: 2,
  kafkaController: 3,
  postgres: 4,
  registry: 5,
  registryManagement: 6,
  redis: 7,
  redisClusterBus: 8,
  console: 9,
} as const;

/** A probe on loopback answers in milliseconds, and one of nobody is refused at once; a machine that is busy may stand still for 20 s. */
export const PROBE_TIMEOUT_MS = 30_000;

/** How often a starting service is asked whether it is ready. */
export const PROBE_INTERVAL_MS = 150;

/** The registry needs about 25 s of two cores when it starts beside a broker; a loaded machine several times that. */
export const START_TIMEOUT_MS = 180_000;

/** Long enough for Kafka to flush and close its logs (about 2 s), short enough that nobody waits for a hung process. */
export const STOP_TIMEOUT_MS = 30_000;

/** A living process that does not answer is given so long before it is called hung: killing a slow service that others use is worse than waiting. */
export const HUNG_AFTER_MS = 30_000;

/** A hung process hardly answers a polite signal. */
export const HUNG_STOP_TIMEOUT_MS = 3_000;

/** The second `up` waits for the first, whose slowest case is a download of 212 MB. */
export const LOCK_TIMEOUT_MS = 15 * 60_000;

/** Maven waits for ever on a dead mirror; this ends with a message instead. */
export const DOWNLOAD_TIMEOUT_MS = 15 * 60_000;

/** Waiting for `docker compose up --wait`: image pulls included. */
export const DOCKER_TIMEOUT_MS = 20 * 60_000;

/** `docker info` hangs when the engine is half dead. */
export const DOCKER_INFO_TIMEOUT_MS = 5_000;

/** Lines of a service's log that are quoted when it does not start. */
export const LOG_TAIL_LINES = 20;
