/** The record of a message on the wire. Its type is generated from the schema: `ImMessage` of @tidemark/contracts. */
import { readFileSync } from 'node:fs';

/** Avro JSON text, to be registered for the topic of the messages. */
export function messageSchema(): string {
  return readFileSync(new URL('../../../schemas/im-message.avsc', import.meta.url), 'utf8');
}
