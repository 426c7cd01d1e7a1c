/** CloudEvents 1.0 in Kafka's binary mode: the attributes are headers named `ce_…`; `tm_position` is the place in the outbox. */
import { remember } from '@tidemark/keyspace';
import { SHARED_HEADERS_MAX } from './limits.ts';

export type EventHeaders = readonly (readonly [name: string, value: Buffer])[];

export interface CloudEventAttributes {
  /** Unique per source, and the same when the event is sent again. */
  readonly id: string;
  readonly type: string;
  /** A URI reference, e.g. `/tidemark/orders`. */
  readonly source: string;
  /** RFC 3339 as the database printed it; it is carried, not parsed, so that no digit is lost. */
  readonly timeText: string;
  /** Outbox position. */
  readonly position: bigint;
}

const SPEC_VERSION = '1.0';
/** The body is Avro behind the five bytes of the registry framing. */
const CONTENT_TYPE = 'application/avro';

export function cloudEventHeaders(event: CloudEventAttributes): EventHeaders {
  return [
    SPEC_VERSION_HEADER,
    ['ce_id', Buffer.from(event.id, 'utf8')],
    typeHeader(event.type),
    sourceHeader(event.source),
    ['ce_time', Buffer.from(event.timeText, 'utf8')],
    CONTENT_TYPE_HEADER,
    ['tm_position', Buffer.from(event.position.toString(), 'utf8')],
  ];
}

type EventHeader = EventHeaders[number];

// What is the same for many events is made once and shared: most of an event's headers, and of what they cost.
const SPEC_VERSION_HEADER: EventHeader = ['ce_specversion', Buffer.from(SPEC_VERSION)];
const CONTENT_TYPE_HEADER: EventHeader = ['content-type', Buffer.from(CONTENT_TYPE)];
const typeHeader = shared('ce_type');
const sourceHeader = shared('ce_source');

function shared(name: string): (text: string) => EventHeader {
  const known = new Map<string, EventHeader>();
  return (text) => {
    const header = known.get(text);
    if (header !== undefined) return header;
    const made: EventHeader = [name, Buffer.from(text, 'utf8')];
    remember(known, { key: text, value: made, max: SHARED_HEADERS_MAX });
    return made;
  };
}
