import { describe, expect, it } from 'vitest';
import { schemaChanges } from './schema-changes.ts';
import { parseSchemaFiles } from './schema-files.ts';

type Field = { readonly name: string; readonly type: unknown; readonly default?: unknown };

const recordsOf = (fields: readonly Field[], part: readonly Field[] = [{ name: 'n', type: 'long' }]) =>
  parseSchemaFiles([
    { name: 'whole.avsc', text: JSON.stringify({ type: 'record', name: 'Whole', namespace: 'x', fields }) },
    { name: 'part.avsc', text: JSON.stringify({ type: 'record', name: 'Part', namespace: 'x', fields: part }) },
  ]);

const base: readonly Field[] = [
  { name: 'id', type: 'string' },
  { name: 'note', type: 'string', default: '' },
  { name: 'part', type: ['null', 'x.Part'], default: null },
];
const older = recordsOf(base);

describe('schemaChanges', () => {
  it('takes no change, a new field with a default, and the end of a field that had one', () => {
    expect(schemaChanges(older, older)).toEqual([]);
    expect(schemaChanges(older, recordsOf([...base, { name: 'rate', type: 'long', default: 0 }]))).toEqual([]);
    expect(schemaChanges(older, recordsOf(base.filter(({ name }) => name !== 'note')))).toEqual([]);
  });

  const CANNOT_READ_OLD = 'x.Whole: the new schema cannot read old records';
  const CANNOT_READ_NEW = 'x.Whole: the old schema cannot read new records';

  it.each([
    ['a new field without a default', [...base, { name: 'rate', type: 'long' }], [CANNOT_READ_OLD]],
    ['the end of a field without a default', base.slice(1), [CANNOT_READ_NEW]],
    ['another type', [{ name: 'id', type: 'long' }, ...base.slice(1)], [CANNOT_READ_OLD, CANNOT_READ_NEW]],
  ])('refuses %s', (_, fields, reasons) => {
    expect(schemaChanges(older, recordsOf(fields))).toEqual(reasons.map((reason) => expect.stringContaining(reason)));
  });

  it('refuses a narrower number in one direction and a wider in the other', () => {
    const int = recordsOf([{ name: 'n', type: 'int' }]);
    const long = recordsOf([{ name: 'n', type: 'long' }]);
    expect(schemaChanges(int, long)).toEqual([expect.stringContaining('the old schema cannot read new records')]);
    expect(schemaChanges(long, int)).toEqual([expect.stringContaining('the new schema cannot read old records')]);
  });

  it('sees a change inside a record that others refer to', () => {
    const faults = schemaChanges(older, recordsOf(base, [{ name: 'm', type: 'long' }]));
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(expect.arrayContaining(['x.Whole', 'x.Part']));
  });

  it('refuses a record that is gone', () => {
    const newer = new Map([...older.entries()].filter(([name]) => name !== 'x.Part'));
    newer.set('x.Whole', { type: 'record', name: 'Whole', namespace: 'x', fields: [{ name: 'id', type: 'string' }] });
    expect(schemaChanges(older, newer)).toEqual(['x.Part is gone: stored records of it could no longer be read']);
  });
});
