/**
 * Runs a handler over a chunk, interrupts it wherever it can be interrupted, hands the whole chunk to the next owner as a
 * worker would, and compares what came of it with a run that nobody disturbed. (After the test helper of
 * Shopify/job-iteration, which interrupts a job after every iteration.)
 */
import type { AvroHandler, Handler, HandlerEvent, RawHandler } from '../handler.ts';
import { type Bench, type Course, createBench } from './bench.ts';
import { differenceOf } from './difference.ts';
import { type Disturbance, disturbancesOf } from './disturbances.ts';
import { FAILURES_NAMED, FAILURES_SHOWN, INTERRUPTIONS_MAX } from './limits.ts';
import { type Events, inTime } from './owner.ts';
import type { Probe } from './probe.ts';

export interface InterruptionOptions<Payload> {
  /** One chunk: records of one partition in offset order (`eventsOf`). A handful is enough, every record is a boundary. */
  readonly events: readonly HandlerEvent<Payload>[];
  /** Puts the sink, and what the handler reads, into the state before the chunk. */
  readonly reset: () => Promise<unknown> | unknown;
  /** The effects as data, without what differs from run to run (times, drawn ids), in a fixed order. */
  readonly snapshot: () => Promise<unknown> | unknown;
  /** Of the job. */
  readonly parameters?: Readonly<Record<string, string>>;
  /**
   * The handler claims to shut out owners that lost the range: a call that an older owner makes after a younger one
   * has handled the chunk must be answered `fenced(<the younger token>)`.
   */
  readonly fences?: boolean;
}

export interface InterruptionReport {
  /** What was tried, one sentence each. */
  readonly tried: readonly string[];
}

/**
 * `make` gives a fresh handler for each owner, as each worker process has its own; what is to be interrupted inside a call
 * goes through `probe`. Without a probe the boundaries between records are left. `open` and `close` are called, so what
 * `close` closes must be the handler's own.
 *
 * Tried are: death before and after each step, the signal after each step and during each call, death after each call
 * before the cursor moved, the chunk again by the same owner, each record twice in a row, a younger owner who handles the
 * chunk while the older one stands before a step or a call and then goes on, and the same with a second attempt of one
 * owner. Records are handled one by one or in
 * batches of `batchRecordsMax`; `concurrency` is not used, so that every run makes the same steps.
 *
 * Throws an Error with a report when effects differ; when the handler fails undisturbed; when two undisturbed runs leave
 * different snapshots or make different steps; when there are too many boundaries.
 */
export function interruptEverywhere(
  make: (probe: Probe) => RawHandler,
  options: InterruptionOptions<Buffer | null>,
): Promise<InterruptionReport>;
export function interruptEverywhere<Payload>(
  make: (probe: Probe) => AvroHandler<Payload>,
  options: InterruptionOptions<Payload | null>,
): Promise<InterruptionReport>;
export async function interruptEverywhere(
  make: (probe: Probe) => Handler,
  options: InterruptionOptions<unknown>,
): Promise<InterruptionReport> {
  // The payload is what the handler's type says; the overloads have checked it.
  const events = options.events as Events;
  const bench = createBench({ ...options, make, events, parameters: options.parameters ?? {} });
  const course = await undisturbed(bench);
  const { name } = course;
  const disturbances = disturbancesOf(course, { fences: options.fences ?? false });
  if (disturbances.length > INTERRUPTIONS_MAX)
    throw new Error(
      `${name} can be interrupted in ${disturbances.length} ways, more than ${INTERRUPTIONS_MAX}: give fewer events`,
    );
  const failures: Failure[] = [];
  for (const disturbance of disturbances) {
    const failure = await tryOne(bench, disturbance, course);
    if (failure !== undefined) failures.push({ what: disturbance.what, failure });
  }
  if (failures.length > 0) throw new Error(reportOf(name, failures, disturbances.length));
  return { tried: disturbances.map(({ what }) => what) };
}

/** Twice, for what is not the same by itself cannot be compared with anything. */
async function undisturbed(bench: Bench): Promise<Course> {
  const first = await undisturbedRun(bench);
  const difference = differenceOf(first, await undisturbedRun(bench));
  if (difference === undefined) return first;
  throw new Error(`two undisturbed runs of ${first.name} differ; leave out what cannot be the same:\n${difference}`);
}

async function undisturbedRun(bench: Bench): Promise<Course> {
  await bench.reset();
  const owner = bench.owner({ grant: 1 });
  const { name, calls } = owner;
  try {
    await inTime(owner.open(), 'open');
    const ending = await inTime(owner.handle(), 'the chunk');
    if (ending.kind === 'fenced') throw new Error(`it answered fenced(${ending.seen}) to the only owner`);
    const snapshot = await bench.snapshot();
    return { name, snapshot, deadLetters: [...owner.deadLetters], steps: [...owner.steps.names], calls };
  } catch (error) {
    throw new Error(`${name} fails without any interruption: ${describe(error)}`, { cause: error });
  } finally {
    await bench.clear();
  }
}

/** What went wrong, or undefined. */
async function tryOne(bench: Bench, disturbance: Disturbance, course: Course): Promise<string | undefined> {
  await bench.reset();
  try {
    const fault = await disturbance.run(bench, course);
    if (fault !== undefined) return fault;
    return differenceOf(course.snapshot, await bench.snapshot());
  } catch (error) {
    return `it fails: ${describe(error)}`;
  } finally {
    await bench.clear();
  }
}

interface Failure {
  readonly what: string;
  readonly failure: string;
}

function reportOf(name: string, failures: readonly Failure[], tried: number): string {
  const shown = failures
    .slice(0, FAILURES_SHOWN)
    .map(({ what, failure }, place) => `${place + 1}. ${what}\n${indented(failure)}`);
  const named = failures.slice(FAILURES_SHOWN, FAILURES_NAMED).map(({ what }) => `   ${what}`);
  const rest = failures.length - shown.length - named.length;
  return [
    `${failures.length} of ${tried} interruptions change what ${name} does (- expected, + found)`,
    ...shown,
    ...(named.length > 0 ? [['also:', ...named].join('\n')] : []),
    ...(rest > 0 ? [`… and ${rest} more`] : []),
  ].join('\n\n');
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '   ');
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
