/** The arithmetic on text that all scripts share, against BigInt, over the whole of int64. */
import { readFileSync } from 'node:fs';
import { toFixedWidth, toOffset } from '@tidemark/keyspace';
import { services } from '@tidemark/testkit';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { createTestAccess } from './test-access.ts';

const OFFSET_MAX = 2n ** 63n - 1n;
const PRELUDE = readFileSync(new URL('./lua/prelude-text.lua', import.meta.url), 'utf8');
const access = createTestAccess(services().redis);
afterAll(() => access.close());

const interesting = [
  -1n,
  0n,
  1n,
  9n,
  10n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  10n ** 18n,
  OFFSET_MAX - 1n,
  OFFSET_MAX,
];
const offset = fc.oneof(fc.constantFrom(...interesting), fc.bigInt(-1n, OFFSET_MAX));
const pairs = fc.array(fc.tuple(offset, offset), { minLength: 1, maxLength: 50 });

async function inLua(expression: string, values: readonly (readonly [bigint, bigint])[]): Promise<unknown> {
  const source = `${PRELUDE}
local answer = {}
for i = 1, #ARGV, 2 do
  local a, b = ARGV[i], ARGV[i + 1]
  answer[#answer + 1] = ${expression}
end
return answer`;
  return access.command('EVAL', source, '0', ...values.flat().map((value) => toFixedWidth(toOffset(value))));
}

it('below: compares as numbers do', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async (values) => {
      const expected = values.map(([a, b]) => (a < b ? 'yes' : 'no'));
      expect(await inLua("below(a, b) and 'yes' or 'no'", values)).toEqual(expected);
    }),
  );
});

it('difference: subtracts exactly', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async (values) => {
      const sorted = values.map(([a, b]) => (a > b ? ([a, b] as const) : ([b, a] as const)));
      const expected = sorted.map(([upper, lower]) =>
        (upper - lower > OFFSET_MAX ? OFFSET_MAX : upper - lower).toString(),
      );
      expect(await inLua('difference(a, b)', sorted)).toEqual(expected);
    }),
  );
});

it('incremented: adds one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.bigInt(0n, OFFSET_MAX - 1n), { minLength: 1, maxLength: 50 }), async (values) => {
      const expected = values.map((value) => toFixedWidth(toOffset(value + 1n)));
      const twice = values.map((value) => [value, value] as const);
      expect(await inLua('incremented(a)', twice)).toEqual(expected);
    }),
  );
});
