import { services, uniqueName } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { parseAvroType } from '../../avro-type.ts';
import { schemaTexts } from '../../generated/records.ts';
import { SchemaName } from '../../ports.ts';
import { jsonToRecord } from '../../records.ts';
import { codecContract } from '../../testing/codec.contract.ts';
import { createCodec } from './registry-codec.ts';

const registryUrl = services().registry;
/** The registry of all tests, on a loaded machine. */
const open = () => createCodec({ registryUrl, requestTimeoutMs: 60_000, deadlineMs: 120_000 });

codecContract('registry', { open, newTopic: () => uniqueName('contracts') });

const ask = async (path: string, init?: RequestInit): Promise<unknown> =>
  (await fetch(`${registryUrl}${path}`, init)).json();

describe('what stands in the registry', () => {
  it('is the self-contained schema of schemas/ under the full name, compatible both ways', async () => {
    const request = '{"jobId":"j","topic":"t","handler":"h"}';
    const places = '"requestedAtMs":0,"updatedAtMs":0,"lastCommandPartition":0,"lastCommandOffset":0';
    const state = `{"jobId":"j","request":${request},"state":"REQUESTED",${places}}`;
    await open().encode(SchemaName.jobState, jsonToRecord(SchemaName.jobState, state));
    const stored = await ask(`/subjects/${SchemaName.jobState}/versions/latest`);
    expect(stored).toMatchObject({ subject: SchemaName.jobState });
    const { schema } = stored as { schema: string };
    // The registry prints it in its own way; names, types and defaults are what counts.
    const shapeOf = (text: string) => parseAvroType(text).schema({ exportAttrs: true });
    expect(shapeOf(schema)).toEqual(shapeOf(schemaTexts[SchemaName.jobState]));
    expect(await ask(`/config/${SchemaName.jobState}`)).toEqual({ compatibilityLevel: 'FULL' });
  });

  it('keeps a level that somebody chose for a subject', async () => {
    const topic = uniqueName('contracts');
    const schema = (type: string) =>
      JSON.stringify({ type: 'record', name: 'Row', namespace: 'x', fields: [{ name: 'f', type }] });
    await open().registerFor(topic, schema('long'));
    await ask(`/config/${topic}-value`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ compatibility: 'NONE' }),
    });
    await open().registerFor(topic, schema('string'));
    expect(await ask(`/config/${topic}-value`)).toEqual({ compatibilityLevel: 'NONE' });
  });
});
