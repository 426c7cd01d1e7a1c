import { TidemarkError } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  connectionSettings,
  type Environment,
  flagSetting,
  integerSetting,
  listSetting,
  loadConfig,
  programSettings,
  unknownVariables,
} from './settings.ts';

const settings = z.object({
  ...connectionSettings,
  ...programSettings,
  TIDEMARK_SLOTS: integerSetting({ min: 1, max: 64, default: 4 }),
});

const load = (env: Environment) => loadConfig({ program: 'worker', settings, env });

function refusalOf(run: () => unknown): TidemarkError {
  try {
    run();
  } catch (error) {
    if (error instanceof TidemarkError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('loadConfig', () => {
  it('points at the local stack when nothing is set', () => {
    expect(load({})).toMatchObject({
      TIDEMARK_KAFKA: ['127.0.0.1:19092'],
      TIDEMARK_REDIS: 'redis://127.0.0.1:19097',
      TIDEMARK_POSTGRES: 'postgres://tidemark:tidemark@127.0.0.1:19094/tidemark',
      TIDEMARK_REGISTRY: 'http://127.0.0.1:19095/apis/ccompat/v7',
      TIDEMARK_NAMESPACE: 'tidemark',
      TIDEMARK_LOG_LEVEL: 'info',
      TIDEMARK_METRICS_PORT: 0,
      TIDEMARK_SLOTS: 4,
    });
  });

  it('follows the stack to another port', () => {
    expect(load({ TIDEMARK_STACK_PORT: '20000' }).TIDEMARK_KAFKA).toEqual(['127.0.0.1:20002']);
  });

  it('takes a variable set to nothing as not set', () => {
    expect(load({ TIDEMARK_SLOTS: ' ', TIDEMARK_NAMESPACE: '' })).toMatchObject({
      TIDEMARK_SLOTS: 4,
      TIDEMARK_NAMESPACE: 'tidemark',
    });
  });

  it('splits brokers and trims them', () => {
    expect(load({ TIDEMARK_KAFKA: 'a:1, b.example:9092 ,[::1]:9093' }).TIDEMARK_KAFKA).toEqual([
      'a:1',
      'b.example:9092',
      '[::1]:9093',
    ]);
  });

  it('names all faults at once, without repeating the values', () => {
    const refusal = refusalOf(() =>
      load({
        TIDEMARK_SLOTS: '65',
        TIDEMARK_KAFKA: 'nowhere',
        TIDEMARK_POSTGRES: 'mysql://u:hidden@h/d',
        TIDEMARK_NAMESPACE: 'Big',
        TIDEMARK_LOG_LEVEL: 'loud',
      }),
    );
    expect(refusal).toMatchObject({ code: 'BAD_CONFIG', class: 'config' });
    for (const name of [
      'TIDEMARK_SLOTS',
      'TIDEMARK_KAFKA',
      'TIDEMARK_POSTGRES',
      'TIDEMARK_NAMESPACE',
      'TIDEMARK_LOG_LEVEL',
    ]) {
      expect(refusal.message).toContain(`${name}: `);
    }
    expect(refusal.message).not.toContain('hidden');
  });

  it('says that a needed variable is not set', () => {
    const needed = z.object({ TIDEMARK_HANDLER_FILE: z.string() });
    const refusal = refusalOf(() => loadConfig({ program: 'worker', settings: needed, env: {} }));
    expect(refusal.message).toContain('TIDEMARK_HANDLER_FILE: is not set');
  });

  it('checks relations that the caller states', () => {
    const related = z
      .object({
        TIDEMARK_LEASE_MS: integerSetting({ min: 1, max: 60_000, default: 30_000 }),
        TIDEMARK_RENEW_MS: integerSetting({ min: 1, max: 60_000, default: 5_000 }),
      })
      .refine((config) => config.TIDEMARK_RENEW_MS < config.TIDEMARK_LEASE_MS / 3, {
        error: 'must be below a third of TIDEMARK_LEASE_MS',
        path: ['TIDEMARK_RENEW_MS'],
      });
    expect(loadConfig({ program: 'worker', settings: related, env: {} }).TIDEMARK_RENEW_MS).toBe(5_000);
    const refusal = refusalOf(() =>
      loadConfig({ program: 'worker', settings: related, env: { TIDEMARK_RENEW_MS: '10000' } }),
    );
    expect(refusal.message).toContain('TIDEMARK_RENEW_MS: must be below a third of TIDEMARK_LEASE_MS');
  });

  it('reads flags and lists', () => {
    const others = z.object({ TIDEMARK_DEMO: flagSetting(false), TIDEMARK_HANDLERS: listSetting() });
    expect(loadConfig({ program: 'worker', settings: others, env: {} })).toEqual({
      TIDEMARK_DEMO: false,
      TIDEMARK_HANDLERS: [],
    });
    const env = { TIDEMARK_DEMO: 'true', TIDEMARK_HANDLERS: './a.ts, ./b.ts,' };
    expect(loadConfig({ program: 'worker', settings: others, env })).toEqual({
      TIDEMARK_DEMO: true,
      TIDEMARK_HANDLERS: ['./a.ts', './b.ts'],
    });
  });

  it.each(['1.5', '1e3', '0x10', 'four', '-'])('refuses %s as a whole number', (text) => {
    expect(refusalOf(() => load({ TIDEMARK_SLOTS: text })).message).toContain('TIDEMARK_SLOTS: must be a whole number');
  });
});

describe('unknownVariables', () => {
  it('finds slips of the pen and leaves the stack alone', () => {
    const env = {
      TIDEMARK_SLOT: '4',
      TIDEMARK_SLOTS: '4',
      TIDEMARK_STACK_PORT: '1',
      TIDEMARK_RELAY_NAME: 'x',
      PATH: '/bin',
    };
    expect(unknownVariables({ settings, env })).toEqual(['TIDEMARK_RELAY_NAME', 'TIDEMARK_SLOT']);
  });
});
