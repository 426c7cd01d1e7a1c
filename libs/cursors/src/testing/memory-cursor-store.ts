/**
 * The cursor store as a value in memory: the same rules (`range-rules.ts`), the same order of verdicts, no client.
 * A property test holds it and the Lua scripts together, so what a test learns here is true of Redis.
 */
import { mergeIntervals, type Offset, RANGES_PER_JOB_MAX, rangeIdOf, rangeOfId } from '@tidemark/keyspace';
import { boundedLimit, boundedNote, checkAdvance, checkDelay, checkSettle, checkTtl } from '../calls.ts';
import { plannedRanges, storeChanged } from '../installation.ts';
import { takes, Work } from '../job-mode.ts';
import { checkJobId } from '../keys.ts';
import { CANDIDATES_MAX } from '../limits.ts';
import { type CallId, type CursorStore, JobMode, type RangeState, type Refusal, type SplitAnswer } from '../ports.ts';
import {
  type Decision,
  decideAdvance,
  decideClaim,
  decideLease,
  decideRelease,
  decideRenew,
  decideSettle,
  decideStop,
} from '../range-rules.ts';
import { decideSplit } from '../split-rule.ts';
import { NO_TOKEN } from '../token.ts';

export interface MemoryCursorStore extends CursorStore {
  /** As an emptied Redis: nothing is left, and it is another life. */
  loseEverything(): void;
  /** As a restart that kept the data: another life, so every answer is `incomplete` until the jobs are installed again. */
  restart(): void;
  /** As a dump: calling the answer is a restart from it. */
  save(): () => void;
}

interface StoredRange {
  readonly state: RangeState;
  /** The last call that must not act twice, with its answer. */
  readonly last: (CallId & { readonly answer: { readonly kind: string } }) | undefined;
}

interface StoredJob {
  readonly epoch: Offset;
  readonly incarnation: string;
  readonly mode: JobMode;
  readonly ranges: ReadonlyMap<string, StoredRange>;
}

interface RangeRequest {
  readonly call: CallId;
  readonly jobId: string;
  readonly range: { readonly partition: number; readonly start: Offset };
}

