import { describe, expect, it } from 'vitest';
import { createCodecOver } from './codec.ts';
import { contractsError } from './errors.ts';
import { NEWEST_SCHEMA_TRUSTED_MS, UNKNOWN_ID_REMEMBERED_MS, UNKNOWN_IDS_MAX } from './limits.ts';
import { SchemaName } from './ports.ts';
import type { SchemaStore } from './schema-store.ts';
import { createMemorySchemaStore } from './testing/memory-codec.ts';

/** A store that counts what it is asked and can be down; a clock that moves when it is told to. */
function setUp() {
  const memory = createMemorySchemaStore();
  const asked: string[] = [];
  let down = false;
  let nowMs = 0;
  const counted = <T>(question: string, ask: () => Promise<T>): Promise<T> => {
    asked.push(question);
    return down ? Promise.reject(contractsError('REGISTRY_UNAVAILABLE', 'down')) : ask();
  };
  const store: SchemaStore = {
    typeOf: (schemaId) => counted(`type ${schemaId}`, () => memory.typeOf(schemaId)),
    newestIdOf: (subject) => counted(`newest ${subject}`, () => memory.newestIdOf(subject)),
    register: (options) => counted(`register ${options.subject}`, () => memory.register(options)),
  };
  return {
    memory,
    asked,
    codec: createCodecOver({ store, nowMs: () => nowMs }),
    goDown: (isDown: boolean) => {
      down = isDown;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

const framed = (schemaId: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeInt32BE(schemaId, 1);
  return bytes;
};
const rowSchema = JSON.stringify({
  type: 'record',
  name: 'Row',
  namespace: 'x',
  fields: [{ name: 'id', type: 'long' }],
});

describe('what the codec remembers', () => {
  it('D5: asks at most 5 times a minute for one unknown id', async () => {
    const { codec, asked, pass } = setUp();
    for (let second = 0; second <= 60; second++) {
      await expect(codec.decode(framed(77))).rejects.toMatchObject({ code: 'UNKNOWN_SCHEMA_ID' });
      pass(1_000);
    }
    expect(asked.length).toBeLessThanOrEqual(5);
  });

  it('finds a schema that appears late', async () => {
    const { codec, memory, pass } = setUp();
    await expect(codec.decode(framed(1))).rejects.toMatchObject({ code: 'UNKNOWN_SCHEMA_ID' });
    await memory.register({ subject: 's', schemaText: rowSchema, compatibility: 'BACKWARD' });
    pass(UNKNOWN_ID_REMEMBERED_MS);
    expect(await codec.decode(framed(1))).toEqual({ schema: 'x.Row', value: { id: 0n } });
  });

  it('forgets the oldest unknown ids beyond its limit', async () => {
    const { codec, asked } = setUp();
    for (let schemaId = 1; schemaId <= UNKNOWN_IDS_MAX + 1; schemaId++)
      await codec.decode(framed(schemaId)).catch(() => undefined);
    asked.length = 0;
    await codec.decode(framed(UNKNOWN_IDS_MAX + 1)).catch(() => undefined);
    expect(asked).toEqual([]);
    await codec.decode(framed(1)).catch(() => undefined);
    expect(asked).toEqual(['type 1']);
  });

  it('does not remember an outage', async () => {
    const { codec, memory, goDown } = setUp();
    await memory.register({ subject: 's', schemaText: rowSchema, compatibility: 'BACKWARD' });
    goDown(true);
    await expect(codec.decode(framed(1))).rejects.toMatchObject({ class: 'unavailable' });
    await expect(codec.encode(SchemaName.jsonValue, { json: '' })).rejects.toMatchObject({ class: 'unavailable' });
    goDown(false);
    await codec.decode(framed(1));
    await codec.encode(SchemaName.jsonValue, { json: '' });
  });

  it('registers one of ours once', async () => {
    const { codec, asked } = setUp();
    await Promise.all([1, 2, 3].map(() => codec.encode(SchemaName.jsonValue, { json: '' })));
    await codec.encode(SchemaName.jsonValue, { json: '' });
    expect(asked).toEqual(['register dev.tidemark.JsonValue']);
  });

  it('takes the newest schema of a topic on trust for a while', async () => {
    const { codec, memory, asked, pass } = setUp();
    expect((await codec.decode(await codec.encodeJsonFor('orders', '{"id":1}'))).schema).toBe(SchemaName.jsonValue);
    await memory.register({ subject: 'orders-value', schemaText: rowSchema, compatibility: 'BACKWARD' });
    pass(NEWEST_SCHEMA_TRUSTED_MS - 1);
    expect((await codec.decode(await codec.encodeJsonFor('orders', '{"id":1}'))).schema).toBe(SchemaName.jsonValue);
    pass(1);
    expect((await codec.decode(await codec.encodeJsonFor('orders', '{"id":1}'))).schema).toBe('x.Row');
    expect(asked.filter((question) => question === 'newest orders-value')).toHaveLength(2);
  });

  it('goes on with the schema it knows when the registry is down, but never takes "none" on trust', async () => {
    const { codec, goDown, pass } = setUp();
    await codec.registerFor('orders', rowSchema);
    await codec.encodeJsonFor('orders', '{"id":1}');
    await codec.encodeJsonFor('others', '{"id":1}');
    goDown(true);
    pass(NEWEST_SCHEMA_TRUSTED_MS);
    expect((await codec.decode(await codec.encodeJsonFor('orders', '{"id":1}'))).schema).toBe('x.Row');
    await expect(codec.encodeJsonFor('others', '{"id":1}')).rejects.toMatchObject({ class: 'unavailable' });
  });

  it('knows at once what it registered itself', async () => {
    const { codec } = setUp();
    await codec.encodeJsonFor('orders', '{"id":1}');
    await codec.registerFor('orders', rowSchema);
    expect((await codec.decode(await codec.encodeJsonFor('orders', '{"id":1}'))).schema).toBe('x.Row');
  });
});

describe('our own records of another version', () => {
  it('come in the shape that this program knows: new fields left out, missing ones at their defaults', async () => {
    const { codec, memory } = setUp();
    const schemaText = JSON.stringify({
      type: 'record',
      name: 'JobCommand',
      namespace: 'dev.tidemark',
      fields: [
        { name: 'commandId', type: 'string' },
        { name: 'jobId', type: 'string' },
        { name: 'added', type: { type: 'map', values: 'long' }, default: {} },
        { name: 'command', type: 'string' },
      ],
    });
    const schemaId = await memory.register({ subject: 's', schemaText, compatibility: 'FULL' });
    const type = await memory.typeOf(schemaId);
    const body: Buffer =
      type?.toBuffer({ commandId: 'c', jobId: 'j', added: { a: 1n }, command: 'cancel' }) ?? Buffer.alloc(0);
    const bytes = Buffer.concat([framed(schemaId).subarray(0, 5), body]);
    expect((await codec.decode(bytes)).value).toEqual({
      formatVersion: 1,
      commandId: 'c',
      jobId: 'j',
      command: 'cancel',
      reason: '',
      actor: '',
      force: false,
      deadlineMs: 0n,
      budget: null,
      deadLettersMax: -1n,
    });
  });

  it('are refused as undecodable when only their name is ours', async () => {
    const { codec, memory } = setUp();
    const schemaText = JSON.stringify({
      type: 'record',
      name: 'JobCommand',
      namespace: 'dev.tidemark',
      fields: [{ name: 'x', type: 'long' }],
    });
    const schemaId = await memory.register({ subject: 's', schemaText, compatibility: 'FULL' });
    await expect(codec.decode(framed(schemaId))).rejects.toMatchObject({ code: 'NOT_DECODABLE', class: 'data' });
  });
});
