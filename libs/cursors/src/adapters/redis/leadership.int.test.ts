import { services, uniqueNamespace } from '@tidemark/testkit';
import { afterAll } from 'vitest';
import { leadershipContract } from '../../testing/leadership.contract.ts';
import { createRedisLeadership } from './leadership.ts';
import { PATIENT_MS, removeNamespace } from './test-access.ts';

const url = services().redis;
const namespaces: string[] = [];
afterAll(async () => {
  for (const namespace of namespaces) await removeNamespace(url, namespace);
});

leadershipContract('Redis', () => {
  const namespace = uniqueNamespace('leadership');
  namespaces.push(namespace);
  return createRedisLeadership({ url, namespace, retryForMs: PATIENT_MS });
});
