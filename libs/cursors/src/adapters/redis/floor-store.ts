/** Floors and marks in Redis: every method is one script on the one hash of a place. */
import { ErrorClass, fromFixedWidth, type Offset, TidemarkError, toFixedWidth } from '@tidemark/keyspace';
import { checkReservationTtl } from '../../calls.ts';
import type { Floor, FloorLook, FloorPlace, FloorStore } from '../../floor-ports.ts';
import { checkHolder, floorKey } from '../../keys.ts';
import type { RedisConnection } from './connection.ts';
import { texts } from './install.ts';
import { type Script, scripts } from './scripts.ts';
import { connectServing, type RedisOptions, readIncarnation } from './serving-node.ts';

/** Connects, and refuses a Redis that may evict keys. Throws TidemarkError `unavailable` or `config`. */
export async function createRedisFloorStore(options: RedisOptions): Promise<FloorStore> {
  return storeOn(await connectServing(options), options.namespace);
}

function storeOn(connection: RedisConnection, namespace: string): FloorStore {
  const run = async (script: Script, place: FloorPlace, ...args: readonly string[]): Promise<readonly string[]> =>
    String(await connection.run(script, [floorKey(namespace, place)], args)).split(' ');

  return {
    async reserve({ place, holder, offset, ttlMs }) {
      checkHolder(holder);
      checkReservationTtl(ttlMs);
      const answer = await run(scripts.floorReserve, place, holder, toFixedWidth(offset), String(ttlMs));
      return answer[0] === 'reserved' ? { kind: 'reserved', floor: offsetOf(answer) } : refusalOf(answer);
    },
    async confirm({ place, holder, offset, wasConfirmed }) {
      checkHolder(holder);
      const answer = await run(scripts.floorConfirm, place, holder, toFixedWidth(offset), wasConfirmed ? '1' : '0');
      return answer[0] === 'confirmed' ? { kind: 'confirmed', floor: offsetOf(answer) } : refusalOf(answer);
    },
    async raise({ place, holder, to }) {
      checkHolder(holder);
      const answer = await run(scripts.floorRaise, place, holder, toFixedWidth(to));
      if (answer[0] === 'raised') return { kind: 'raised', floor: offsetOf(answer) };
      return answer[0] === 'unknown' ? { kind: 'unknown holder' } : incompleteOf(answer);
    },
    async drop({ place, holder }) {
      checkHolder(holder);
      const answer = await run(scripts.floorDrop, place, holder);
      return answer[0] === 'dropped' ? { kind: 'dropped' } : incompleteOf(answer);
    },

    async propose({ place, life, target, required }) {
      const answer = await run(scripts.floorPropose, place, life, toFixedWidth(target), ...required);
      if (answer[0] === 'proposed') return { kind: 'proposed', mark: offsetOf(answer) };
      if (answer[0] === 'held') return { kind: 'held', floor: offsetOf(answer) };
      return answer[0] === 'missing' ? { kind: 'missing', holders: answer.slice(1) } : incompleteOf(answer);
    },
    async holdsMark({ place, life, mark }) {
      const [answer] = await run(scripts.floorHoldsMark, place, life, toFixedWidth(mark));
      return answer === '1';
    },

    async withhold({ place, life }) {
      const answer = await run(scripts.floorWithhold, place, life);
      if (answer[0] === 'withheld') return { kind: 'withheld' };
      return answer[0] === 'complete' ? { kind: 'complete' } : unexpected(answer);
    },
    async install({ place, life, incarnation, mark, floors }) {
      for (const { holder } of floors) checkHolder(holder);
      const entries = floors.flatMap(({ holder, offset }) => [holder, toFixedWidth(offset)]);
      const answer = await run(scripts.floorInstall, place, life, incarnation, toFixedWidth(mark), ...entries);
      if (answer[0] === 'installed') return { kind: 'installed' };
      return answer[0] === 'superseded' ? { kind: 'superseded' } : unexpected(answer);
    },

    async look(place) {
      return readPlace(texts(await connection.run(scripts.floorLook, [floorKey(namespace, place)], [])));
    },
    incarnation: () => readIncarnation(connection),
    async close() {
      connection.close();
    },
  };
}

function offsetOf([, text = '']: readonly string[]): Offset {
  return fromFixedWidth(text);
}

function refusalOf(answer: readonly string[]) {
  return answer[0] === 'below' ? ({ kind: 'below mark', mark: offsetOf(answer) } as const) : incompleteOf(answer);
}

function incompleteOf(answer: readonly string[]) {
  return answer[0] === 'incomplete' ? ({ kind: 'incomplete' } as const) : unexpected(answer);
}

function unexpected(answer: readonly string[]): never {
  throw new TidemarkError({
    code: 'UNEXPECTED_SCRIPT_ANSWER',
    class: ErrorClass.bug,
    message: `a script of the floors answered ${JSON.stringify(answer.join(' '))}`,
  });
}

const FLOOR = 'floor:';

function readPlace(entries: readonly string[]): FloorLook | undefined {
  if (entries.length === 0) return undefined;
  const fields = new Map<string, string>();
  for (let i = 0; i < entries.length; i += 2) fields.set(entries[i] ?? '', entries[i + 1] ?? '');
  const floors: Floor[] = [];
  for (const [field, text] of fields) {
    if (!field.startsWith(FLOOR)) continue;
    const [offset = '', deadline] = text.split(':');
    floors.push({
      holder: field.slice(FLOOR.length),
      offset: fromFixedWidth(offset),
      reservedUntilMs: deadline === undefined ? undefined : Number(deadline),
    });
  }
  floors.sort((a, b) => (a.holder < b.holder ? -1 : 1));
  return { life: fields.get('life') ?? '', mark: fromFixedWidth(fields.get('mark') ?? ''), floors };
}
