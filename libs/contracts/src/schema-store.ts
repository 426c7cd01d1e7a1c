import type { Type } from 'avsc';

/** What readers of a subject must be able to do with each other's records when its schema changes. */
export const Compatibility = {
  /** Old records can be read with the new schema. */
  backward: 'BACKWARD',
  /** And new records with the old one: versions N and N+1 of our programs run side by side. */
  full: 'FULL',
} as const;
export type Compatibility = (typeof Compatibility)[keyof typeof Compatibility];

/**
 * A schema registry, as the codec needs it. An adapter asks and translates the answer; it need not cache, because the
 * codec does. Types are made with `avroOptions()`.
 * Errors: TidemarkError REGISTRY_UNAVAILABLE, REGISTRY_REFUSED, INCOMPATIBLE_SCHEMA, INVALID_SCHEMA; NOT_DECODABLE for a
 * stored schema that is not Avro.
 */
export interface SchemaStore {
  /** Undefined when there is no schema of that id. */
  typeOf(schemaId: number): Promise<Type | undefined>;
  /** Undefined when there is no such subject. */
  newestIdOf(subject: string): Promise<number | undefined>;
  /** The same text under the same subject has the same id. A subject that has a compatibility rule already keeps it. */
  register(options: {
    readonly subject: string;
    readonly schemaText: string;
    readonly compatibility: Compatibility;
  }): Promise<number>;
}
