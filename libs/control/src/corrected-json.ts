/** The value of a correction that somebody wrote as JSON. */
import type { Codec } from '@tidemark/contracts';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';

/**
 * As the codec encodes JSON for the topic. It takes texts that Postgres printed, so a topic without a schema would be given
 * whatever a person typed: that is looked at here. Throws `data` (BAD_ARGUMENT) for what is no JSON.
 */
export function correctedJson(codec: Pick<Codec, 'encodeJsonFor'>, topic: string, json: string): Promise<Buffer> {
  try {
    JSON.parse(json);
  } catch (error) {
    const message = `the new value is no JSON: ${describeError(error)}`;
    throw new TidemarkError({ code: 'BAD_ARGUMENT', class: ErrorClass.data, message, cause: error });
  }
  return codec.encodeJsonFor(topic, json);
}
