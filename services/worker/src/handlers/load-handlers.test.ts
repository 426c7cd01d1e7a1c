import { fileURLToPath } from 'node:url';
import { defineHandler, done } from '@tidemark/handlers';
import { silentLogger } from '@tidemark/observability';
import { describe, expect, it } from 'vitest';
import { HandlerSet } from './handler-set.ts';
import { loadHandlers } from './load-handlers.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`../testing/fixtures/${name}`, import.meta.url));

describe('loadHandlers', () => {
  it('takes named exports and the array `handlers`, and nothing else', async () => {
    const loaded = await loadHandlers([fixture('two-handlers.ts')]);
    expect(loaded.map(({ name }) => name).sort()).toEqual(['first', 'second']);
  });

  it.each([
    ['no-handler.ts', 'exports no handler'],
    ['bad-shape.ts', 'broken is not a usable handler: exactly one of handle and handleBatch is needed'],
    ['throws.ts', 'it does not load: no such database'],
    ['absent.ts', 'no such file'],
  ])('names the file and the reason for %s', async (name, reason) => {
    const path = fixture(name);
    const refused = await loadHandlers([path]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'BAD_HANDLER_MODULE', class: 'config' });
    expect(String(refused)).toContain(`handler module ${path}`);
    expect(String(refused)).toContain(reason);
  });

  it('says from where it looked for a relative path, and no word of the module that imports it', async () => {
    const refused = await loadHandlers(['absent.ts']).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'BAD_HANDLER_MODULE',
      message: `handler module absent.ts: no such file, looked for from ${process.cwd()}`,
    });
  });
});

describe('HandlerSet', () => {
  const base = { name: 'h', input: 'raw', idempotent: true, handle: () => done() } as const;

  it('refuses two handlers of one name', () => {
    expect(() => new HandlerSet([defineHandler(base), defineHandler(base)])).toThrow(
      expect.objectContaining({ code: 'DUPLICATE_HANDLER' }),
    );
  });

  it('opens a handler once, however many slots ask, and closes it once', async () => {
    const calls: string[] = [];
    const handler = defineHandler({
      ...base,
      open: async () => void calls.push('open'),
      close: async () => void calls.push('close'),
    });
    const set = new HandlerSet([handler]);
    await Promise.all([set.open(handler), set.open(handler)]);
    await set.open(handler);
    await set.close(silentLogger);
    await set.close(silentLogger);
    expect(calls).toEqual(['open', 'close']);
  });

  it('takes a failed open for an outage and tries again', async () => {
    let fails = true;
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', address: '127.0.0.1', port: 1 });
    const handler = defineHandler({
      ...base,
      open: async () => {
        if (fails) throw refused;
      },
    });
    const set = new HandlerSet([handler]);
    await expect(set.open(handler)).rejects.toMatchObject({
      class: 'unavailable',
      context: { dependency: 'ECONNREFUSED 127.0.0.1:1' },
    });
    fails = false;
    await expect(set.open(handler)).resolves.toBeUndefined();
  });
});
