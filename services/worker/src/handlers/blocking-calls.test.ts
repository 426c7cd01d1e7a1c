import { silentLogger } from '@tidemark/observability';
import { describe, expect, it, vi } from 'vitest';
import { BlockingCalls } from './blocking-calls.ts';

const call = { jobId: 'job', handler: 'busy' };

describe('BlockingCalls', () => {
  it('lets calls be that leave the lease alone', () => {
    const calls = new BlockingCalls({ leaseTtlMs: 10_000, logger: silentLogger });
    expect(calls.saw({ ...call, records: 1_000, ms: 4_999 })).toBeUndefined();
    expect(calls.recordsMax('job')).toBe(Number.POSITIVE_INFINITY);
  });

  it('names the handler once, and cuts the next batches so that a call takes a fifth of the lease', () => {
    const warn = vi.fn();
    const calls = new BlockingCalls({ leaseTtlMs: 2_000, logger: { ...silentLogger, warn } });
    const note = 'slow: handler busy blocked its worker for 2300 ms, a lease lasts 2000 ms';
    expect(calls.saw({ ...call, records: 10, ms: 2_300 })).toBe(note);
    expect(calls.recordsMax('job')).toBe(1);
    expect(calls.recordsMax('another')).toBe(Number.POSITIVE_INFINITY);
    expect(calls.saw({ ...call, records: 1, ms: 2_300 })).toBe(note);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(expect.objectContaining({ handler: 'busy' }), 'handler.blocked_event_loop');
    calls.saw({ jobId: 'long', handler: 'busy', records: 1_000, ms: 10_000 });
    expect(calls.recordsMax('long')).toBe(40);
  });
});
