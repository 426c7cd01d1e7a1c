import type { JobState } from '@tidemark/contracts';
import { NO_COUNTS } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TransitionTime } from './job-audit.ts';
import { isTerminal, JobPhase, type JobTransition, ranMsOf, transition } from './job-state.ts';
import { samplePin, sampleRequest, sampleState } from './testing/index.ts';

const time = { atMs: 1_700_000_000_500n, actor: 'distributor' };
const place = { partition: 0, offset: 7n };
const result = { totals: { ...NO_COUNTS, ok: 3n }, lost: [] };
const request = sampleRequest({ requestedBy: 'ann', note: 'because' });
const ask = { kind: 'requested', request, place } as const;

const by = { reason: 'go', actor: 'bob', place };
const raised = { budget: null, deadLettersMax: -1n };
const deadlineAtMs = time.atMs + 1_000n;
const every: readonly JobTransition[] = [
  { kind: 'refused', reason: 'no' },
  { kind: 'pinned', pin: samplePin() },
  { kind: 'accepted' },
  { kind: 'completed', reason: 'clean', result },
  { kind: 'broken', reason: 'lost', result },
  { kind: 'suspended', reason: 'open transaction at 5' },
  { kind: 'pausing', commandId: 'c-1', deadlineAtMs, ...by },
  { kind: 'paused', how: 'drained' },
  { kind: 'killed', commandId: 'c-2', ...by },
  { kind: 'resumed', commandId: 'c-3', ...raised, ...by },
  { kind: 'cancelling', commandId: 'c-4', deadlineAtMs, ...by },
  { kind: 'cancelled', how: 'drained', result },
  // Of a job that is not held; what holds do is below.
  { kind: 'released', commandId: 'c-5', ...by },
  { kind: 'hold over' },
];
const kindsAllowed: Readonly<Record<string, readonly string[]>> = {
  REQUESTED: ['refused', 'pinned'],
  PINNING: ['refused', 'accepted', 'cancelling'],
  RUNNING: ['completed', 'broken', 'suspended', 'pausing', 'killed', 'cancelling'],
  PAUSING: ['completed', 'broken', 'paused', 'killed', 'cancelling'],
  PAUSED: ['resumed', 'cancelling'],
  SUSPENDED: ['resumed', 'cancelling'],
  CANCELLING: ['cancelled'],
};

