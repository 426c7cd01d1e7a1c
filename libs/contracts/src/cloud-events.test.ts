import { describe, expect, it } from 'vitest';
import { cloudEventHeaders } from './cloud-events.ts';

const event = {
  id: '7d444840-9dc0-11d1-b245-5ffdce74fad2',
  type: 'orders.updated',
  source: '/tidemark/orders',
  timeText: '2024-05-01T10:30:45.123456+00:00',
  position: 9007199254740993n,
};

describe('CloudEvents headers', () => {
  it('are the binary mode of the Kafka binding, with the place in the outbox beside it', () => {
    const headers = cloudEventHeaders(event).map(([name, value]) => [name, value.toString()]);
    expect(headers).toEqual([
      ['ce_specversion', '1.0'],
      ['ce_id', event.id],
      ['ce_type', event.type],
      ['ce_source', event.source],
      ['ce_time', event.timeText],
      ['content-type', 'application/avro'],
      ['tm_position', '9007199254740993'],
    ]);
  });
});
