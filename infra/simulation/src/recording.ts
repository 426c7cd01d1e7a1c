/** Stores that write down what is done to them, where it is done. */
import type { CursorStore, FloorLook, FloorPlace, FloorStore } from '@tidemark/cursors';
import type { JobLook, StoreCall } from './history.ts';
import type { World } from './world.ts';

type Around = (operation: string, request: unknown, act: () => Promise<unknown>) => Promise<unknown>;

/** The port with something around each of its operations. */
export function around<Port extends object>(port: Port, call: Around): Port {
  const wrapped = Object.entries(port).map(([operation, act]: [string, unknown]) => {
    if (typeof act !== 'function') return [operation, act];
    return [
      operation,
      (...parts: unknown[]) => call(operation, parts[0], () => Promise.resolve(act.apply(port, parts))),
    ];
  });
  return Object.fromEntries(wrapped) as Port;
}

const RECORDED: ReadonlySet<string> = new Set<StoreCall['operation']>([
  'lease',
  'renew',
  'claim',
  'advance',
  'settle',
  'release',
  'stop',
  'split',
  'install',
  'setMode',
  'remove',
]);

/** The twin acts before its promise resolves, so the look right behind the call shows what it did. */
export function recordedStore(world: World, by: string, store: CursorStore): CursorStore {
  return around(store, async (operation, request, act) => {
    if (!RECORDED.has(operation)) return act();
    const acting = act();
    const { jobId } = request as { readonly jobId: string };
    const call = { operation, request, answer: undefined as unknown };
    const looking = world.store.snapshot(jobId);
    const told = world.tell(by, { kind: 'stored', call: call as StoreCall, look: undefined as JobLook | undefined });
    call.answer = await acting;
    told.look = await looking;
    return call.answer;
  });
}

export function recordedFloors(world: World, by: string, floors: FloorStore): FloorStore {
  return around(floors, async (operation, request, act) => {
    const acting = act();
    world.onFloors(by, operation);
    const { place } = (request ?? {}) as { readonly place?: FloorPlace };
    if (place === undefined || operation === 'look') return acting;
    const looking = world.floors.look(place);
    const told = world.tell(by, { kind: 'floors', place, look: undefined as FloorLook | undefined });
    const answer = await acting;
    told.look = await looking;
    return answer;
  });
}
