/**
 * What names may look like. Each rule is the strictest of the places where the name is used, so that no room has to
 * escape it and a name that one room took is never refused by another.
 */
import { ErrorClass, TidemarkError } from './errors.ts';
import {
  HANDLER_NAME_CHARACTERS_MAX,
  JOB_ID_CHARACTERS_MAX,
  NAMESPACE_CHARACTERS_MAX,
  TOPIC_NAME_CHARACTERS_MAX,
} from './limits.ts';

const NAMESPACE = /^(?!pg_)[a-z][a-z0-9_]*$/;
const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const HANDLER_NAME = /^[a-z][a-z0-9]*([._-][a-z0-9]+)*$/;
const TOPIC_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/;

export const NAMESPACE_RULE = `1 to ${NAMESPACE_CHARACTERS_MAX} lower-case letters, digits and "_", beginning with a letter but not with "pg_"`;
export const JOB_ID_RULE = `1 to ${JOB_ID_CHARACTERS_MAX} letters, digits, dots, dashes or underscores, beginning with a letter or digit`;
export const HANDLER_NAME_RULE = `lower-case words joined by "-", "." or "_", at most ${HANDLER_NAME_CHARACTERS_MAX} characters`;

/**
 * A namespace begins topic names and transactional ids (Kafka: letters, digits, `.`, `_`, `-`; names that differ only in
 * `.` and `_` collide in its metrics, so no dots) and Redis keys (no braces, which decide the slot), and it is a Postgres
 * schema that people write without quotes (lower case, no dash, and `pg_` belongs to Postgres).
 */
export function isNamespace(text: string): boolean {
  return text.length <= NAMESPACE_CHARACTERS_MAX && NAMESPACE.test(text);
}

/** Returns the namespace, or throws TidemarkError `config` (BAD_NAMESPACE). */
export function checkNamespace(namespace: string): string {
  if (isNamespace(namespace)) return namespace;
  throw new TidemarkError({
    code: 'BAD_NAMESPACE',
    class: ErrorClass.config,
    message: `not a namespace: ${JSON.stringify(namespace.slice(0, 2 * NAMESPACE_CHARACTERS_MAX))}; it must be ${NAMESPACE_RULE}`,
  });
}

/**
 * A job id is the tag of a Redis slot (no braces), part of record keys (no slash), and a word on a command line (no
 * leading dash). `request_job` in libs/outbox checks the same in SQL.
 */
export function isJobId(text: string): boolean {
  return text.length <= JOB_ID_CHARACTERS_MAX && JOB_ID.test(text);
}

/** Lower case, so that two handlers never differ in case only, and nothing that a metric label or a note must quote. */
export function isHandlerName(text: string): boolean {
  return text.length <= HANDLER_NAME_CHARACTERS_MAX && HANDLER_NAME.test(text);
}

/** As Kafka's own check (`org.apache.kafka.common.internals.Topic`). */
export function isTopicName(text: string): boolean {
  return text.length <= TOPIC_NAME_CHARACTERS_MAX && TOPIC_NAME.test(text);
}
