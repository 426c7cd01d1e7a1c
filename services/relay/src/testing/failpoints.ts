/**
 * Every await of a relay on the outside, as a point where a test may interfere: the ports are wrapped, so that each call
 * says that it is about to be made, and that its answer has come but is not told yet.
 */
import type { RelayOptions } from '../relay.ts';

export const Moment = { before: 'before', after: 'after' } as const;
export type Moment = (typeof Moment)[keyof typeof Moment];

/** Hears of both moments of every call; what it throws, the relay gets, and as long as it takes, the relay waits. */
export type Reach = (call: string, moment: Moment) => Promise<void>;

type Ports = Pick<RelayOptions, 'outbox' | 'cluster' | 'codec'>;

export function withFailpoints({ outbox, cluster, codec }: Ports, reach: Reach): Ports {
  return {
    outbox: {
      reader: wrapped('reader', outbox.reader, reach),
      lease: wrapped('lease', outbox.lease, reach),
      hints: wrapped('hints', outbox.hints, reach),
      close: () => outbox.close(),
    },
    cluster: {
      catalog: wrapped('catalog', cluster.catalog, reach),
      openReader: () => wrapped('log reader', cluster.openReader(), reach),
      openWriter: () => cluster.openWriter(),
      async openTransactionalWriter(options) {
        await reach('cluster.openTransactionalWriter', Moment.before);
        const writer = await cluster.openTransactionalWriter(options);
        await reach('cluster.openTransactionalWriter', Moment.after);
        return wrapped('writer', writer, reach);
      },
      close: () => cluster.close(),
    },
    codec: wrapped('codec', codec, reach),
  };
}

/** Those answer at once, so there is nothing to interfere with. */
const SYNCHRONOUS = /Cached$/;

function wrapped<Port extends object>(name: string, port: Port, reach: Reach): Port {
  return new Proxy(port, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function' || typeof property !== 'string') return member;
      if (SYNCHRONOUS.test(property)) return (...values: unknown[]): unknown => Reflect.apply(member, target, values);
      return async (...values: unknown[]): Promise<unknown> => {
        await reach(`${name}.${property}`, Moment.before);
        const answer: unknown = await Reflect.apply(member, target, values);
        await reach(`${name}.${property}`, Moment.after);
        return answer;
      };
    },
  });
}
