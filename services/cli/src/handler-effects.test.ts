import type { Codec } from '@tidemark/contracts';
import type { RecordEffect } from '@tidemark/control';
import { deadLetterHeaders } from '@tidemark/jobs';
import { sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import { withHandlerEffects } from './handler-effects.ts';

const FILE = new URL('./testing/verified-handlers.ts', import.meta.url).pathname;

const CODEC: Pick<Codec, 'decode' | 'decodeCached'> = {
  decodeCached: () => undefined,
  async decode(value) {
    if (value.toString() === 'bad')
      throw new TidemarkError({ code: 'NOT_FRAMED', class: ErrorClass.data, message: 'no framing' });
    return { schema: 'test.Order', value: { id: BigInt(value.toString()) } };
  },
};

async function effectsOf(
  handler: string,
  values: readonly (string | null)[],
  notes: string[] = [],
): Promise<readonly RecordEffect[]> {
  return await ask(handler, (effects) => effects.effectsOf(0, values.map(recordOf)), { notes });
}

async function ask<T>(
  handler: string,
  work: Parameters<typeof withHandlerEffects<T>>[1],
  { notes = [], topic = 'orders' }: { readonly notes?: string[]; readonly topic?: string } = {},
): Promise<T> {
  const terminal = { note: (line: string) => void notes.push(line), signal: new AbortController().signal };
  const state = sampleState({ request: sampleRequest({ topic, handler }) });
  return await withHandlerEffects({ terminal, codec: CODEC as Codec, state, files: [FILE] }, work);
}

describe('withHandlerEffects', () => {
  it('asks in batches of the size of the handler, and keeps what it answers for each record', async () => {
    const notes: string[] = [];
    const values = ['present', 'twice', 'missing', 'none due', 'unknown'];
    expect(await effectsOf('spoken', values, notes)).toEqual([
      { kind: 'found', count: 1n },
      { kind: 'found', count: 2n },
      { kind: 'missing' },
      { kind: 'none due' },
      { kind: 'unknown', reason: 'archived' },
    ]);
    expect(notes).toEqual(['spoken: asked {"records":4}', 'spoken: asked {"records":1}']);
  });

  it('makes the records of a call that throws unknown, and goes on with the next call', async () => {
    const unknown = { kind: 'unknown', reason: 'no such table' };
    expect(await effectsOf('spoken', ['present', 'throw', 'present', 'present', 'missing'])).toEqual([
      ...new Array<unknown>(4).fill(unknown),
      { kind: 'missing' },
    ]);
  });

  it('decodes for a handler that wants it decoded; what cannot be is unknown, and the others are asked for', async () => {
    expect(await effectsOf('decoded', ['7', 'bad', '0', null])).toEqual([
      { kind: 'found', count: 1n },
      { kind: 'unknown', reason: 'not decodable: no framing' },
      { kind: 'missing' },
      { kind: 'found', count: 1n },
    ]);
    expect(await effectsOf('decoded', ['bad'])).toEqual([{ kind: 'unknown', reason: 'not decodable: no framing' }]);
  });

  it('asks for the effect of a dead letter by the record that it is of', async () => {
    const origin = { topic: 'orders', partition: 3, offset: 41n };
    const letter = {
      ...recordOf('x', 0),
      headers: deadLetterHeaders({ headers: [], origin, fields: {}, error: 'bad' }),
    };
    const look = (topic: string): Promise<readonly RecordEffect[]> =>
      ask('placed', (effects) => effects.effectsOf(0, [letter]), { topic });
    expect(await look('orders.dlq')).toEqual([{ kind: 'unknown', reason: 'orders/3/41' }]);
    expect(await look('others')).toEqual([{ kind: 'unknown', reason: 'others/0/0' }]);
  });

  it('says whether the handler is idempotent', async () => {
    expect(await ask('spoken', async (_, { idempotent }) => idempotent)).toBe(false);
    expect(await ask('decoded', async (_, { idempotent }) => idempotent)).toBe(true);
  });

  it('names the handlers that a file exports instead, and what to do for one without a verify', async () => {
    await expect(effectsOf('count', [])).rejects.toMatchObject({
      exitCode: 3,
      message: `job job-1 is of handler count, and ${FILE} exports decoded, ledger, placed, silent, spoken: name the file that exports it`,
    });
    await expect(effectsOf('silent', [])).rejects.toMatchObject({
      exitCode: 5,
      message: expect.stringMatching(
        /handler silent of .* has no verify, .* give it one .*, or name its table with --sink/,
      ),
    });
  });
});

function recordOf(value: string | null, place: number): LogRecord {
  return {
    offset: toOffset(place),
    timestampMs: 0n,
    key: null,
    value: value === null ? null : Buffer.from(value),
    headers: [],
  };
}
