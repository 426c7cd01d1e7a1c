/**
 * The codec over any schema store: framing, caches, and what an error means.
 *
 * Cached for ever: the type of a schema id (ids never change their meaning) and the ids of our own records.
 * Cached for a while: that an id is unknown, and which schema of a user's topic is the newest.
 */
import { describeError, remember } from '@tidemark/keyspace';
import type { Type } from 'avsc';
import { nameOfType, parseAvroType } from './avro-type.ts';
import { contractsError } from './errors.ts';
import { frame, HEADER_BYTES, schemaIdOf } from './framing.ts';
import { schemaTexts } from './generated/records.ts';
import { jsonToAvro } from './json-to-avro.ts';
import { NEWEST_SCHEMA_TRUSTED_MS, UNKNOWN_ID_REMEMBERED_MS, UNKNOWN_IDS_MAX } from './limits.ts';
import { type AvroValue, type Codec, type RecordOf, SchemaName } from './ports.ts';
import { ownTypeNamed, ownTypeOf } from './records.ts';
import { Compatibility, type SchemaStore } from './schema-store.ts';

/** How to read what was written with one schema id. */
interface Reader {
  readonly schema: string;
  readonly read: (bytes: Buffer) => AvroValue;
}

interface Newest {
  /** Undefined: the topic has no schema, as of `asOfMs`. */
  readonly schemaId: number | undefined;
  readonly asOfMs: number;
}

