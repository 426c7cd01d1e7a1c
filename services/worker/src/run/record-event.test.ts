import { deadLetterHeaders } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { eventOfRecord } from './record-event.ts';

const LETTERS = { topic: 'orders.dlq', topicId: 'id-of-letters', partition: 1 };

function letterOf(fields: Readonly<Record<string, string>>) {
  const origin = { topic: 'orders', partition: 4, offset: 17n };
  const headers = deadLetterHeaders({
    headers: [],
    origin,
    fields: { job: 'j', form: 'record', ...fields },
    error: '',
  });
  return { offset: toOffset(3), timestampMs: 5n, key: null, value: Buffer.from('v'), headers };
}

it('a dead letter is the record that it is of, of the topic as that was then', () => {
  const event = eventOfRecord(LETTERS, letterOf({ topic_id: 'id-of-then' }), null);
  expect(event).toMatchObject({ topic: 'orders', topicId: 'id-of-then', partition: 4, offset: 17n, headers: [] });
});

it('the letter of an older worker names no topic id, and that of the letters is none of it', () => {
  expect(eventOfRecord(LETTERS, letterOf({}), null).topicId).toBeUndefined();
});

it('any other record is of the topic that the job reads', () => {
  const record = { ...letterOf({}), headers: [] };
  expect(eventOfRecord(LETTERS, record, null)).toMatchObject({ ...LETTERS, offset: 3n });
});
