/** What comes before the first call: the handler is opened, the records are decoded, those that cannot be are dead-lettered. */
import { classifyFault } from '@tidemark/handlers';
import { decodeRecords, type Undecodable } from './decode.ts';
import type { Handling, RunEnding, RunOptions } from './handling.ts';
import { Run } from './run.ts';
import { Settlement } from './settlement.ts';

type Subject = Pick<RunOptions, 'records' | 'settlements' | 'policy'> &
  Partial<Pick<RunOptions, 'signals' | 'recordsMax'>>;

/** A run over the open records; or how it ended before it began, and then it may be prepared again. */
export async function prepareRun(handling: Handling, subject: Subject): Promise<Run | RunEnding> {
  const { job, handler, held, scope, handlers, codec, deadLetters, signals, recordsMax } = handling;
  const { onSpent, metrics } = handling;
  const { records, settlements } = subject;
  const run = {
    job,
    handler,
    partition: held.range.partition,
    scope,
    sendDeadLetters: (letters: Parameters<typeof deadLetters.send>[0]) => deadLetters.send(letters),
    signals,
    trustLeftMs: () => held.trustLeftMs,
    recordsMax,
    onSpent,
    metrics,
    ...subject,
  };
  try {
    await handlers.open(handler);
  } catch (error) {
    return outageOf('unavailable', error);
  }
  if (handler.input === 'raw') return new Run({ ...run, payloads: undefined });
  const decoding = await decodeRecords(codec, records, settlements.openIndexes());
  if (decoding.kind === 'unavailable') return decoding;
  try {
    await buryUndecodable(handling, subject, decoding.undecodable);
  } catch (error) {
    return outageOf('dead letters refused', error);
  }
  return new Run({ ...run, payloads: decoding.payloads });
}

async function buryUndecodable(
  { job, held, scope, deadLetters }: Handling,
  { records, settlements, policy }: Subject,
  undecodable: readonly Undecodable[],
): Promise<void> {
  const { rangeId, token } = scope;
  const { jobId, handler, topic, topicId } = job;
  const common = { jobId, handler, topic, topicId, partition: held.range.partition, rangeId, token };
  if (held.ending !== undefined) return;
  await deadLetters.send(
    undecodable.flatMap(({ index, error }) => {
      const record = records[index];
      const attempt = policy.isWatching ? policy.attemptsBefore(index) : 0;
      return record === undefined ? [] : [{ ...common, record, attempt, faultClass: 'data' as const, error }];
    }),
  );
  for (const { index } of undecodable) settlements.settle(index, Settlement.deadLettered);
}

/** Only outages are expected where this is used; anything else is a bug and goes up. */
function outageOf(kind: 'unavailable' | 'dead letters refused', error: unknown): RunEnding {
  const fault = classifyFault(error);
  if (fault.kind !== 'unavailable') throw error;
  return { kind, dependency: fault.dependency, message: fault.message };
}
