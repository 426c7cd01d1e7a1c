/** Connections to the brokers of one cluster: at most one a broker. Every reader owns a set, the catalog another. */
import { describeError } from '@tidemark/keyspace';
import { configError, unavailable } from './errors.ts';
import { type Broker, BrokerConnection } from './wire/broker-connection.ts';

export interface ClusterAddress {
  readonly brokers: readonly string[];
  readonly clientId: string;
}

export class BrokerConnections {
  readonly #clientId: string;
  readonly #bootstrap: readonly Broker[];
  readonly #connections = new Map<string, BrokerConnection>();
  #turn = 0;
  #closed = false;

  constructor(address: ClusterAddress) {
    this.#clientId = address.clientId;
    this.#bootstrap = address.brokers.map(parseBroker);
    if (this.#bootstrap.length === 0) throw configError('BROKERS_INVALID', 'no Kafka broker is configured');
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Connects if need be. */
  async to(broker: Broker): Promise<BrokerConnection> {
    const place = `${broker.host}:${broker.port}`;
    const known = this.#connections.get(place);
    const connection = known === undefined || known.ended ? this.#open(broker, place) : known;
    try {
      await connection.connected;
      return connection;
    } catch (error) {
      throw unavailable(`no connection to ${place}: ${describeError(error)}`, { cause: error });
    }
  }

  /** Any broker that is connected, else one of the configured ones, each call beginning with the next. */
  async any(): Promise<BrokerConnection> {
    for (const connection of this.#connections.values()) if (connection.usable) return connection;
    const first = this.#turn++ % this.#bootstrap.length;
    const rotated = [...this.#bootstrap.slice(first), ...this.#bootstrap.slice(0, first)];
    let fault: unknown;
    for (const broker of rotated) {
      try {
        return await this.to(broker);
      } catch (error) {
        fault = error;
      }
    }
    const places = this.#bootstrap.map(({ host, port }) => `${host}:${port}`).join(', ');
    throw unavailable(`Kafka at ${places} does not answer: ${describeError(fault)}`, { cause: fault });
  }

  /** After an error the state of a connection is unknown; requests in flight on it fail. */
  async dropAll(): Promise<void> {
    const dropped = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.all(dropped.map((connection) => connection.close()));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.dropAll();
  }

  #open(broker: Broker, place: string): BrokerConnection {
    if (this.#closed) throw unavailable('this client of Kafka was closed');
    const connection = new BrokerConnection(broker, this.#clientId);
    this.#connections.set(place, connection);
    return connection;
  }
}

const PORT_MAX = 65_535;

function parseBroker(text: string): Broker {
  const match = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text.trim());
  const port = Number(match?.[2]);
  if (match?.[1] === undefined || port > PORT_MAX)
    throw configError('BROKERS_INVALID', `not a broker address: "${text}" (expected host:port)`);
  return { host: match[1], port };
}
