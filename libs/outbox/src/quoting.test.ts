import { expect, it } from 'vitest';
import { quoteIdentifier, quoteLiteral } from './quoting.ts';

it('quotes as Postgres does', () => {
  expect(quoteIdentifier('a"b')).toBe('"a""b"');
  expect(quoteLiteral("a'b")).toBe("'a''b'");
  expect(quoteLiteral('a\\b')).toBe(" E'a\\\\b'");
});
