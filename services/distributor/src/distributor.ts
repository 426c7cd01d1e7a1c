/**
 * The life of a distributor: sessions, one after the other, while it leads.
 *
 *     ask --leads--> open (fence, load, fill) -> { look for requests; each second a checkpoint } -> closed
 *      ^                                                             |
 *      +--- backoff after any failed commit, rest when fenced -------+
 *
 * It asks before every session: a failed commit may be all that a younger one lets us see of itself, and to open a session
 * is to fence it.
 *
 * One loop does everything in turn, so a session has one transaction at a time and no two parts of it disagree about what
 * is durable.
 */
import { JobPhase } from '@tidemark/jobs';
import { backoff, describeError, ErrorClass, monotonicNowMs, sleep, TidemarkError } from '@tidemark/keyspace';
import { type Candidacy, createCandidacy } from './candidacy.ts';
import {
  AGE_REPORT_EVERY_MS,
  BACKOFF_BASE_MS,
  BACKOFF_MAX_MS,
  BREAKER_DEADLINE_MS,
  CHECKPOINT_EVERY_MS,
  DRAIN_DEADLINE_MS,
  ENDED_JOBS_KEPT_MS,
  ENDED_RUNS_KEPT,
  FLOORS_LOOK_EVERY_MS,
  LEADERSHIP_TTL_MS,
  OPEN_TRANSACTION_DEADLINE_MS,
  PIN_DEADLINE_MS,
  PROOF_TRUST_MS,
  REMOVAL_EVERY_MS,
  SPLIT_QUIET_MS,
} from './limits.ts';
import { runSession } from './session.ts';
import { closeShard, type DistributorParts, openShard, type Shard } from './shard.ts';
import { noSteps } from './steps.ts';
import { fillAtStart } from './store-filling.ts';

type Defaulted =
  | 'nowMs'
  | 'replicationFactor'
  | 'checkpointEveryMs'
  | 'openTransactionDeadlineMs'
  | 'breakerDeadlineMs'
  | 'drainDeadlineMs'
  | 'splitQuietMs'
  | 'leadership'
  | 'leadershipTtlMs'
  | 'pinDeadlineMs'
  | 'floorsLookEveryMs'
  | 'proofTrustMs'
  | 'keeping'
  | 'removalEveryMs'
  | 'onStep'
  | 'metrics';
export type DistributorOptions = Omit<
  DistributorParts,
  Defaulted | 'poison' | 'poisonedSeries' | 'topicIds' | 'isStarted' | 'progress'
> &
  Partial<Pick<DistributorParts, Defaulted>>;

/** `standby`: another one works. With a leadership this one takes over when that is silent; without it has ended. */
export type DistributorPhase = 'running' | 'waiting' | 'standby' | 'stopped' | 'failed';

export interface Distributor {
  readonly phase: DistributorPhase;
  /** Resolves when it ended by `stop` or as standby; rejects with what it cannot go on after. */
  readonly ended: Promise<void>;
  /** Idempotent; resolves when the step in hand is finished and the session closed. The clients stay the caller's. */
  stop(reason: string): Promise<void>;
}

/** Resolves when the first session has restored its jobs and listens. Throws when a service cannot be reached at first. */
export async function startDistributor(options: DistributorOptions, startSignal?: AbortSignal): Promise<Distributor> {
  let isStarted = false;
  const parts = withDefaults(options, () => isStarted);
  const stopping = new AbortController();
  const onAbort = (): void => stopping.abort();
  startSignal?.addEventListener('abort', onAbort, { once: true });
  const candidacy = createCandidacyOf(parts);
  const first = await openFirst(parts, candidacy, stopping.signal);
  startSignal?.removeEventListener('abort', onAbort);
  isStarted = true;

  let phase: DistributorPhase = first === undefined ? 'standby' : 'running';
  const setPhase = (next: DistributorPhase): void => {
    phase = next;
  };
  const stopReporting = reportAge(parts);
  const life = { parts, candidacy, signal: stopping.signal, setPhase };
  const ended = liveOut(first, life).finally(stopReporting);
  // Whoever does not await the end still must not crash the process with it; `ended` keeps its rejection.
  ended.catch((error: unknown) => parts.logger.error({ error }, 'distributor.failed'));
  return {
    get phase() {
      return phase;
    },
    ended,
    stop: async (reason) => {
      parts.logger.debug({ reason }, 'distributor.stopping');
      stopping.abort();
      await ended.catch(() => undefined);
    },
  };
}

function withDefaults(options: DistributorOptions, isStarted: () => boolean): DistributorParts {
  return {
    nowMs: Date.now,
    replicationFactor: 1,
    checkpointEveryMs: CHECKPOINT_EVERY_MS,
    openTransactionDeadlineMs: OPEN_TRANSACTION_DEADLINE_MS,
    breakerDeadlineMs: BREAKER_DEADLINE_MS,
    drainDeadlineMs: DRAIN_DEADLINE_MS,
    splitQuietMs: SPLIT_QUIET_MS,
    leadership: undefined,
    leadershipTtlMs: LEADERSHIP_TTL_MS,
    pinDeadlineMs: PIN_DEADLINE_MS,
    floorsLookEveryMs: FLOORS_LOOK_EVERY_MS,
    proofTrustMs: PROOF_TRUST_MS,
    keeping: { endedMs: ENDED_JOBS_KEPT_MS, runs: ENDED_RUNS_KEPT },
    removalEveryMs: REMOVAL_EVERY_MS,
    onStep: noSteps,
    metrics: undefined,
    ...options,
    poison: new Map(),
    poisonedSeries: new Map(),
    topicIds: new Map(),
    isStarted,
    progress: { checkpointAtMs: undefined },
  };
}