describe('job states', () => {
  it('a request makes a job, and says who asked and why', () => {
    const answer = transition(undefined, ask, time);
    expect(answer).toMatchObject({
      kind: 'moved',
      state: { jobId: 'job-1', state: 'REQUESTED', requestedAtMs: time.atMs, lastCommandOffset: 7n },
      events: [{ kind: 'JobRequested', actor: 'ann', reason: 'because' }],
    });
  });

  it('F6: the same id with the same content is the same job, whoever sends it and in whatever state it is', () => {
    for (const phase of Object.values(JobPhase)) {
      const state = sampleState({ request, state: phase });
      const again = { ...ask, request: { ...request, requestedBy: 'someone else' } };
      expect(transition(state, again, time)).toEqual({ kind: 'same', state });
    }
  });

  it('F6: the same id with other content is refused, audited, and changes nothing', () => {
    const state = sampleState({ request });
    const answer = transition(state, { ...ask, request: { ...request, topic: 'other' } }, time);
    expect(answer.kind).toBe('refused');
    expect(answer.kind === 'refused' && answer.events.map(({ kind }) => kind)).toEqual(['JobDuplicateRefused']);
  });

  it('takes exactly the drawn transitions', () => {
    for (const phase of Object.values(JobPhase)) {
      for (const event of every) {
        const answer = transition(sampleState({ state: phase, deadlineAtMs }), event, time);
        const allowed = kindsAllowed[phase]?.includes(event.kind) ?? false;
        const expected = allowed ? 'moved' : 'refused';
        expect([phase, event.kind, answer.kind]).toEqual([phase, event.kind, expected]);
      }
    }
  });

  it('a state of tomorrow is not over, and nothing moves it', () => {
    expect(isTerminal('RESTING')).toBe(false);
    for (const event of every) {
      const { kind } = transition(sampleState({ state: 'RESTING' }), event, time);
      expect([event.kind, kind]).toEqual([event.kind, 'refused']);
    }
  });

  it('the first terminal event wins, whatever comes after it', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...every), { maxLength: 12 }), (events) => {
        let state = sampleState({ state: 'REQUESTED', pin: null });
        let ended: string | undefined;
        for (const event of events) {
          const answer = transition(state, event, time);
          if (answer.kind === 'moved') {
            expect(ended).toBeUndefined();
            expect(answer.events.length).toBeGreaterThan(0);
            state = answer.state;
          }
          if (isTerminal(state.state)) ended ??= state.state;
        }
        expect(ended === undefined || state.state === ended).toBe(true);
      }),
    );
  });

  it('a pin fixes the window, and only the acceptance starts the job', () => {
    const pinned = transition(
      sampleState({ state: 'REQUESTED', pin: null }),
      { kind: 'pinned', pin: samplePin() },
      time,
    );
    expect(pinned).toMatchObject({ kind: 'moved', state: { state: 'PINNING', pin: samplePin() } });
    expect(pinned).toMatchObject({ events: [{ kind: 'JobPinned', pin: samplePin() }] });
    const accepted = pinned.kind === 'moved' ? transition(pinned.state, { kind: 'accepted' }, time) : pinned;
    expect(accepted).toMatchObject({ kind: 'moved', state: { state: 'RUNNING', pin: samplePin() } });
    expect(accepted).toMatchObject({ events: [{ kind: 'JobStarted' }] });
  });

  it('an end keeps its numbers', () => {
    expect(transition(sampleState(), { kind: 'completed', reason: 'clean', result }, time)).toMatchObject({
      state: { state: 'COMPLETED', reason: 'clean', totals: result.totals, updatedAtMs: time.atMs },
      events: [{ kind: 'JobCompleted', totals: result.totals }],
    });
  });

  it('a command keeps its place and id, and its reason is the reason of the state until the wait is over', () => {
    const pausing = moved(sampleState(), { kind: 'pausing', commandId: 'p', deadlineAtMs, ...by });
    expect(pausing).toMatchObject({
      state: { state: 'PAUSING', reason: 'go', deadlineAtMs, lastCommandOffset: 7n, commandIds: ['p'] },
      events: [{ kind: 'JobPausing', actor: 'bob', reason: 'go' }],
    });
    const paused = moved(pausing.state, { kind: 'paused', how: 'drained' });
    expect(paused).toMatchObject({
      state: { state: 'PAUSED', reason: 'go', deadlineAtMs: 0n },
      events: [{ kind: 'JobPaused', actor: 'distributor', reason: 'drained' }],
    });
    const cancelling = moved(paused.state, { kind: 'cancelling', commandId: 'x', deadlineAtMs, ...by });
    expect(moved(cancelling.state, { kind: 'cancelled', how: 'drained', result })).toMatchObject({
      state: { state: 'CANCELLED', reason: 'go', totals: result.totals, commandIds: ['p', 'x'] },
      events: [{ kind: 'JobCancelled', reason: 'drained', totals: result.totals }],
    });
  });

  it('a killed job is paused at once, and says that it was killed', () => {
    expect(moved(sampleState(), { kind: 'killed', commandId: 'k', ...by })).toMatchObject({
      state: { state: 'PAUSED', reason: 'killed: go' },
      events: [{ kind: 'JobPaused', actor: 'bob', reason: 'killed: go' }],
    });
  });

  it('only an earlier deadline changes what is being paused or cancelled already', () => {
    const pausing = sampleState({ state: 'PAUSING', deadlineAtMs });
    const sooner = { kind: 'pausing', commandId: 'now', ...by, deadlineAtMs: time.atMs } as const;
    expect(moved(pausing, sooner).state).toMatchObject({ state: 'PAUSING', deadlineAtMs: time.atMs });
    const answer = transition(pausing, { ...sooner, deadlineAtMs }, time);
    expect(answer).toMatchObject({ kind: 'refused', reason: 'job job-1 is PAUSING: it is being paused already' });
  });

  it('a command id is applied once, also when the job has ended since', () => {
    const resume = { kind: 'resumed', commandId: 'r', ...raised, ...by } as const;
    const { state } = moved(sampleState({ state: 'PAUSED' }), resume);
    const paused = { ...state, state: 'PAUSED' };
    expect(transition(paused, resume, time)).toEqual({ kind: 'same', state: paused });
    const ended = { ...state, state: 'COMPLETED' };
    expect(transition(ended, resume, time)).toEqual({ kind: 'same', state: ended });
    expect(transition(state, { ...resume, commandId: 'r-2' }, time)).toMatchObject({
      reason: 'job job-1 is RUNNING: it is running already',
    });
  });

  it('remembers the newest command ids, and not more of them than it must', () => {
    let state = sampleState({ state: 'PAUSED' });
    for (let index = 0; index < 40; index++) {
      const resumed = moved(state, { kind: 'resumed', commandId: `r-${index}`, ...raised, ...by });
      state = { ...resumed.state, state: 'PAUSED' };
    }
    expect(state.commandIds).toHaveLength(32);
    expect([state.commandIds[0], state.commandIds.at(-1)]).toEqual(['r-8', 'r-39']);
  });

  it('resume raises what is given and leaves the rest', () => {
    const budget = { secondsMax: 5n, chunksMax: 0n, failuresMax: 0n };
    const first = moved(sampleState({ state: 'SUSPENDED' }), {
      kind: 'resumed',
      commandId: 'a',
      budget,
      deadLettersMax: 7n,
      ...by,
    });
    expect(first.state).toMatchObject({ state: 'RUNNING', budget, deadLettersMax: 7n });
    const again = moved({ ...first.state, state: 'SUSPENDED' }, { kind: 'resumed', commandId: 'b', ...raised, ...by });
    expect(again.state).toMatchObject({ budget, deadLettersMax: 7n });
  });

  it('counts the time in RUNNING, and none outside of it', () => {
    const at = (atMs: bigint) => ({ ...time, atMs });
    const running = sampleState({ runningSinceMs: 1_000n, ranMs: 0n });
    expect(ranMsOf(running, 4_000n)).toBe(3_000n);
    const paused = moved(running, { kind: 'killed', commandId: 'k', ...by }, at(5_000n)).state;
    expect(paused).toMatchObject({ ranMs: 4_000n, runningSinceMs: 0n });
    expect(ranMsOf(paused, 9_000n)).toBe(4_000n);
    const resumed = moved(paused, { kind: 'resumed', commandId: 'r', ...raised, ...by }, at(9_000n)).state;
    expect(ranMsOf(resumed, 10_000n)).toBe(5_000n);
    // A clock that was set back takes nothing away.
    expect(ranMsOf(resumed, 8_000n)).toBe(4_000n);
    const older = sampleState({ runningSinceMs: 0n, updatedAtMs: 2_000n });
    expect(ranMsOf(older, 3_000n)).toBe(1_000n);
  });
});

