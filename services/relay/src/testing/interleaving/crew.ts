/** Relays of one name, each as a process of its own would be, that come and go. */
import type { Codec } from '@tidemark/contracts';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { openPostgresOutbox } from '@tidemark/outbox/postgres';
import type { Fault, Scene } from '@tidemark/outbox/testing';
import { type Relay, RelayState, startRelay } from '../../relay.ts';
import { withCommit } from '../harness.ts';
import { LEASE_TTL_MS } from './limits.ts';
import { createLife, type Life } from './mortal.ts';
import type { RelayPlant } from './plants.ts';

export interface Member {
  readonly life: Life;
  readonly publishes: boolean;
  /** In order. */
  stop(): Promise<void>;
}

export interface Crew {
  /** Without those that have ended. */
  readonly members: readonly Member[];
  /** Of relays that no one killed. */
  readonly faults: readonly Fault[];
  /** Commits that were refused because a newer session has begun. */
  readonly fenced: number;
  add(): void;
  /** All that are left, in order; resolves when nothing of any one runs any more. */
  end(): Promise<void>;
}

/** In each record of a transaction, its number among all that were tried: what a topic then tells is who was before whom. */
export const NUMBER_HEADER = 'test_transaction';

export function createCrew(
  { outbox: { url, namespace } }: Scene,
  { kafka, codec, plant }: { readonly kafka: string; readonly codec: Codec; readonly plant: RelayPlant },
): Crew {
  const members = new Set<Member>();
  const lives: Promise<void>[] = [];
  const faults: Fault[] = [];
  let transactions = 0;
  let fenced = 0;
  let relays = 0;

  function numbered(cluster: LogCluster): LogCluster {
    return withCommit(cluster, async (records, writer) => {
      transactions += 1;
      const header = [NUMBER_HEADER, Buffer.from(`${transactions}`)] as const;
      await writer
        .commit(records.map((record) => ({ ...record, headers: [...(record.headers ?? []), header] })))
        .catch((error: unknown) => {
          if (error instanceof TidemarkError && error.class === ErrorClass.fenced) fenced += 1;
          throw error;
        });
    });
  }

  function add(): void {
    relays += 1;
    const life = createLife();
    const own = createKafkaCluster({ brokers: [kafka], clientId: `interleaving-${relays}` });
    const opened = openPostgresOutbox({ url, namespace, relay: 'main', owner: `interleaving ${relays}` });
    const cluster = life.cluster(numbered(own));
    const outbox = life.outbox(opened);
    const starting = startRelay({
      outbox: plant.outbox?.(outbox) ?? outbox,
      cluster: plant.cluster?.(cluster, namespace) ?? cluster,
      codec,
      namespace,
      leaseTtlMs: LEASE_TTL_MS,
    });
    let relay: Relay | undefined;
    const member: Member = {
      life,
      get publishes() {
        return relay?.state === RelayState.publishing;
      },
      async stop() {
        life.goOn();
        await starting.then(
          (started) => started.stop('test'),
          () => {}, // told by its life
        );
      },
    };
    async function live(): Promise<void> {
      try {
        relay = await starting;
        await relay.ended;
      } catch (error) {
        if (!life.isDead && !(relay === undefined && isAway(error)))
          faults.push({ kind: 'stopped', text: `a relay ended: ${describeError(error)}` });
      } finally {
        members.delete(member);
        await Promise.allSettled([opened.close(), own.close()]);
      }
    }
    members.add(member);
    lives.push(live());
  }

  return {
    get members() {
      return [...members];
    },
    faults,
    get fenced() {
      return fenced;
    },
    add,
    async end() {
      await Promise.all([...members].map((member) => member.stop()));
      await Promise.all(lives);
    },
  };
}

/** At its start a relay waits for nobody, and on a busy machine somebody answers too late. */
function isAway(error: unknown): boolean {
  return (
    error instanceof TidemarkError && (error.class === ErrorClass.unavailable || error.class === ErrorClass.transient)
  );
}