function createCandidacyOf({ leadership, leadershipTtlMs: ttlMs, logger }: DistributorParts): Candidacy | undefined {
  return leadership === undefined ? undefined : createCandidacy({ leadership, ttlMs, logger });
}

/** At the start what is down is named at once. Undefined when another replica leads, or fenced this one in the middle of it. */
async function openFirst(
  parts: DistributorParts,
  candidacy: Candidacy | undefined,
  signal: AbortSignal,
): Promise<Shard | undefined> {
  if (candidacy !== undefined && (await candidacy.ask()).kind === 'led') return undefined;
  try {
    return await openFilled(parts, signal);
  } catch (error) {
    if (candidacy === undefined || !isOfClass(error, ErrorClass.fenced)) {
      await candidacy?.resign();
      throw error;
    }
    await yieldTo(candidacy, error, parts, signal);
    return undefined;
  }
}

/** Whoever fenced us may not take part in the lease; asking at once, we would fence it in turn. */
async function yieldTo(
  candidacy: Candidacy,
  error: unknown,
  parts: DistributorParts,
  signal: AbortSignal,
): Promise<void> {
  parts.logger.warn({ error: describeError(error) }, 'distributor.fenced');
  await candidacy.resign();
  await sleep(parts.leadershipTtlMs, signal);
}

async function openFilled(parts: DistributorParts, signal: AbortSignal): Promise<Shard> {
  const shard = await openShard(parts, signal);
  try {
    await fillAtStart(shard);
  } catch (error) {
    await closeShard(shard);
    throw error;
  }
  parts.logger.info(
    { ...shard.book.counts(), nextOffset: shard.book.nextOffset, epoch: shard.life?.epoch },
    'distributor.session_opened',
  );
  return shard;
}

interface Life {
  readonly parts: DistributorParts;
  readonly candidacy: Candidacy | undefined;
  readonly signal: AbortSignal;
  readonly setPhase: (phase: DistributorPhase) => void;
}

/** Whoever ends, by whatever, leaves the role to another one. */
async function liveOut(first: Shard | undefined, life: Life): Promise<void> {
  try {
    await runSessions(first, life);
  } finally {
    await life.candidacy?.resign();
  }
}

/** `first` is the session that was opened at the start; without one another replica leads. */
async function runSessions(first: Shard | undefined, life: Life): Promise<void> {
  const { parts, candidacy, signal, setPhase } = life;
  let shard = first;
  let failures = 0;
  const standBy = (): void => {
    setPhase('standby');
    forgetNumbers(parts);
  };
  if (first === undefined) standBy();
  while (!signal.aborted) {
    if (shard === undefined && candidacy !== undefined && !(await candidacy.awaitTurn(signal, standBy))) break;
    try {
      shard ??= await openFilled(parts, signal);
      setPhase('running');
      await runSession(shard, () => {
        failures = 0;
      });
    } catch (error) {
      if (signal.aborted) break;
      if (isOfClass(error, ErrorClass.fenced)) {
        standBy();
        if (candidacy === undefined) {
          parts.logger.warn({ error: describeError(error) }, 'distributor.fenced');
          return;
        }
        await yieldTo(candidacy, error, parts, signal);
        continue;
      }
      if (!mayHeal(error)) {
        setPhase('failed');
        throw error;
      }
      setPhase('waiting');
      failures += 1;
      if (failures === 1) parts.logger.warn({ error }, 'distributor.session_lost');
      // What keeps this replica from working may not be in the way of another one.
      else await candidacy?.resign();
      await sleep(
        backoff({ baseMs: BACKOFF_BASE_MS, maxMs: BACKOFF_MAX_MS, attempt: failures, random: Math.random }),
        signal,
      );
    } finally {
      if (shard !== undefined) await closeShard(shard);
      shard = undefined;
    }
  }
  setPhase('stopped');
}

/** What a standby once knew is another replica's to tell. */
function forgetNumbers({ metrics, progress }: DistributorParts): void {
  progress.checkpointAtMs = undefined;
  for (const phase of Object.values(JobPhase)) metrics?.jobs.set(undefined, phase);
}

/** On a timer of its own, so that the age grows while the loop waits for something. */
function reportAge({ metrics, progress }: DistributorParts): () => void {
  const timer = setInterval(() => {
    const { checkpointAtMs } = progress;
    metrics?.checkpointAgeSeconds.set(
      checkpointAtMs === undefined ? undefined : (monotonicNowMs() - checkpointAtMs) / 1000,
    );
  }, AGE_REPORT_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function isOfClass(error: unknown, errorClass: ErrorClass): boolean {
  return error instanceof TidemarkError && error.class === errorClass;
}

/** Another session may go better. A bug or a setting that a person must change will not, and neither will what nobody foresaw. */
function mayHeal(error: unknown): boolean {
  return error instanceof TidemarkError && error.class !== ErrorClass.bug && error.class !== ErrorClass.config;
}
