/** Dead letters as a worker writes them, as many as a test wants, without a job that gives up on so many records. */
import { deadLetterHeaders, deadLetterTopic } from '@tidemark/jobs';
import { createTopic, produce } from '@tidemark/testkit';

export interface WrittenLetter {
  readonly key: string;
  readonly value: string | Buffer;
  readonly error?: string;
  readonly job?: string;
}

/** Large enough for a batch with a letter of 8 MiB. */
const BYTES_MAX = 16 * 1_024 * 1_024;
/** Of one request to the broker. */
const AT_ONCE = 5_000;

/** Letters of a topic, one behind the other in partition 0. */
export async function writeLetters(topic: string, letters: readonly WrittenLetter[]): Promise<void> {
  const archive = await createTopic(deadLetterTopic(topic), { configs: { 'max.message.bytes': String(BYTES_MAX) } });
  const messages = letters.map(({ key, value, error = 'bad', job = 'job-1' }, index) => {
    const headers = deadLetterHeaders({
      headers: [],
      origin: { topic, partition: 0, offset: BigInt(index) },
      fields: { job, handler: 'count', class: 'data', round: '1', attempt: '1', form: 'record' },
      error,
    });
    return {
      key,
      value,
      headers: Object.fromEntries(headers.map(([name, bytes]) => [name, bytes ?? ''])),
    };
  });
  for (let first = 0; first < messages.length; first += AT_ONCE)
    await produce(archive, messages.slice(first, first + AT_ONCE), { partition: 0 });
}
