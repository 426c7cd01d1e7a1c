/** The services that a console needs, and everything in one line: pure. */
import type { Sight } from '../collect/collector.ts';
import type { Known } from '../collect/feed.ts';
import { knownValue } from '../collect/feed.ts';
import { isActive } from '../collect/work.ts';
import { countsByState } from './jobs.ts';
import type { Lag, Relay, Service, Status, Workers } from './schemas.ts';
import { instant } from './words.ts';

export function servicesView(sight: Sight): readonly Service[] {
  return [
    serviceOf('Kafka', sight.states),
    serviceOf('Redis', sight.work),
    serviceOf('Postgres', sight.outbox),
    serviceOf('schema registry', sight.registry),
  ];
}

function serviceOf(name: string, known: Known<unknown>): Service {
  if (known.kind === 'known') return { name, state: 'up', detail: '' };
  return { name, state: known.wasAsked ? 'down' : 'unknown', detail: known.reason };
}

export function statusView(
  sight: Sight,
  parts: { readonly namespace: string; readonly lag: Lag; readonly workers: Workers; readonly relay: Relay },
): Status {
  const services = [...servicesView(sight)];
  const states = knownValue(sight.states);
  return {
    asOf: instant(sight.nowMs),
    namespace: parts.namespace,
    ready: services.every(({ state }) => state === 'up'),
    services,
    jobs: states === undefined ? null : countsByState(states.values()),
    activeJobs: states === undefined ? null : [...states.values()].filter(isActive).length,
    workersAlive: parts.workers.alive,
    lagOffsets: parts.lag.sum.offsets,
    lagIsAtLeast: parts.lag.sum.isAtLeast,
    relayLagSeconds: parts.relay.lagSeconds,
  };
}
