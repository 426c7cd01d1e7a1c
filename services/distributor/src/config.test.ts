import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

describe('the configuration', () => {
  it('points at the local stack when nothing is set', () => {
    expect(readConfig({})).toMatchObject({
      TIDEMARK_NAMESPACE: 'tidemark',
      TIDEMARK_REPLICATION_FACTOR: 1,
      TIDEMARK_CHECKPOINT_EVERY_MS: 1_000,
      TIDEMARK_OPEN_TRANSACTION_DEADLINE_MS: 900_000,
      TIDEMARK_BREAKER_DEADLINE_MS: 3_600_000,
      TIDEMARK_ENDED_JOBS_KEPT_MS: 90 * 86_400_000,
      TIDEMARK_ENDED_RUNS_KEPT: 1_000,
      TIDEMARK_LEADERSHIP_TTL_MS: 5_000,
    });
  });

  it('forgets no job within the horizon in which its request may be sent again', () => {
    expect(() => readConfig({ TIDEMARK_ENDED_JOBS_KEPT_MS: String(90 * 86_400_000 - 1) })).toThrow(
      /TIDEMARK_ENDED_JOBS_KEPT_MS/,
    );
  });

  it('names all faults at once', () => {
    const env = { TIDEMARK_KAFKA: 'nowhere', TIDEMARK_CHECKPOINT_EVERY_MS: '5', TIDEMARK_REPLICATION_FACTOR: 'three' };
    expect(() => readConfig(env)).toThrow(/TIDEMARK_KAFKA.*TIDEMARK_REPLICATION_FACTOR.*TIDEMARK_CHECKPOINT_EVERY_MS/s);
  });
});
