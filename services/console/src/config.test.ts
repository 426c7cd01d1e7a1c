import { describe, expect, it } from 'vitest';
import { loadConsoleConfig } from './config.ts';

describe('the settings', () => {
  it('are the local stack and a port of its own by default', () => {
    expect(loadConsoleConfig({})).toMatchObject({ TIDEMARK_CONSOLE_HOST: '127.0.0.1', TIDEMARK_CONSOLE_PORT: 19_099 });
  });

  it.each(['0.0.0.0', '::', '192.168.1.4', 'console.example'])('refuse to bind to %s, and say why', (host) => {
    expect(() => loadConsoleConfig({ TIDEMARK_CONSOLE_HOST: host })).toThrow(/TIDEMARK_CONSOLE_HOST.*no log-in yet/);
  });
});
