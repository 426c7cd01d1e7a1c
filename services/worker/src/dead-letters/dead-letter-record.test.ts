import { deadLetterFacts, editedHeaders } from '@tidemark/jobs';
import type { RecordHeaders } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import { record } from '../testing/chunks.ts';
import { type DeadLetter, deadLetterPointer, deadLetterRecord } from './dead-letter-record.ts';

const place = { topic: 't.dlq', partition: 2 };
const letter: DeadLetter = {
  jobId: 'job-1',
  handler: 'count',
  topic: 't',
  topicId: 'id-t',
  partition: 2,
  rangeId: '0000000002:-0000000000000000001',
  token: 'token-7',
  record: record(9_007, {
    timestampMs: 1_700_000_000_000n,
    key: Buffer.from([0, 0xff, 0xfe]),
    headers: [
      ['h', Buffer.from('x')],
      ['h', null],
    ],
  }),
  attempt: 5,
  faultClass: 'transient',
  error: 'boom',
};

function textOf(headers: RecordHeaders | undefined, name: string): string | undefined {
  return headers?.find(([header]) => header === `tm_dlq_${name}`)?.[1]?.toString();
}

function ownSize(headers: RecordHeaders | undefined): number {
  return (headers ?? [])
    .filter(([name]) => name.startsWith('tm_dlq_'))
    .reduce((sum, [name, value]) => sum + name.length + (value?.length ?? 0), 0);
}

describe('deadLetterRecord', () => {
  it('D2: keeps key, value and headers byte by byte, null included, also their order', () => {
    const made = deadLetterRecord(letter, place);
    expect(made).toMatchObject({ topic: 't.dlq', partition: 2, key: letter.record.key, value: letter.record.value });
    expect(made.headers?.slice(0, 2)).toEqual(letter.record.headers);
    expect(deadLetterRecord({ ...letter, record: record(1, { key: null, value: null }) }, place)).toMatchObject({
      key: null,
      value: null,
    });
  });

  it('says where the record lies, who gave up on it, and why', () => {
    const { headers } = deadLetterRecord(letter, place);
    expect(
      Object.fromEntries(
        [
          'job',
          'handler',
          'topic',
          'partition',
          'offset',
          'timestamp',
          'topic_id',
          'range',
          'token',
          'attempt',
          'class',
          'form',
          'error',
        ].map((name) => [name, textOf(headers, name)]),
      ),
    ).toEqual({
      job: 'job-1',
      handler: 'count',
      topic: 't',
      partition: '2',
      offset: '9007',
      timestamp: '1700000000000',
      topic_id: 'id-t',
      range: letter.rangeId,
      token: 'token-7',
      attempt: '5',
      class: 'transient',
      form: 'record',
      error: 'boom',
    });
  });

  it('F5: the block does not grow when a dead letter comes back, nor with the error', () => {
    const first = deadLetterRecord(letter, place);
    const again = deadLetterRecord({ ...letter, record: { ...letter.record, headers: first.headers ?? [] } }, place);
    expect(ownSize(again.headers)).toBe(ownSize(first.headers));
    const long = deadLetterRecord({ ...letter, error: 'é'.repeat(1_000) }, place);
    expect(textOf(long.headers, 'error')).toBe('é'.repeat(256));
  });

  it('F5: a letter of a letter is of the same record, topic and correction, in the next round', () => {
    const first = deadLetterRecord(letter, place);
    const edited = editedHeaders(first.headers ?? [], {
      number: 1,
      of: { partition: 2, offset: 0n },
      by: 'me',
      note: '',
    });
    const redriven = { ...letter, topic: 't.dlq', topicId: 'id-dlq', record: record(5, { headers: edited }) };
    expect(deadLetterFacts(deadLetterRecord(redriven, place).headers ?? [])).toMatchObject({
      origin: { topic: 't', partition: 2, offset: 9_007n },
      source: { partition: 2, offset: 5n },
      topicId: 'id-t',
      round: 2,
      edit: 1,
      edited: undefined,
    });
  });

  it('leaves the timestamp to the broker, lest the retention of dead letters deletes old records at once', () => {
    expect(deadLetterRecord(letter, place).timestampMs).toBeUndefined();
  });

  it('F5: a pointer holds no content, and a key only where it is small', () => {
    expect(deadLetterPointer(letter, place)).toMatchObject({ key: letter.record.key, value: null });
    const { headers, key } = deadLetterPointer({ ...letter, record: record(1, { key: Buffer.alloc(20_000) }) }, place);
    expect(key).toBeNull();
    expect(textOf(headers, 'form')).toBe('pointer');
    expect(textOf(headers, 'offset')).toBe('1');
  });
});
