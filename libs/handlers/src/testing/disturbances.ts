/**
 * All that can come between a handler and its chunk. Each is tried on a fresh sink and ends with the whole chunk handled by
 * an owner with the next token, so that the effects must be those of an undisturbed run.
 */
import type { Bench, Course } from './bench.ts';
import { differenceOf } from './difference.ts';
import { tokenOfGrant } from './handler-parts.ts';
import { PATIENCE_MS } from './limits.ts';
import { type Ending, inTime, type Owner } from './owner.ts';
import type { Interruption } from './probe.ts';

export interface Disturbance {
  /** For the report. */
  readonly what: string;
  /** Answers what is wrong beside the effects, which are compared afterwards. */
  readonly run: (bench: Bench, course: Course) => Promise<string | undefined>;
}

export function disturbancesOf(
  { steps, calls }: Course,
  { fences }: { readonly fences: boolean },
): readonly Disturbance[] {
  return [
    ...calls.map((call, place) => diesAfterCall(call, place)),
    ...calls.map((call, place) => abortedDuringCall(call, place)),
    ...steps.flatMap((name, step) => [dies(name, step, 'before'), dies(name, step, 'after'), signalled(name, step)]),
    { what: 'the same owner handles the chunk again', run: againBySameOwner },
    { what: 'each record comes twice in a row', run: eachTwice },
    ...calls.map((call, place) => overtakenBeforeCall(call, place, fences)),
    ...steps.flatMap((name, step) => [overtakenBeforeStep(name, step), outOfTimeBeforeStep(name, step)]),
  ];
}

function diesAfterCall(call: string, place: number): Disturbance {
  return {
    what: `the worker dies after handling ${call}, before its cursor moved`,
    async run(bench, course) {
      const owner = bench.owner({ grant: 1 });
      await inTime(owner.open(), 'open');
      await inTime(owner.handle(0, place), call);
      return await nextOwner(bench, course);
    },
  };
}

function abortedDuringCall(call: string, place: number): Disturbance {
  return {
    what: `the signal is aborted while handling ${call}`,
    async run(bench, course) {
      const owner = bench.owner({ grant: 1 });
      await inTime(owner.open(), 'open');
      await inTime(owner.handle(0, place - 1), 'the records before');
      const handling = owner.handle(place, place);
      owner.abort();
      await inTime(handling, `${call}, whose signal was aborted,`);
      return await nextOwner(bench, course);
    },
  };
}

function dies(name: string, step: number, when: Interruption['when']): Disturbance {
  const where = when === 'before' ? 'before' : 'after it did';
  return {
    what: `the worker dies ${where} step ${step + 1}: ${name}`,
    async run(bench, course) {
      const owner = bench.owner({ grant: 1, interruption: { step, when, act: 'die' } });
      await interrupted(owner, openAndHandle(owner));
      return await nextOwner(bench, course);
    },
  };
}

/** Effects that it has when every call that was under way is answered are its own; later ones are new. */
function signalled(name: string, step: number): Disturbance {
  return {
    what: `the signal is aborted after step ${step + 1}: ${name}`,
    async run(bench, course) {
      let before: unknown;
      const onSignal = async (): Promise<void> => {
        before = await bench.snapshot();
      };
      const owner = bench.owner({ grant: 1, interruption: { step, when: 'after', act: 'signal' }, onSignal });
      const working = openAndHandle(owner);
      await interrupted(owner, working);
      await inTime(working, 'the call whose signal was aborted');
      const late = differenceOf(before, await bench.snapshot());
      if (late !== undefined) return `it acts after its signal (- then, + later)\n${late}`;
      return await nextOwner(bench, course);
    },
  };
}

async function againBySameOwner(bench: Bench, course: Course): Promise<string | undefined> {
  const owner = bench.owner({ grant: 1 });
  await inTime(openAndHandle(owner), 'the chunk');
  return faultOf(await answerOf(inTime(owner.handle(), 'the chunk, again,')), owner, course);
}

async function eachTwice(bench: Bench, course: Course): Promise<string | undefined> {
  const owner = bench.owner({ grant: 1, doubled: true });
  return faultOf(await answerOf(inTime(openAndHandle(owner), 'the chunk')), owner, course);
}

