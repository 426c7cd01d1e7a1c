/**
 * A codec with its registry in memory: the same framing, ids, caches and errors as the real one. What it does not do:
 * outages, credentials, schema references, schemas other than Avro.
 */
import { describeError } from '@tidemark/keyspace';
import type { Type } from 'avsc';
import { parseAvroType } from '../avro-type.ts';
import { createCodecOver } from '../codec.ts';
import { incompatibilities } from '../compatibility.ts';
import { contractsError } from '../errors.ts';
import type { Codec } from '../ports.ts';
import { Compatibility, type SchemaStore } from '../schema-store.ts';

export interface MemoryCodecOptions {
  /** Codecs over the same store read each other's records. */
  readonly store?: SchemaStore;
  readonly nowMs?: () => number;
}

export function createMemoryCodec(options: MemoryCodecOptions = {}): Codec {
  return createCodecOver({
    store: options.store ?? createMemorySchemaStore(),
    nowMs: options.nowMs ?? (() => performance.now()),
  });
}

interface Stored {
  readonly text: string;
  readonly type: Type;
}

export function createMemorySchemaStore(): SchemaStore {
  const schemas: Stored[] = [];
  const subjects = new Map<string, { readonly compatibility: Compatibility; readonly schemaIds: number[] }>();
  const storedOf = (schemaId: number): Stored | undefined => schemas[schemaId - 1];

  function idOfText(text: string, type: Type): number {
    const known = schemas.findIndex((stored) => stored.text === text);
    return known >= 0 ? known + 1 : schemas.push({ text, type });
  }

  return {
    async typeOf(schemaId) {
      return storedOf(schemaId)?.type;
    },

    async newestIdOf(subject) {
      return subjects.get(subject)?.schemaIds.at(-1);
    },

    async register({ subject, schemaText, compatibility }) {
      const type = parse(subject, schemaText);
      const present = subjects.get(subject) ?? { compatibility, schemaIds: [] };
      const sameText = present.schemaIds.find((schemaId) => storedOf(schemaId)?.text === schemaText);
      if (sameText !== undefined) return sameText;
      const newest = storedOf(present.schemaIds.at(-1) ?? 0);
      if (newest !== undefined)
        refuseIncompatible({ subject, older: newest.type, newer: type, compatibility: present.compatibility });
      const schemaId = idOfText(schemaText, type);
      present.schemaIds.push(schemaId);
      subjects.set(subject, present);
      return schemaId;
    },
  };
}

function parse(subject: string, schemaText: string): Type {
  try {
    return parseAvroType(schemaText);
  } catch (error) {
    throw contractsError(
      'INVALID_SCHEMA',
      `the schema for ${subject} is not Avro: ${describeError(error)}`,
      { subject },
      error,
    );
  }
}

function refuseIncompatible(change: {
  readonly subject: string;
  readonly older: Type;
  readonly newer: Type;
  readonly compatibility: Compatibility;
}): void {
  const { subject, older, newer, compatibility } = change;
  const directions =
    compatibility === Compatibility.full ? (['backward', 'forward'] as const) : (['backward'] as const);
  const [reason] = incompatibilities({ older, newer, directions });
  if (reason !== undefined)
    throw contractsError('INCOMPATIBLE_SCHEMA', `the schema for ${subject} is refused: ${reason}`, { subject });
}
