/** One owner of the range: hands the events of a chunk to a handler, in order, as a worker does. */
import { assertNever } from '@tidemark/keyspace';
import { type Answer, badAnswer, isAnswer, isOneForEach } from '../answer.ts';
import { classifyFault } from '../fault.ts';
import { type Handler, type HandlerContext, type HandlerEvent, idempotencyKey } from '../handler.ts';
import { contextOf, tokenOfGrant } from './handler-parts.ts';
import { ATTEMPTS, DEADLINE_MS } from './limits.ts';
import { createSteps, type Interruption, type Probe, type Steps } from './probe.ts';

/** Events as every handler takes them: their payload is what the handler says it is. */
export type Events = readonly HandlerEvent<null>[];

export type Ending = { readonly kind: 'settled' } | { readonly kind: 'fenced'; readonly seen: string };
const SETTLED: Ending = { kind: 'settled' };

export interface OwnerOptions {
  readonly make: (probe: Probe) => Handler;
  readonly events: Events;
  readonly parameters: Readonly<Record<string, string>>;
  /** The how manieth grant of the range, from 1 on: later ones have larger tokens. */
  readonly grant: number;
  readonly attempt: number;
  readonly interruption?: Interruption;
  readonly onSignal?: () => Promise<void>;
}

export interface Owner {
  /** Of its handler. */
  readonly name: string;
  readonly steps: Steps;
  /** One for each call that the chunk takes: `record 3`, or `records 0 to 9` of a batch. */
  readonly calls: readonly string[];
  /** Records that the handler refused as bad. */
  readonly deadLetters: ReadonlySet<string>;
  open(): Promise<void>;
  /** Call by call, until one is answered `fenced` or the signal is aborted. Throws what a worker would give up on. */
  handle(first?: number, last?: number): Promise<Ending>;
  abort(): void;
  /** Stops before the next call. */
  stop(): void;
  close(): Promise<void>;
}

export function createOwner(options: OwnerOptions): Owner {
  const controller = new AbortController();
  const steps = createSteps(options.interruption, async () => {
    controller.abort();
    await options.onSignal?.();
  });
  const handler = options.make(steps);
  const pieces = piecesOf(handler, options.events);
  const token = tokenOfGrant(options.grant);
  const deadLetters = new Set<string>();
  let stopped = false;
  const isOver = (): boolean => controller.signal.aborted || stopped;

  async function settle(events: Events, attempt: number): Promise<Ending> {
    const context = contextOf({ parameters: options.parameters, token, attempt, signal: controller.signal });
    let answer: Answer;
    try {
      answer = await answerOf(handler, events, context);
    } catch (error) {
      return await recover(error, events, attempt);
    }
    return endingOf(answer, events);
  }

  async function recover(error: unknown, events: Events, attempt: number): Promise<Ending> {
    const fault = classifyFault(error, handler.classify);
    if (fault.kind === 'fenced') return { kind: 'fenced', seen: fault.seen };
    // Nobody waits for the answer any more.
    if (isOver()) return SETTLED;
    switch (fault.kind) {
      case 'unavailable':
        throw error;
      case 'transient':
        if (attempt < options.attempt + ATTEMPTS - 1) return await settle(events, attempt + 1);
        if (events.length === 1) throw error;
        return await settleSingly(events);
      case 'data':
        if (events.length > 1) return await settleSingly(events);
        deadLetters.add(nameOf(events));
        return SETTLED;
      default:
        return assertNever(fault);
    }
  }

  async function settleSingly(events: Events): Promise<Ending> {
    for (const event of events) {
      if (isOver()) break;
      const ending = await settle([event], options.attempt);
      if (ending.kind === 'fenced') return ending;
    }
    return SETTLED;
  }

  return {
    name: handler.name,
    steps,
    calls: pieces.map((events) => nameOf(events)),
    deadLetters,
    open: async () => await handler.open?.(),
    async handle(first = 0, last = pieces.length - 1) {
      for (const events of pieces.slice(first, last + 1)) {
        if (isOver()) break;
        const ending = await settle(events, options.attempt);
        if (ending.kind === 'fenced') return ending;
      }
      return SETTLED;
    },
    abort: () => controller.abort(),
    stop: () => {
      stopped = true;
    },
    async close() {
      steps.letPass();
      await handler.close?.();
    },
  };
}

function piecesOf(handler: Handler, events: Events): readonly Events[] {
  const size = handler.handleBatch === undefined ? 1 : (handler.batchRecordsMax ?? events.length);
  const pieces: Events[] = [];
  for (let place = 0; place < events.length; place += size) pieces.push(events.slice(place, place + size));
  return pieces;
}

async function answerOf(handler: Handler, events: Events, context: HandlerContext): Promise<Answer> {
  if (handler.handleBatch !== undefined) return await handler.handleBatch(events, context);
  const [event] = events;
  if (event === undefined) throw new RangeError('no event to handle');
  return await handler.handle(event, context);
}

function endingOf(answer: Answer, events: Events): Ending {
  if (!isAnswer(answer, events.length)) throw badAnswer(answer);
  const outcomes = isOneForEach(answer) ? answer : [answer];
  return outcomes.find((outcome) => outcome.kind === 'fenced') ?? SETTLED;
}

function nameOf(events: Events): string {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return 'no record';
  return first === last ? `record ${idempotencyKey(first)}` : `records ${idempotencyKey(first)} to ${last.offset}`;
}

/** Settles as the promise does, or rejects: a handler that hangs is named. */
export async function inTime<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} did not end within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
