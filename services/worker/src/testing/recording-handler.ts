/** A handler that remembers what it was given. For tests. */
import {
  defineHandler,
  done,
  type HandlerContext,
  type HandlerEvent,
  type Outcome,
  type RawHandler,
} from '@tidemark/handlers';

export interface RecordingHandler {
  readonly handler: RawHandler;
  /** `partition:offset` in the order of the calls. */
  readonly delivered: string[];
  /** Offsets of partition 0, in the order of the calls. */
  offsets(): number[];
}

type Answer = (event: HandlerEvent<Buffer | null>, context: HandlerContext) => Promise<Outcome> | Outcome;

export function recordingHandler(
  answer: Answer = () => done(),
  more: Partial<Pick<RawHandler, 'concurrency' | 'idempotent' | 'timeoutMs'>> = {},
): RecordingHandler {
  const delivered: string[] = [];
  const handler = defineHandler({
    name: 'recording',
    input: 'raw',
    idempotent: true,
    ...more,
    handle: (event, context) => {
      delivered.push(`${event.partition}:${event.offset}`);
      return answer(event, context);
    },
  });
  const offsets = (): number[] =>
    delivered.flatMap((place) => (place.startsWith('0:') ? [Number(place.slice(2))] : []));
  return { handler, delivered, offsets };
}

/** The whole numbers from `first` to `last`, both included. */
export function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}
