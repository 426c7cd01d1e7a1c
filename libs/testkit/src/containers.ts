/** Services of one test run, as containers: those of `docker-compose.yml`, at ports of their own. */
import {
  composeVariables,
  type Endpoints,
  endpointsAt,
  readConfig,
  SERVICE_NAMES,
  type ServiceName,
} from '@tidemark/stack';
import { DockerComposeEnvironment, Wait } from 'testcontainers';
import { freePorts } from './free-ports.ts';
import { CONTAINERS_START_TIMEOUT_MS } from './limits.ts';

export interface Containers {
  /** Of the services that the environment does not give. */
  readonly addresses: Partial<Endpoints>;
  /** Removes the containers and their data. */
  stop(): Promise<void>;
}

/** Their ports are chosen before they start, because Kafka and Redis must tell their clients the port on the host. */
export async function startContainers(): Promise<Containers> {
  const { root, given } = readConfig();
  const wanted = SERVICE_NAMES.filter((name) => given[name] === undefined);
  const [kafka, postgres, redis, registry] = await freePorts(4);
  const ports: Record<ServiceName, number> = { kafka, postgres, redis, registry };
  const environment = await new DockerComposeEnvironment(root, 'docker-compose.yml')
    .withEnvironment(composeVariables(ports))
    .withDefaultWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(CONTAINERS_START_TIMEOUT_MS)
    .up(wanted);
  const all = endpointsAt(ports);
  return {
    addresses: Object.fromEntries(wanted.map((name) => [name, all[name]])),
    stop: async () => void (await environment.down()),
  };
}
