/**
 * Version 2.2.4 of kafkajs asks who coordinates a transaction before each step of it: two of the five round trips of a
 * small one. Here a producer's client remembers the answer until it refreshes its metadata, which it does after each
 * error that it survives; errors that it does not survive end the session, and its client with it.
 */
import { createRequire } from 'node:module';

interface Cluster {
  findGroupCoordinator(question: Question): Promise<Broker>;
  findBroker(broker: { readonly nodeId: number }): Promise<Broker>;
  refreshMetadata(): Promise<void>;
}

interface Question {
  readonly groupId: string;
  readonly coordinatorType?: number;
}

interface Broker {
  readonly nodeId: number;
}

const TRANSACTION = 1;
let taught = false;

export function rememberCoordinators(): void {
  if (taught) return;
  taught = true;
  const { prototype }: { prototype: Cluster } = createRequire(import.meta.url)('kafkajs/src/cluster');
  const { findGroupCoordinator, refreshMetadata } = prototype;
  const known = new WeakMap<Cluster, Map<string, number>>();

  prototype.findGroupCoordinator = async function find(this: Cluster, question: Question): Promise<Broker> {
    if (question.coordinatorType !== TRANSACTION) return await findGroupCoordinator.call(this, question);
    const nodeId = known.get(this)?.get(question.groupId);
    if (nodeId !== undefined) return await this.findBroker({ nodeId });
    const broker = await findGroupCoordinator.call(this, question);
    known.set(this, (known.get(this) ?? new Map<string, number>()).set(question.groupId, broker.nodeId));
    return broker;
  };
  prototype.refreshMetadata = async function refresh(this: Cluster): Promise<void> {
    known.delete(this);
    await refreshMetadata.call(this);
  };
}
