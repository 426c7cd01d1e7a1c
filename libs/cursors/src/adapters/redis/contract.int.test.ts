import { services, uniqueNamespace } from '@tidemark/testkit';
import { afterAll } from 'vitest';
import { cursorStoreContract } from '../../testing/cursor-store.contract.ts';
import { floorStoreContract } from '../../testing/floor-store.contract.ts';
import { scheduleContract } from '../../testing/schedule.contract.ts';
import { createRedisCursorStore, createRedisFloorStore, createRedisSchedule } from './index.ts';
import { PATIENT_MS, removeNamespace } from './test-access.ts';

// The stack's Redis is in cluster mode: a script that spans two slots, or touches a key it was not given, fails here (E7).
const url = services().redis;
const namespaces: string[] = [];

function freshNamespace(): string {
  const namespace = uniqueNamespace('cursors');
  namespaces.push(namespace);
  return namespace;
}

afterAll(async () => {
  for (const namespace of namespaces) await removeNamespace(url, namespace);
});

cursorStoreContract('Redis', () =>
  createRedisCursorStore({ url, namespace: freshNamespace(), retryForMs: PATIENT_MS }),
);
scheduleContract('Redis', () => createRedisSchedule({ url, namespace: freshNamespace(), retryForMs: PATIENT_MS }));
floorStoreContract('Redis', () => createRedisFloorStore({ url, namespace: freshNamespace(), retryForMs: PATIENT_MS }));