export function createMemoryCursorStore(options: { readonly now: () => number }): MemoryCursorStore {
  const { now } = options;
  const jobs = new Map<string, StoredJob>();
  let life = 1;
  const incarnation = (): string => `memory-${life}`;

  const completeJob = (jobId: string): StoredJob | undefined => {
    checkJobId(jobId);
    const job = jobs.get(jobId);
    return job?.incarnation === incarnation() ? job : undefined;
  };

  /** The order of verdicts: incomplete, the answer of a repeat, not running, unknown range, the rule itself. */
  const onRange = <Answer extends { readonly kind: string }>(
    request: RangeRequest,
    whenUnknown: Answer,
    work: Work,
    rule: (range: RangeState, job: StoredJob) => Decision<Answer>,
  ): Answer | Refusal => {
    const job = completeJob(request.jobId);
    if (job === undefined) return { kind: 'incomplete' };
    const rangeId = rangeIdOf(request.range);
    const stored = job.ranges.get(rangeId);
    // A repeat asks for the same operation, so the remembered answer is one of its own.
    if (stored?.last && isSameCall(stored.last, request.call)) return stored.last.answer as Answer;
    if (!takes(job.mode, work)) return { kind: 'not running' };
    if (stored === undefined) return whenUnknown;
    const { answer, next, once } = rule(stored.state, job);
    if (next !== undefined) {
      const state = { ...next, version: stored.state.version + 1n };
      const last = once ? { ...request.call, answer } : stored.last;
      jobs.set(request.jobId, {
        ...job,
        ranges: new Map(job.ranges).set(rangeId, { state, last }),
      });
    }
    return answer;
  };

  const cut = ({ jobId, range, at }: Parameters<CursorStore['split']>[0]): SplitAnswer => {
    const job = completeJob(jobId);
    if (job === undefined) return { kind: 'incomplete' };
    if (!takes(job.mode, Work.starting)) return { kind: 'not running' };
    const parentId = rangeIdOf(range);
    const childId = rangeIdOf({ partition: range.partition, start: at });
    const stored = job.ranges.get(parentId);
    if (stored === undefined) return { kind: 'refused', why: 'closed' };
    if (at > range.start && job.ranges.has(childId)) return { kind: 'split' };
    const decision = decideSplit(stored.state, { at, nowMs: now() });
    if (decision.kind === 'refused') return decision;
    if (job.ranges.size >= RANGES_PER_JOB_MAX) return { kind: 'refused', why: 'full' };
    const { parent, child } = decision;
    const ranges = new Map(job.ranges)
      .set(parentId, { ...stored, state: { ...parent, version: parent.version + 1n } })
      .set(childId, { state: { ...child, version: child.version + 1n }, last: undefined });
    jobs.set(jobId, { ...job, ranges: new Map([...ranges].sort(([a], [b]) => (a < b ? -1 : 1))) });
    return { kind: 'split' };
  };

  return {
    async lease(request) {
      checkTtl(request.leaseTtlMs);
      const { leaseTtlMs, call } = request;
      return onRange(request, { kind: 'closed', status: 'stopped' }, Work.starting, (range, { epoch }) =>
        decideLease(range, { slot: call.slot, epoch, leaseTtlMs, nowMs: now() }),
      );
    },
    async renew(request) {
      checkTtl(request.leaseTtlMs);
      const note = boundedNote(request.note);
      return onRange(request, FENCED, Work.finishing, (range) =>
        decideRenew(range, { ...request, note, nowMs: now() }),
      );
    },
    async claim(request) {
      return onRange(request, FENCED, Work.starting, (range) => decideClaim(range, request));
    },
    async advance(request) {
      checkAdvance(request);
      return onRange(request, FENCED, Work.finishing, (range) => decideAdvance(range, { ...request, nowMs: now() }));
    },
    async settle(request) {
      checkSettle(request);
      return onRange(request, FENCED, Work.finishing, (range) => decideSettle(range, { ...request, nowMs: now() }));
    },
    async parked({ jobId, range }) {
      const parked = completeJob(jobId)?.ranges.get(rangeIdOf(range))?.state.parked;
      return parked?.map(({ dueAtMs, ...record }) => ({ ...record, dueInMs: dueAtMs - now() }));
    },
    async release(request) {
      checkDelay(request.delayMs);
      const note = boundedNote(request.note);
      return onRange(request, FENCED, Work.lettingGo, (range) =>
        decideRelease(range, { ...request, note, nowMs: now() }),
      );
    },
    async stop(request) {
      const note = boundedNote(request.note);
      return onRange(request, FENCED, Work.finishing, (range) => decideStop(range, { ...request, note, nowMs: now() }));
    },

    async candidates({ jobId, limit }) {
      const job = completeJob(jobId);
      if (job === undefined || !takes(job.mode, Work.starting)) return [];
      return [...job.ranges]
        .filter(([, { state }]) => state.status === 'open')
        .map(([rangeId, { state }]) => ({
          rangeId,
          readyAtMs: state.owner === '' ? state.notBeforeMs : state.leaseUntilMs,
        }))
        .sort((a, b) => a.readyAtMs - b.readyAtMs || (a.rangeId < b.rangeId ? -1 : 1))
        .slice(0, boundedLimit(limit, CANDIDATES_MAX))
        .map(({ rangeId, readyAtMs }) => ({ range: rangeOfId(rangeId), readyAtMs }));
    },

    async install(install) {
      const ranges = plannedRanges(install);
      if (install.incarnation !== incarnation()) throw storeChanged(install.jobId, 'it is in another life');
      const present = jobs.get(install.jobId);
      if (present !== undefined && present.epoch > install.epoch) return { kind: 'stale epoch', epoch: present.epoch };
      if (present !== undefined && present.epoch === install.epoch)
        return present.incarnation === incarnation()
          ? { kind: 'installed' }
          : { kind: 'stale epoch', epoch: present.epoch };
      const nowMs = now();
      const stored = ranges.map(({ rangeId, ...range }): [string, StoredRange] => [
        rangeId,
        {
          state: {
            ...range,
            noteSinceMs: range.note === '' ? 0 : nowMs,
            owner: '',
            token: NO_TOKEN,
            leaseUntilMs: 0,
            notBeforeMs: 0,
          },
          last: undefined,
        },
      ]);
      const { epoch, mode = JobMode.running } = install;
      jobs.set(install.jobId, { epoch, mode, incarnation: incarnation(), ranges: new Map(stored) });
      return { kind: 'installed' };
    },
    async split(request) {
      return cut(request);
    },
    async setMode({ jobId, mode }) {
      checkJobId(jobId);
      const job = jobs.get(jobId);
      if (job === undefined || (job.mode === 'halted' && mode === 'draining')) return;
      jobs.set(jobId, { ...job, mode });
    },
    async snapshot(jobId) {
      const job = completeJob(jobId);
      if (job === undefined) return undefined;
      const ranges = [...job.ranges.values()].map(({ state }) => ({ ...state, passed: mergeIntervals(state.passed) }));
      return { epoch: job.epoch, mode: job.mode, ranges };
    },
    async remove({ jobId, epoch }) {
      checkJobId(jobId);
      const present = jobs.get(jobId);
      if (present === undefined || (epoch !== undefined && present.epoch > epoch)) return;
      jobs.delete(jobId);
    },

    incarnation: async () => incarnation(),
    close: async () => {},
    loseEverything() {
      jobs.clear();
      life += 1;
    },
    restart() {
      life += 1;
    },
    save() {
      const dump = new Map(jobs);
      return () => {
        jobs.clear();
        for (const [jobId, job] of dump) jobs.set(jobId, job);
        life += 1;
      };
    },
  };
}

const FENCED = { kind: 'fenced' } as const;

function isSameCall(a: CallId, b: CallId): boolean {
  return a.slot === b.slot && a.sequence === b.sequence;
}
