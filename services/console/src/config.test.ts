import { describe, expect, it } from 'vitest';
import { loadConsoleConfig } from './config.ts';

describe('the settings', () => {
  it('are the local stack and a port of its own by default', () => {
    expect(loadConsoleConfig({})).toMatchObject({ TIDEMARK_CONSOLE_HOST: '127.0.0.1', TIDEMARK_CONSOLE_PORT: 19_099 });
  });

  it('name operators, each with a token of its own', () => {
    const operatorsOf = (text: string) =>
      loadConsoleConfig({ TIDEMARK_CONSOLE_OPERATOR_TOKENS: text }).TIDEMARK_CONSOLE_OPERATOR_TOKENS;
    expect(operatorsOf('')).toEqual([]);
    expect(operatorsOf('anna:0123456789abcdef, bert:a:long/token+with=marks')).toEqual([
      { name: 'anna', token: '0123456789abcdef' },
      { name: 'bert', token: 'a:long/token+with=marks' },
    ]);
  });

  it.each([
    ['anna:0123456789abcde', /at least 16 characters/],
    ['0123456789abcdef', /must be NAME:TOKEN/],
    ['anna:0123456789abcdef,', /must be NAME:TOKEN/],
    ['an na:0123456789abcdef', /must be NAME:TOKEN/],
    ['anna:0123456789abcdef,anna:fedcba9876543210', /a name of its own/],
    ['anna:0123456789abcdef,bert:0123456789abcdef', /a token of its own/],
  ])('refuse the operators %s, and repeat nothing of a token', (text, why) => {
    let message = '';
    try {
      loadConsoleConfig({ TIDEMARK_CONSOLE_OPERATOR_TOKENS: text });
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(why);
    expect(message).toContain('TIDEMARK_CONSOLE_OPERATOR_TOKENS');
    expect(message).not.toContain('0123456789');
  });

  it.each(['0.0.0.0', '::', '192.168.1.4', 'console.example'])('refuse to bind to %s, and say why', (host) => {
    expect(() => loadConsoleConfig({ TIDEMARK_CONSOLE_HOST: host })).toThrow(/TIDEMARK_CONSOLE_HOST.*no log-in yet/);
  });
});
