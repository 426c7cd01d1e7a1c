import { describe, expect, it } from 'vitest';
import { parseAvroType } from '../avro-type.ts';
import { schemaTexts } from '../generated/records.ts';
import { SchemaName } from '../ports.ts';
import { parseSchemaFiles } from './schema-files.ts';
import { renderRecords } from './typescript.ts';

const file = (name: string, record: object) => ({
  name,
  text: JSON.stringify({ type: 'record', namespace: 'x', ...record }),
});

describe('renderRecords', () => {
  const records = parseSchemaFiles([
    file('part-one.avsc', {
      name: 'PartOne',
      doc: 'A part.',
      fields: [{ name: 'n', type: 'long', doc: "It's a number." }],
    }),
    file('whole.avsc', {
      name: 'Whole',
      fields: [
        { name: 'first', type: 'x.PartOne' },
        { name: 'again', type: ['null', 'PartOne'], default: null },
        { name: 'list', type: { type: 'array', items: ['null', 'int'] } },
        { name: 'map', type: { type: 'map', values: 'bytes' } },
        { name: 'kind', type: { type: 'enum', name: 'Kind', symbols: ['a', 'b'] } },
        {
          name: 'inner',
          type: {
            type: 'record',
            name: 'Inner',
            fields: [{ name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } }],
          },
        },
      ],
    }),
  ]);
  const text = renderRecords(records);

  it('writes an interface per record, inner ones first', () => {
    expect(text).toContain(
      "/** A part. */\nexport interface PartOne {\n  /** It's a number. */\n  readonly n: bigint;\n}\n",
    );
    expect(text).toContain(
      'export interface Inner {\n  readonly at: bigint;\n}\n\nexport interface Whole {\n  readonly first: PartOne;\n',
    );
    expect(text).toContain('readonly again: PartOne | null;');
    expect(text).toContain('readonly list: readonly (number | null)[];');
    expect(text).toContain('readonly map: Readonly<Record<string, Buffer>>;');
    expect(text).toContain("readonly kind: 'a' | 'b';");
  });

  it('writes each schema with what it refers to written out once and named after that', () => {
    const [, quoted = ''] = /'x\.Whole':\n {4}'(.*)',/.exec(text) ?? [];
    const schema = JSON.parse(quoted.replaceAll("\\'", "'"));
    expect(schema.fields[0].type).toMatchObject({ type: 'record', name: 'PartOne' });
    expect(schema.fields[1].type).toEqual(['null', 'x.PartOne']);
    expect(parseAvroType(JSON.stringify(schema)).name).toBe('x.Whole');
  });

  it('refuses what no file defines, a file of another name, and a record defined twice', () => {
    const lonely = parseSchemaFiles([
      file('lonely.avsc', { name: 'Lonely', fields: [{ name: 'f', type: 'x.Nobody' }] }),
    ]);
    expect(() => renderRecords(lonely)).toThrow('Lonely refers to x.Nobody');
    expect(() => parseSchemaFiles([file('other.avsc', { name: 'Lonely', fields: [] })])).toThrow(
      'it must be called lonely.avsc',
    );
    expect(() =>
      parseSchemaFiles([
        file('a/lonely.avsc', { name: 'Lonely', fields: [] }),
        file('b/lonely.avsc', { name: 'Lonely', fields: [] }),
      ]),
    ).toThrow('defined twice');
  });
});

describe('the generated schemas', () => {
  it.each(Object.entries(schemaTexts))('%s stands alone', (fullName, text) => {
    expect(parseAvroType(text).name).toBe(fullName);
  });

  it('of records on topics carry a format version, except the wrapper of JSON text, whose content has its own life', () => {
    const without = Object.values(SchemaName).filter(
      (name) => !schemaTexts[name].includes('"name":"formatVersion","type":"int"'),
    );
    expect(without).toEqual([SchemaName.jsonValue]);
  });
});