/** The older owner lost the range between two calls and does not know it. */
function overtakenBeforeCall(call: string, place: number, fences: boolean): Disturbance {
  return {
    what: `a younger owner handles the chunk, then the older one goes on with ${call}`,
    async run(bench, course) {
      const older = bench.owner({ grant: 1 });
      await inTime(older.open(), 'open');
      await inTime(older.handle(0, place - 1), 'the records before');
      const fault = await nextOwner(bench, course);
      if (fault !== undefined) return fault;
      const answer = await inTime(answerOf(older.handle(place, place)), `${call}, too late,`);
      const late = differenceOf(course.snapshot, await bench.snapshot());
      if (late !== undefined) return late;
      if (fences) return notFenced(answer);
      await inTime(answerOf(older.handle(place + 1)), 'the rest of the chunk, too late,');
      return undefined;
    },
  };
}

/** The older owner lost the range in the middle of a call, and does not know it. */
function overtakenBeforeStep(name: string, step: number): Disturbance {
  return {
    what: `a younger owner handles the chunk while the older one stands before step ${step + 1}: ${name}`,
    run: async (bench, course) => await meanwhile(bench, course, { step, grant: 2, onHeld: (held) => held.stop() }),
  };
}

/** The worker tries again while the call that took too long is still under way; only its signal tells it. */
function outOfTimeBeforeStep(name: string, step: number): Disturbance {
  return {
    what: `the time of a call is over before step ${step + 1}, and the same owner tries again: ${name}`,
    run: async (bench, course) => await meanwhile(bench, course, { step, grant: 1, onHeld: (held) => held.abort() }),
  };
}

/** One stands before a step while another handles the chunk, who has to wait for it when it holds a lock; then it goes on. */
async function meanwhile(
  bench: Bench,
  course: Course,
  { step, grant, onHeld }: { readonly step: number; readonly grant: number; readonly onHeld: (held: Owner) => void },
): Promise<string | undefined> {
  const held = bench.owner({ grant: 1, interruption: { step, when: 'before', act: 'hold' } });
  const heldWork = answerOf(openAndHandle(held));
  await interrupted(held, heldWork);
  onHeld(held);
  const other = bench.owner({ grant, attempt: 2 });
  const otherWork = answerOf(openAndHandle(other));
  await Promise.race([otherWork, standstill(other)]);
  held.steps.goOn();
  await inTime(heldWork, 'the one that was held');
  return faultOf(await inTime(otherWork, 'the other one'), other, course);
}

/** Resolves when the owner has got no answer for a while: it waits for somebody. */
async function standstill(owner: Owner): Promise<void> {
  for (let seen = -1; seen !== owner.steps.activity; ) {
    seen = owner.steps.activity;
    await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  }
}

/** The whole chunk from its beginning, as after a takeover. */
async function nextOwner(bench: Bench, course: Course): Promise<string | undefined> {
  const owner = bench.owner({ grant: 2, attempt: 2 });
  return faultOf(await answerOf(inTime(openAndHandle(owner), 'the next owner')), owner, course);
}

async function openAndHandle(owner: Owner): Promise<Ending> {
  await owner.open();
  return await owner.handle();
}

/** Waits for the interruption; a run that ends before it did not make the steps of the undisturbed one. */
async function interrupted(owner: Owner, work: Promise<unknown>): Promise<void> {
  const ended = work.then(() => {
    throw new Error('it made fewer steps than without an interruption: every run must make the same ones');
  });
  // It may also end later, or never.
  ended.catch(() => undefined);
  await inTime(Promise.race([owner.steps.interrupted, ended]), 'the chunk');
}

type Answer = Ending | { readonly kind: 'failed'; readonly error: unknown };

async function answerOf(work: Promise<Ending>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** What is wrong with how a rightful owner ended. */
function faultOf(answer: Answer, owner: Owner, course: Course): string | undefined {
  if (answer.kind === 'failed') throw answer.error;
  if (answer.kind === 'fenced') return `the rightful owner was answered fenced(${answer.seen})`;
  const refused = [...owner.deadLetters].filter((record) => !course.deadLetters.includes(record));
  return refused.length > 0 ? `a bad record is made of ${refused.join(', ')}, which it handles undisturbed` : undefined;
}

function notFenced(answer: Answer): string | undefined {
  if (answer.kind === 'failed') throw answer.error;
  const expected = `fenced(${tokenOfGrant(2)}) was expected`;
  if (answer.kind === 'settled') return `it took the older token: ${expected}`;
  return answer.seen === tokenOfGrant(2) ? undefined : `it answered fenced(${answer.seen}): ${expected}`;
}
