/** The errors of this room. Codes are listed in the README. */
import { describeError, ErrorClass, type ErrorContext, TidemarkError } from '@tidemark/keyspace';

export function unavailable(
  message: string,
  details: { readonly cause?: unknown; readonly context?: ErrorContext } = {},
): TidemarkError {
  return new TidemarkError({ code: 'KAFKA_UNAVAILABLE', class: ErrorClass.unavailable, message, ...details });
}

export function aborted(): TidemarkError {
  return new TidemarkError({
    code: 'ABORTED',
    class: ErrorClass.unavailable,
    message: 'the caller gave the request up',
  });
}

export function configError(code: string, message: string, context: ErrorContext = {}): TidemarkError {
  return new TidemarkError({ code, class: ErrorClass.config, message, context });
}

/** A dependency that is missing, not a bad record: whoever needs the topic waits for it and spends no attempt. */
export function topicNotFound(topic: string): TidemarkError {
  const message = `topic "${topic}" does not exist; it is never created on the way`;
  return new TidemarkError({ code: 'TOPIC_NOT_FOUND', class: ErrorClass.unavailable, message, context: { topic } });
}

export function topicRecreated(
  topic: string,
  ids: { readonly expected: string; readonly actual: string },
): TidemarkError {
  const message = `topic "${topic}" was deleted and created again: its id is ${ids.actual}, not ${ids.expected}`;
  return new TidemarkError({ code: 'TOPIC_RECREATED', class: ErrorClass.lost, message, context: { topic, ...ids } });
}

/** Anything thrown by a client below becomes one of ours. */
export function asUnavailable(thrown: unknown, doing: string): TidemarkError {
  if (thrown instanceof TidemarkError) return thrown;
  return unavailable(`Kafka did not answer while ${doing}: ${describeError(thrown)}`, { cause: thrown });
}
