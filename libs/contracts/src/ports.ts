/**
 * Wire formats. A value is Avro in the Confluent framing (magic byte 0, schema id, body) against a schema registry.
 * int64 is bigint on the TypeScript side, exact over the whole range.
 */
import type { RecordsByName } from './generated/records.ts';

/** Any Avro value as plain data: records are objects, long is bigint, bytes are Buffer, timestamps are bigint micro- or milliseconds. */
export type AvroValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Buffer
  | readonly AvroValue[]
  | { readonly [field: string]: AvroValue };

export interface Decoded {
  /** Full name of the record schema it was written with, e.g. `dev.tidemark.JobRequested`. */
  readonly schema: string;
  readonly value: AvroValue;
}

/**
 * Errors: TidemarkError `data` for bytes or values that do not fit (code NOT_FRAMED, UNKNOWN_SCHEMA_ID, NOT_DECODABLE,
 * NOT_ENCODABLE), `unavailable` when the registry does not answer (REGISTRY_UNAVAILABLE), `config` when it refuses a
 * schema (INCOMPATIBLE_SCHEMA, INVALID_SCHEMA) or us (REGISTRY_REFUSED).
 * Ids are cached; an unknown id is remembered for a while, so bad records do not hammer the registry.
 */
export interface Codec {
  /** Registers the record schema of `schemas/` under its full name once, then encodes. */
  encode<Name extends SchemaName>(schema: Name, record: RecordOf<Name>): Promise<Buffer>;
  /**
   * Decodes with the schema that the record was written with; our own records come in the shape that this program
   * knows (fields it does not know left out, fields it misses at their defaults).
   */
  decode(bytes: Buffer): Promise<Decoded>;
  /**
   * As `decode`, at once, when the schema id is known already; undefined when it is not. For loops over many records:
   * `codec.decodeCached(value) ?? (await codec.decode(value))`.
   */
  decodeCached(bytes: Buffer): Decoded | undefined;
  /**
   * Encodes JSON text (as Postgres prints it, numbers of any size exact) for a user's topic: with the newest schema of
   * subject `<topic>-value` where there is one, else as `dev.tidemark.JsonValue` holding the text as it is.
   */
  encodeJsonFor(topic: string, json: string): Promise<Buffer>;
  /** As `encodeJsonFor`, at once, when the topic's schema is known and fresh; undefined when it is not. */
  encodeJsonCached(topic: string, json: string): Buffer | undefined;
  /** Registers a user's schema (Avro JSON text) under `<topic>-value`. */
  registerFor(topic: string, avroSchemaJson: string): Promise<void>;
}

/** Full names of the records in `schemas/` that stand alone on a topic. */
export const SchemaName = {
  jobRequested: 'dev.tidemark.JobRequested',
  jobCommand: 'dev.tidemark.JobCommand',
  jobState: 'dev.tidemark.JobState',
  jobEvent: 'dev.tidemark.JobEvent',
  rangeCheckpoint: 'dev.tidemark.RangeCheckpoint',
  storeEpoch: 'dev.tidemark.StoreEpoch',
  distributorPosition: 'dev.tidemark.DistributorPosition',
  relayPosition: 'dev.tidemark.RelayPosition',
  truncationMark: 'dev.tidemark.TruncationMark',
  logWatch: 'dev.tidemark.LogWatch',
  guardView: 'dev.tidemark.GuardView',
  seriesOrder: 'dev.tidemark.SeriesOrder',
  seriesState: 'dev.tidemark.SeriesState',
  jsonValue: 'dev.tidemark.JsonValue',
} as const satisfies Readonly<Record<string, keyof RecordsByName>>;
export type SchemaName = (typeof SchemaName)[keyof typeof SchemaName];

export type RecordOf<Name extends SchemaName> = RecordsByName[Name];
