/**
 * Is a `verify` worth asking? One that never says `missing` proves nothing, one that does not know its own effects accuses
 * a job that did nothing wrong.
 */
import { type Answer, badAnswer, isAnswer, isOneForEach } from '../answer.ts';
import { classifyFault } from '../fault.ts';
import { type AvroHandler, type Handler, type HandlerEvent, idempotencyKey, type RawHandler } from '../handler.ts';
import { checkedVerdicts, type Verdict } from '../verify.ts';
import { contextOf } from './handler-parts.ts';
import type { Events } from './owner.ts';

export interface VerifyCheckOptions<Payload> {
  /** As for `interruptEverywhere`: one chunk, a handful of records. */
  readonly events: readonly HandlerEvent<Payload>[];
  /** Puts the sink, and what the handler reads, into the state before the chunk. */
  readonly reset: () => Promise<unknown> | unknown;
  /** Of the job. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/**
 * Asks `verify` twice: after `reset`, when nothing may be present, and after the handler was given the records one after
 * the other, when each that it answered `done` must be; those that it refuses as bad are left out. Throws an Error that
 * names each record that is told wrongly; also when the handler has no `verify`, or fails.
 */
export function checkVerify(handler: RawHandler, options: VerifyCheckOptions<Buffer | null>): Promise<void>;
export function checkVerify<Payload>(
  handler: AvroHandler<Payload>,
  options: VerifyCheckOptions<Payload | null>,
): Promise<void>;
export async function checkVerify(handler: Handler, options: VerifyCheckOptions<unknown>): Promise<void> {
  const { verify } = handler;
  if (verify === undefined) throw new Error(`${handler.name} has no verify`);
  // The payload is what the handler's type says; the overloads have checked it.
  const events = options.events as Events;
  const context = contextOf({ parameters: options.parameters ?? {} });
  await options.reset();
  await handler.open?.();
  try {
    const verdicts = async (asked: Events): Promise<readonly Verdict[]> =>
      checkedVerdicts(await verify(asked, context), asked.length);
    const before = await verdicts(events);
    const outcomes = new Map<HandlerEvent<null>, string>();
    for (const event of events) {
      const kind = await outcomeOf(handler, event, options.parameters ?? {});
      if (kind !== 'refused') outcomes.set(event, kind);
    }
    const settled = [...outcomes.keys()];
    const after = await verdicts(settled);
    const faults = [
      ...events.flatMap((event, place) => early(event, before[place])),
      ...settled.flatMap((event, place) => late(event, outcomes.get(event), after[place])),
    ];
    if (faults.length > 0) throw new Error(`verify of ${handler.name} tells it wrongly:\n${faults.join('\n')}`);
  } finally {
    await handler.close?.();
  }
}

async function outcomeOf(
  handler: Handler,
  event: HandlerEvent<null>,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const context = contextOf({ parameters });
  let answer: Answer;
  try {
    answer =
      handler.handleBatch === undefined
        ? await handler.handle(event, context)
        : await handler.handleBatch([event], context);
  } catch (error) {
    if (classifyFault(error, handler.classify).kind === 'data') return 'refused';
    throw error;
  }
  if (!isAnswer(answer, 1)) throw badAnswer(answer);
  const [outcome] = isOneForEach(answer) ? answer : [answer];
  return outcome?.kind ?? '';
}

function early(event: HandlerEvent<null>, verdict: Verdict | undefined): readonly string[] {
  return verdict?.kind === 'present' || verdict?.kind === 'duplicate'
    ? [`${idempotencyKey(event)}: ${verdict.kind} before it was handled`]
    : [];
}

function late(event: HandlerEvent<null>, outcome: string | undefined, verdict: Verdict | undefined): readonly string[] {
  const isRight = outcome === 'done' ? verdict?.kind === 'present' : verdict?.kind !== 'duplicate';
  return isRight ? [] : [`${idempotencyKey(event)}: ${verdict?.kind} after it was handled (${outcome})`];
}