export interface CodecOptions {
  readonly store: SchemaStore;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

export function createCodecOver(options: CodecOptions): Codec {
  const { store, nowMs } = options;
  const types = new Map<number, Type>();
  const readers = new Map<number, Reader>();
  const unknownSinceMs = new Map<number, number>();
  const newestByTopic = new Map<string, Newest>();
  const once = createOnce();

  const ownIds = new Map<SchemaName, number>();
  const ownIdOf = (name: SchemaName): Promise<number> =>
    once.forEver(`own ${name}`, async () => {
      const id = await store.register({
        subject: name,
        schemaText: schemaTexts[name],
        compatibility: Compatibility.full,
      });
      ownIds.set(name, id);
      return id;
    });

  async function typeOf(schemaId: number): Promise<Type> {
    const known = types.get(schemaId);
    if (known !== undefined) return known;
    const since = unknownSinceMs.get(schemaId);
    if (since !== undefined && nowMs() - since < UNKNOWN_ID_REMEMBERED_MS) throw unknownId(schemaId);
    const type = await once.whilePending(`id ${schemaId}`, () => store.typeOf(schemaId));
    if (type === undefined) {
      remember(unknownSinceMs, { key: schemaId, value: nowMs(), max: UNKNOWN_IDS_MAX });
      throw unknownId(schemaId);
    }
    unknownSinceMs.delete(schemaId);
    types.set(schemaId, type);
    return type;
  }

  async function readerOf(schemaId: number): Promise<Reader> {
    const known = readers.get(schemaId);
    if (known !== undefined) return known;
    const reader = createReader(schemaId, await typeOf(schemaId));
    readers.set(schemaId, reader);
    return reader;
  }

  function freshNewest(topic: string): Newest | undefined {
    const known = newestByTopic.get(topic);
    return known !== undefined && nowMs() - known.asOfMs < NEWEST_SCHEMA_TRUSTED_MS ? known : undefined;
  }

  async function newestOf(topic: string): Promise<number | undefined> {
    const fresh = freshNewest(topic);
    if (fresh !== undefined) return fresh.schemaId;
    const known = newestByTopic.get(topic);
    try {
      const schemaId = await once.whilePending(`newest ${topic}`, () => store.newestIdOf(subjectOf(topic)));
      newestByTopic.set(topic, { schemaId, asOfMs: nowMs() });
      return schemaId;
    } catch (error) {
      // A schema that was good half a minute ago still makes readable records; only "none" may not be taken on trust.
      if (known?.schemaId === undefined) throw error;
      newestByTopic.set(topic, { ...known, asOfMs: nowMs() });
      return known.schemaId;
    }
  }

  const encode = async <Name extends SchemaName>(name: Name, record: RecordOf<Name>): Promise<Buffer> =>
    encodeBody(await ownIdOf(name), ownTypeNamed(name), record);

  return {
    encode,

    decodeCached(bytes) {
      const reader = readers.get(framedId(bytes));
      return reader === undefined ? undefined : { schema: reader.schema, value: reader.read(bytes) };
    },

    async decode(bytes) {
      const reader = await readerOf(framedId(bytes));
      return { schema: reader.schema, value: reader.read(bytes) };
    },

    async encodeJsonFor(topic, json) {
      const schemaId = await newestOf(topic);
      if (schemaId === undefined) return encode(SchemaName.jsonValue, { json });
      return encodeJson(schemaId, await typeOf(schemaId), { topic, json });
    },

    encodeJsonCached(topic, json) {
      const newest = freshNewest(topic);
      if (newest === undefined) return undefined;
      const { schemaId } = newest;
      if (schemaId === undefined) {
        const ownId = ownIds.get(SchemaName.jsonValue);
        return ownId === undefined ? undefined : encodeBody(ownId, ownTypeNamed(SchemaName.jsonValue), { json });
      }
      const type = types.get(schemaId);
      return type === undefined ? undefined : encodeJson(schemaId, type, { topic, json });
    },

    async registerFor(topic, avroSchemaJson) {
      try {
        parseAvroType(avroSchemaJson);
      } catch (error) {
        throw contractsError(
          'INVALID_SCHEMA',
          `the schema for topic ${topic} is not Avro: ${describeError(error)}`,
          { topic },
          error,
        );
      }
      await store.register({
        subject: subjectOf(topic),
        schemaText: avroSchemaJson,
        compatibility: Compatibility.backward,
      });
      newestByTopic.delete(topic);
    },
  };
}

/** The strategy of Confluent's serializers for values (TopicNameStrategy). */
export function subjectOf(topic: string): string {
  return `${topic}-value`;
}

function framedId(bytes: Buffer): number {
  const schemaId = schemaIdOf(bytes);
  if (schemaId !== undefined) return schemaId;
  const found =
    bytes.length === 0
      ? 'they are empty'
      : bytes[0] === 0
        ? `only ${bytes.length} bytes`
        : `they begin with ${bytes[0]?.toString(16).padStart(2, '0')}`;
  throw contractsError('NOT_FRAMED', `the bytes are not a registry-framed record: ${found}`, { bytes: bytes.length });
}

function unknownId(schemaId: number): Error {
  return contractsError('UNKNOWN_SCHEMA_ID', `the registry knows no schema ${schemaId}`, { schemaId });
}

function createReader(schemaId: number, written: Type): Reader {
  const schema = nameOfType(written);
  const own = ownTypeOf(schema);
  const { type, resolver } =
    own === undefined || own.fingerprint().equals(written.fingerprint())
      ? { type: written }
      : resolveOwn(schemaId, own, written);
  const read = (bytes: Buffer): AvroValue => {
    let decoded: { value: AvroValue; offset: number };
    try {
      decoded = resolver === undefined ? type.decode(bytes, HEADER_BYTES) : type.decode(bytes, HEADER_BYTES, resolver);
    } catch (error) {
      throw contractsError(
        'NOT_DECODABLE',
        `the bytes are not a ${schema} of schema ${schemaId}: ${describeError(error)}`,
        { schema, schemaId },
        error,
      );
    }
    if (decoded.offset === bytes.length) return decoded.value;
    const found = decoded.offset < 0 ? 'they end too early' : `${bytes.length - decoded.offset} bytes are left over`;
    throw contractsError('NOT_DECODABLE', `the bytes are not a ${schema} of schema ${schemaId}: ${found}`, {
      schema,
      schemaId,
    });
  };
  return { schema, read };
}

function resolveOwn(schemaId: number, own: Type, written: Type) {
  try {
    return { type: own, resolver: own.createResolver(written) };
  } catch (error) {
    const schema = nameOfType(own);
    throw contractsError(
      'NOT_DECODABLE',
      `schema ${schemaId} calls itself ${schema}, but this program cannot read it as such: ${describeError(error)}`,
      { schema, schemaId },
      error,
    );
  }
}

function encodeBody(schemaId: number, type: Type, value: unknown): Buffer {
  try {
    return frame(schemaId, type.toBuffer(value));
  } catch (error) {
    throw contractsError(
      'NOT_ENCODABLE',
      `not a ${nameOfType(type)}: ${describeMisfit(type, value) ?? describeError(error)}`,
      { schemaId },
      error,
    );
  }
}

function encodeJson(
  schemaId: number,
  type: Type,
  { topic, json }: { readonly topic: string; readonly json: string },
): Buffer {
  return encodeBody(schemaId, type, jsonToAvro({ type, json, subject: subjectOf(topic), unknownFields: 'ignore' }));
}

/** avsc says which value it refused but not where; asking it again with a hook gives the path. */
function describeMisfit(type: Type, value: unknown): string | undefined {
  let misfit: string | undefined;
  type.isValid(value, {
    errorHook: (path, found, expected) => {
      misfit ??= `${path.join('.') || 'the value'} is ${found === undefined ? 'missing' : `a ${typeof found}`}, expected ${nameOfType(expected)}`;
    },
  });
  return misfit;
}

/** Callers that ask the same at the same time share one question; a failure is not kept. */
function createOnce() {
  const pending = new Map<string, Promise<unknown>>();
  const run = <T>(key: string, keep: boolean, ask: () => Promise<T>): Promise<T> => {
    const present = pending.get(key);
    if (present !== undefined) return present as Promise<T>;
    const asked = ask();
    pending.set(key, asked);
    const forget = (): boolean => pending.delete(key);
    asked.then(keep ? () => undefined : forget, forget);
    return asked;
  };
  return {
    forEver: <T>(key: string, ask: () => Promise<T>): Promise<T> => run(key, true, ask),
    whilePending: <T>(key: string, ask: () => Promise<T>): Promise<T> => run(key, false, ask),
  };
}
