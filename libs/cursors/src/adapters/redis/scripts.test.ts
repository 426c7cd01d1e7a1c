import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scripts } from './scripts.ts';

const folder = new URL('./lua/', import.meta.url);
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }));
const operations = files.filter(({ name }) => !name.startsWith('prelude-'));

it('every file is one script, and every script has a file', () => {
  const names = Object.values(scripts).map(({ name }) => `${name}.lua`);
  expect(operations.map(({ name }) => name).sort()).toEqual(names.sort());
});

describe.each(files)('$name', ({ name, text }) => {
  const code = text
    .split('\n')
    .filter((line) => !line.trim().startsWith('--'))
    .join('\n');

  it('E7: builds no key name; every key comes from KEYS', () => {
    expect(
      keyArgumentsOf(code).filter((argument) => !/^(KEYS\[[^\]]+\]|JOB|RANGES|READY|RANGE)$/.test(argument)),
    ).toEqual([]);
    expect(code).not.toMatch(/:\{|\}:/);
  });

  it('calls the store only by its own name, with a literal command', () => {
    expect(code).not.toMatch(/redis\.(pcall|sha1hex|setresp)|loadstring|\bdofile\b/);
    expect(code.match(/redis\.call\((?!')/g)).toBeNull();
  });

  it('lets no key expire', () => {
    expect(code).not.toMatch(/'P?EXPIRE|'P?EXPIREAT|'SETEX|'PX'|'EX'/);
  });

  it('says what it does, with which keys and arguments, and why it is atomic', () => {
    if (name.startsWith('prelude-')) return expect(text.startsWith('-- Shared by')).toBe(true);
    const header = text.slice(0, text.indexOf('\n\n'));
    expect(header.startsWith(`-- ${name.replace('.lua', '')}: `)).toBe(true);
    expect(header).toMatch(/^-- KEYS/m);
    expect(header).toMatch(/^-- (Atomic, because|A script (only to|because)|One command; a script only)/m);
  });
});

it('finds a key that is built inside a script', () => {
  expect(keyArgumentsOf("redis.call('HGET', KEYS[1] .. ':job', 'a')")).toEqual(["KEYS[1] .. ':job'"]);
  expect(keyArgumentsOf("redis.call('DEL', 'tidemark:{a}:job')")).toEqual(["'tidemark:{a}:job'"]);
});

/** The first argument after the command, which is the key in every command with keys that the scripts use. */
function keyArgumentsOf(code: string): readonly string[] {
  return [...code.matchAll(/redis\.call\('([A-Z]+)'(?:,\s*([^,)]+))?/g)]
    .filter(([, command]) => command !== 'TIME' && command !== 'INFO')
    .map(([, , key]) => (key ?? '').trim());
}
