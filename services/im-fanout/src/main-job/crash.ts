/**
 * `npm start -- --crash`: while the job runs, a worker and the relay are killed without warning and started again, and
 * Redis comes back empty. The job must end as if nothing had happened; what was delivered again is counted and bounded.
 */
import { isOver, type JobView, jobVerdictOf } from '@tidemark/control';
import { assertNever } from '@tidemark/keyspace';
import type { Environment } from '@tidemark/observability';
import { restartRedisEmpty } from '@tidemark/stack';
import type { Client } from 'pg';
import { CHUNK_RECORDS } from '../limits.ts';
import { checkedSchema } from '../tables.ts';
import { killProgram, startRelay, startWorker } from './programs.ts';
import type { Check } from './reconcile.ts';
import type { Screen } from './screen.ts';

/** One slot a worker, so that a kill has exactly one chunk in flight. */
export const CRASH_SLOTS = 1;
/** The distributor's interval, and as much again for the checkpoint to be acknowledged on a busy machine. */
const CHECKPOINT_AGE_MS_MAX = 2_000;

/**
 * In this order, each as soon as so much is settled. The killed worker's range cannot end before its lease does, so there
 * is time for all.
 */
const CRASHES = [
  { atPercent: 10, name: 'worker-1' },
  { atPercent: 25, name: 'relay' },
  { atPercent: 40, name: 'redis' },
] as const;
type CrashName = (typeof CRASHES)[number]['name'];

export interface Crashes {
  /** True while something is down on purpose. */
  readonly isUnderWay: boolean;
  onView(view: JobView): void;
  /** Resolves when all is up again; throws the first thing that went wrong. */
  settled(): Promise<void>;
  /** When the old Redis was gone; undefined when it was not emptied. */
  readonly redisLostAt: Date | undefined;
  /** Crashes that did not happen while the job ran. */
  readonly missed: readonly CrashName[];
}

export function planCrashes(screen: Screen, env: Environment): Crashes {
  const waiting: (typeof CRASHES)[number][] = [...CRASHES];
  const notDone: CrashName[] = [];
  let running: Promise<void> | undefined;
  let failure: Error | undefined;
  let redisLostAt: Date | undefined;
  const tell = (text: string): void => screen.line(`  ${'crash'.padEnd(12)}${text}`);
  const crash = async (name: CrashName): Promise<void> => {
    switch (name) {
      case 'worker-1':
        killProgram(name);
        await startWorker(name, env);
        return tell('worker-1 killed without warning, started again');
      case 'relay':
        killProgram(name);
        await startRelay(env);
        return tell('relay killed while messages are posted, started again');
      case 'redis':
        redisLostAt = await restartRedisEmpty();
        if (redisLostAt === undefined) notDone.push(name);
        return tell(
          redisLostAt === undefined
            ? 'NOT DONE: Redis is no local process of this stack'
            : 'Redis killed and back with nothing in it',
        );
      default:
        return assertNever(name);
    }
  };
  return {
    get isUnderWay() {
      return running !== undefined;
    },
    get redisLostAt() {
      return redisLostAt;
    },
    get missed() {
      return [...notDone, ...waiting.map(({ name }) => name)];
    },
    onView({ progress, state }) {
      const next = waiting[0];
      if (running !== undefined || next === undefined || progress.percent < next.atPercent) return;
      if (isOver(jobVerdictOf(state))) return;
      waiting.shift();
      running = crash(next.name)
        .catch((error: unknown) => {
          failure ??= error instanceof Error ? error : new Error(String(error));
        })
        .finally(() => {
          running = undefined;
        });
    },
    async settled() {
      await running;
      if (failure !== undefined) throw failure;
    },
  };
}

export interface Repeats {
  readonly line: string;
  readonly checks: readonly Check[];
}

/**
 * How often records were handled again, by cause, from the handler's own notes. A token names the epoch of the store that
 * granted it: handled again under the same epoch is a takeover, under another one the loss of the store. What the loss
 * brought again was either handled within a checkpoint interval before it, or is the killed worker's chunk, whose range
 * nobody had taken over yet.
 */
export async function judgeRepeats(
  client: Client,
  options: {
    readonly schema: string;
    readonly jobId: string;
    readonly redisLostAt: Date | undefined;
    readonly missed: readonly CrashName[];
  },
): Promise<Repeats> {
  const deliveries = `${checkedSchema(options.schema)}.fanout_deliveries`;
  const { rows } = await client.query<{ handled: number; byTakeover: number; byLoss: number; byLossOlder: number }>(
    `with turns as (
       select delivered_at, split_part(token, ':', 1) as epoch,
              lag(delivered_at) over record as before, lag(split_part(token, ':', 1)) over record as epoch_before
         from ${deliveries} where job_id = $1
       window record as (partition by split_part(range_id, ':', 1), record_offset order by delivered_at))
     select count(*)::int as handled,
            count(*) filter (where epoch = epoch_before)::int as "byTakeover",
            count(*) filter (where epoch <> epoch_before)::int as "byLoss",
            count(*) filter (where epoch <> epoch_before and before < $2::timestamptz - make_interval(secs => $3))::int as "byLossOlder"
       from turns`,
    [options.jobId, options.redisLostAt?.toISOString() ?? null, CHECKPOINT_AGE_MS_MAX / 1000],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('the count answered nothing');
  const { handled, byTakeover, byLoss, byLossOlder } = row;
  return {
    line: `${handled} records handled, ${byTakeover + byLoss} of them again: ${byTakeover + byLossOlder} of the killed worker's chunk (of ${CHUNK_RECORDS}), ${byLoss - byLossOlder} handled within ${CHECKPOINT_AGE_MS_MAX / 1000} s before the loss of Redis`,
    checks: [
      { what: 'crashes that did not happen while the job ran', expected: 0, found: options.missed.length },
      {
        what: 'repeats that neither one chunk nor one checkpoint interval explains',
        expected: 0,
        found: Math.max(0, byTakeover + byLossOlder - CRASH_SLOTS * CHUNK_RECORDS),
      },
    ],
  };
}
