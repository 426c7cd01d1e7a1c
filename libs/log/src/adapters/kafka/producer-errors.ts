/** What an error of kafkajs means to us. Total: anything unknown is `unavailable`, because the outcome is unknown, too. */
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { asUnavailable, configError } from './errors.ts';

/** kafkajs does not know the newer name of being fenced; it keeps the number. */
const PRODUCER_FENCED = 90;
const CAUSES_MAX = 10;

const FENCED: ReadonlySet<string> = new Set([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'TRANSACTION_COORDINATOR_FENCED',
]);
const REFUSED: ReadonlySet<string> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
  'CORRUPT_MESSAGE',
]);
const FORBIDDEN: ReadonlySet<string> = new Set([
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'SASL_AUTHENTICATION_FAILED',
  'INVALID_TRANSACTION_TIMEOUT',
]);

export function producerError(thrown: unknown, doing: string): TidemarkError {
  if (thrown instanceof TidemarkError) return thrown;
  for (const { type, code } of causesOf(thrown)) {
    if (type === 'UNKNOWN_TOPIC_OR_PARTITION') return topicGone(thrown, doing);
    if (FENCED.has(type) || code === PRODUCER_FENCED) return fenced(thrown, doing);
    if (REFUSED.has(type)) return refused(thrown, doing, type);
    if (FORBIDDEN.has(type)) return configError('KAFKA_REFUSED', `Kafka refuses ${doing}: ${describeError(thrown)}`);
  }
  return asUnavailable(thrown, doing);
}

/** It was there when the records were placed. */
function topicGone(cause: unknown, doing: string): TidemarkError {
  const message = `a topic does not exist any more while ${doing}; it is never created on the way`;
  return new TidemarkError({ code: 'TOPIC_NOT_FOUND', class: ErrorClass.unavailable, message, cause });
}

function fenced(cause: unknown, doing: string): TidemarkError {
  const message = `a newer session has fenced this producer, or its transaction timed out, while ${doing}`;
  return new TidemarkError({ code: 'PRODUCER_FENCED', class: ErrorClass.fenced, message, cause });
}

function refused(cause: unknown, doing: string, type: string): TidemarkError {
  const message = `the broker refuses a record while ${doing}: ${type}`;
  return new TidemarkError({ code: 'RECORD_REFUSED', class: ErrorClass.data, message, cause, context: { type } });
}

/** kafkajs wraps its protocol errors once or twice. */
function causesOf(thrown: unknown): readonly { type: string; code: unknown }[] {
  const found: { type: string; code: unknown }[] = [];
  let error: unknown = thrown;
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error; depth++) {
    const { type, code } = error as Error & { type?: unknown; code?: unknown };
    found.push({ type: typeof type === 'string' ? type : '', code });
    error = error.cause;
  }
  return found;
}
