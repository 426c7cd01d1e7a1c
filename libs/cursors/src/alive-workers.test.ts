import { expect, it } from 'vitest';
import { aliveWorkers } from './alive-workers.ts';
import { WORKER_SILENT_AFTER_MS } from './limits.ts';

it('counts on those who have spoken within the last three announcements', () => {
  const nowMs = 1_700_000_000_000;
  const worker = (workerId: string, agoMs: number) => ({
    ...{ workerId, host: 'here', pid: 7, handlers: [] },
    atMs: nowMs - agoMs,
  });
  const workers = [worker('a', 0), worker('b', WORKER_SILENT_AFTER_MS), worker('c', WORKER_SILENT_AFTER_MS + 1)];
  expect(aliveWorkers(workers, nowMs).map(({ workerId }) => workerId)).toEqual(['a', 'b']);
});
