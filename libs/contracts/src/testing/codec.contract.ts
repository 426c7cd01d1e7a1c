/** What every codec must do, whatever registry is behind it. Run by the real registry and by the one in memory. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { schemaIdOf } from '../framing.ts';
import { schemaTexts } from '../generated/records.ts';
import { type Codec, type RecordOf, SchemaName } from '../ports.ts';
import { jsonToRecord, ownTypeNamed, readRecord } from '../records.ts';

export interface CodecSubject {
  /** Another codec over the same registry at every call, with nothing cached. */
  readonly open: () => Codec;
  /** A topic name that nobody used before. */
  readonly newTopic: () => string;
}

const orderSchema = (fields: readonly object[]): string =>
  JSON.stringify({
    type: 'record',
    name: 'Order',
    namespace: 'shop',
    fields: [{ name: 'id', type: 'long' }, ...fields],
  });

export function codecContract(name: string, subject: CodecSubject): void {
  const { open, newTopic } = subject;

  describe(`${name}: the contract of a codec`, () => {
    let codec: Codec;
    let request: Buffer;
    beforeAll(async () => {
      codec = open();
      request = await codec.encode(
        SchemaName.jobRequested,
        jsonToRecord(SchemaName.jobRequested, '{"jobId":"j-1","topic":"orders","handler":"count"}'),
      );
    });

    describe('our own records', () => {
      it.each(Object.values(SchemaName))('%s comes back as it was', async (schema) => {
        const random: unknown = ownTypeNamed(schema).random();
        const record = random as RecordOf<typeof schema>;
        const decoded = await open().decode(await codec.encode(schema, record));
        expect(decoded).toEqual({ schema, value: record });
      });

      it('keep every int64', async () => {
        const anyLong = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
        await fc.assert(
          fc.asyncProperty(anyLong, anyLong, async (nextOffset, atMs) => {
            const position = { formatVersion: 1, partition: 0, nextOffset, atMs };
            const bytes = await codec.encode(SchemaName.distributorPosition, position);
            expect(readRecord(await codec.decode(bytes), SchemaName.distributorPosition)).toEqual(position);
          }),
        );
      });

      it('are framed with one id, the same for every program', async () => {
        expect(request[0]).toBe(0);
        const others = await Promise.all(
          Array.from({ length: 4 }, () => open().encode(SchemaName.jsonValue, { json: '{}' })),
        );
        expect(new Set(others.map(schemaIdOf)).size).toBe(1);
      });

      it('are refused by name when a field does not fit', async () => {
        const epoch = jsonToRecord(SchemaName.storeEpoch, '{"incarnation":"i","distributor":"d","atMs":1}');
        await expect(codec.encode(SchemaName.storeEpoch, { ...epoch, atMs: 2n ** 63n })).rejects.toMatchObject({
          code: 'NOT_ENCODABLE',
          class: 'data',
          message: 'not a dev.tidemark.StoreEpoch: atMs is a bigint, expected long',
        });
      });
    });

    describe('decoding', () => {
      it('is at once when the id is known, and never asks by itself', async () => {
        const fresh = open();
        expect(fresh.decodeCached(request)).toBeUndefined();
        const decoded = await fresh.decode(request);
        expect(fresh.decodeCached(request)).toEqual(decoded);
      });

      it.each([
        ['no bytes', Buffer.alloc(0)],
        ['JSON', Buffer.from('{"id":1}')],
        ['a zero and too little', Buffer.from([0, 0, 0, 1])],
      ])('D5: refuses %s as not framed', async (_, bytes) => {
        const refusal = { code: 'NOT_FRAMED', class: 'data' };
        await expect(codec.decode(bytes)).rejects.toMatchObject(refusal);
        expect(() => codec.decodeCached(bytes)).toThrow(expect.objectContaining(refusal));
      });

      it('D5: refuses an id that the registry does not know', async () => {
        const bytes = Buffer.concat([Buffer.from([0, 0x7f, 0xff, 0xff, 0x4d]), request.subarray(5)]);
        expect(codec.decodeCached(bytes)).toBeUndefined();
        await expect(codec.decode(bytes)).rejects.toMatchObject({
          code: 'UNKNOWN_SCHEMA_ID',
          class: 'data',
          context: { schemaId: 0x7fffff4d },
        });
      });

      it('refuses a body that ends too early or too late', async () => {
        const refusal = { code: 'NOT_DECODABLE', class: 'data' };
        await expect(codec.decode(request.subarray(0, -1))).rejects.toMatchObject(refusal);
        await expect(codec.decode(request.subarray(0, 5))).rejects.toMatchObject(refusal);
        await expect(codec.decode(Buffer.concat([request, Buffer.from([0])]))).rejects.toMatchObject(refusal);
        await codec.decode(request);
        expect(() => codec.decodeCached(request.subarray(0, -1))).toThrow(expect.objectContaining(refusal));
      });
    });

    describe('JSON for topics of users', () => {
      it('G8: stays the very text where the topic has no schema', async () => {
        const json = String.raw`{"id":9007199254740993, "amt": 1.10,"at":"infinity","bc":"0044-03-15 BC","t":"\u0000 ü 😀"}`;
        expect(await open().decode(await codec.encodeJsonFor(newTopic(), json))).toEqual({
          schema: SchemaName.jsonValue,
          value: { json },
        });
      });

      it('G8: follows the schema of the topic, digit by digit', async () => {
        const topic = newTopic();
        const micros = { name: 'at', type: { type: 'long', logicalType: 'timestamp-micros' } };
        await codec.registerFor(topic, orderSchema([{ name: 'amount', type: 'string' }, micros]));
        const json = '{"id":9007199254740993,"amount":1.10,"at":"2024-05-01T10:30:45.123456+00:00","later":true}';
        expect(await open().decode(await codec.encodeJsonFor(topic, json))).toEqual({
          schema: 'shop.Order',
          value: { id: 9007199254740993n, amount: '1.10', at: 1_714_559_445_123_456n },
        });
      });

      it('is encoded at once when the schema of its topic is known, to the same bytes, and not after that has changed', async () => {
        const [topic, without] = [newTopic(), newTopic()];
        await codec.registerFor(topic, orderSchema([]));
        expect(codec.encodeJsonCached(topic, '{"id":1}')).toBeUndefined();
        for (const one of [topic, without]) {
          const bytes = await codec.encodeJsonFor(one, '{"id":1}');
          expect(codec.encodeJsonCached(one, '{"id":1}')).toEqual(bytes);
        }
        expect(() => codec.encodeJsonCached(topic, '{"id":"x"}')).toThrow(
          expect.objectContaining({ code: 'NOT_ENCODABLE', class: 'data' }),
        );
        await codec.registerFor(topic, orderSchema([{ name: 'note', type: 'string', default: '' }]));
        expect(codec.encodeJsonCached(topic, '{"id":1}')).toBeUndefined();
      });

      it('is refused where it does not fit, as one bad record', async () => {
        const topic = newTopic();
        await codec.registerFor(topic, orderSchema([]));
        await expect(codec.encodeJsonFor(topic, '{"id":"x"}')).rejects.toMatchObject({
          code: 'NOT_ENCODABLE',
          class: 'data',
          message: `${topic}-value: id: expected a whole number of 64 bits, found a string`,
        });
      });
    });

    describe('schemas of users', () => {
      it('D5: a record of the second version is read with the second version, one of the first with the first', async () => {
        const topic = newTopic();
        await codec.registerFor(topic, orderSchema([]));
        const first = await codec.encodeJsonFor(topic, '{"id":1,"note":"x"}');
        await codec.registerFor(topic, orderSchema([{ name: 'note', type: 'string', default: '' }]));
        const second = await codec.encodeJsonFor(topic, '{"id":1,"note":"x"}');
        const fresh = open();
        expect((await fresh.decode(first)).value).toEqual({ id: 1n });
        expect((await fresh.decode(second)).value).toEqual({ id: 1n, note: 'x' });
      });

      it('may be registered again, by several at once', async () => {
        const topic = newTopic();
        const schema = orderSchema([]);
        await Promise.all([open(), open(), codec].map((each) => each.registerFor(topic, schema)));
        await codec.registerFor(topic, schema);
        expect((await codec.decode(await codec.encodeJsonFor(topic, '{"id":1}'))).schema).toBe('shop.Order');
      });

      it('are refused when old records could not be read with them', async () => {
        const topic = newTopic();
        await codec.registerFor(topic, orderSchema([]));
        const refused = codec.registerFor(topic, orderSchema([{ name: 'note', type: 'string' }]));
        await expect(refused).rejects.toMatchObject({ code: 'INCOMPATIBLE_SCHEMA', class: 'config' });
      });

      it.each(['{"type":"record"}', '{"type":"recrod","name":"Order","fields":[]}', 'no JSON'])(
        'are refused when they are not Avro: %s',
        async (schema) => {
          await expect(codec.registerFor(newTopic(), schema)).rejects.toMatchObject({
            code: 'INVALID_SCHEMA',
            class: 'config',
          });
        },
      );

      it('may call themselves as ours, and are read in our shape', async () => {
        const topic = newTopic();
        const longer = JSON.parse(schemaTexts[SchemaName.jsonValue]);
        longer.fields.push({ name: 'extra', type: { type: 'array', items: 'long' }, default: [] });
        await codec.registerFor(topic, JSON.stringify(longer));
        const bytes = await codec.encodeJsonFor(topic, '{"json":"{}","extra":[1]}');
        expect(await open().decode(bytes)).toEqual({ schema: SchemaName.jsonValue, value: { json: '{}' } });
      });
    });
  });
}