function moved(state: JobState, event: JobTransition, at: TransitionTime = time) {
  const answer = transition(state, event, at);
  if (answer.kind !== 'moved') throw new Error(`${event.kind}: ${JSON.stringify(answer.kind)}`);
  return answer;
}

describe('what the log keeps for an audit', () => {
  const wish = sampleRequest({ holdForAuditMs: 60_000n });
  const held = sampleState({ request: wish, heldForAuditUntilMs: -1n });

  it('is kept from the request on, and its time begins with the end, whichever', () => {
    expect(transition(undefined, { ...ask, request: wish }, time)).toMatchObject({
      state: { heldForAuditUntilMs: -1n },
    });
    expect(transition(undefined, ask, time)).toMatchObject({ state: { heldForAuditUntilMs: 0n } });
    const untilMs = { heldForAuditUntilMs: time.atMs + 60_000n };
    const ends = [
      ['RUNNING', { kind: 'completed', reason: 'clean', result }],
      ['PAUSING', { kind: 'broken', reason: 'lost', result }],
      ['CANCELLING', { kind: 'cancelled', how: 'drained', result }],
    ] as const;
    for (const [state, event] of ends) {
      expect(transition({ ...held, state }, event, time)).toMatchObject({ state: untilMs });
      expect(transition({ ...held, state, pin: samplePin([[4n, 4n]]) }, event, time)).toMatchObject({
        state: { heldForAuditUntilMs: 0n },
      });
      expect(transition({ ...held, state, heldForAuditUntilMs: 0n }, event, time)).toMatchObject({
        state: { heldForAuditUntilMs: 0n },
      });
    }
    const refused = transition({ ...held, state: 'PINNING' }, { kind: 'refused', reason: 'no' }, time);
    expect(refused).toMatchObject({ state: { heldForAuditUntilMs: 0n } });
  });

  it('is released in every state once, and nothing else of the job changes', () => {
    for (const phase of [...Object.values(JobPhase), 'RESTING']) {
      const before = { ...held, state: phase, deadlineAtMs, runningSinceMs: 5n };
      const after = moved(before, { kind: 'released', commandId: 'c-9', ...by });
      const applied = { lastCommandPartition: 0, lastCommandOffset: 7n, commandIds: ['c-9'], updatedAtMs: time.atMs };
      expect(after.state).toEqual({ ...before, heldForAuditUntilMs: 0n, ...applied });
      expect(after.events).toMatchObject([{ kind: 'JobAuditHoldReleased', actor: 'bob', reason: 'go' }]);
      const again = { kind: 'released', commandId: 'c-10', ...by } as const;
      expect(transition(after.state, again, time)).toMatchObject({ kind: 'refused' });
      expect(transition(after.state, { ...again, commandId: 'c-9' }, time)).toMatchObject({ kind: 'same' });
    }
  });

  it('ends at its deadline and not before, and never while the job goes on', () => {
    const ended = { ...held, state: 'COMPLETED', heldForAuditUntilMs: time.atMs };
    expect(moved(ended, { kind: 'hold over' })).toMatchObject({
      state: { state: 'COMPLETED', heldForAuditUntilMs: 0n },
      events: [{ kind: 'JobAuditHoldEnded', reason: 'nobody proved it within 60 s of its end' }],
    });
    const early = { ...ended, heldForAuditUntilMs: time.atMs + 1n };
    expect(transition(early, { kind: 'hold over' }, time)).toMatchObject({ kind: 'refused' });
    expect(transition(held, { kind: 'hold over' }, time)).toMatchObject({ kind: 'refused' });
  });
});

it('floors that a guard released are noted once for each partition and holder, and told together', () => {
  const floor = (partition: number, ofAudit = false) => ({ partition, ofAudit, fromOffset: 5n, atMs: 1n });
  const first = moved(sampleState(), { kind: 'floors released', floors: [floor(0), floor(1)] });
  expect(first).toMatchObject({
    state: { state: 'RUNNING', releasedFloors: [floor(0), floor(1)] },
    events: [{ kind: 'JobFloorReleased', reason: expect.stringContaining('in partition 0 from 5 on, 1 from 5 on:') }],
  });
  expect(transition(first.state, { kind: 'floors released', floors: [floor(1)] }, time)).toMatchObject({
    kind: 'same',
  });
  const more = moved(first.state, { kind: 'floors released', floors: [floor(1), floor(1, true)] });
  expect(more.state.releasedFloors).toEqual([floor(0), floor(1), floor(1, true)]);
  const many = Array.from({ length: 12 }, (_, partition) => floor(partition + 10));
  expect(moved(more.state, { kind: 'floors released', floors: many }).events[0]?.reason).toContain(' and 2 more:');
});
