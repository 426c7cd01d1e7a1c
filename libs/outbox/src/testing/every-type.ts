/**
 * A table with a column of every type that the server has, of an array of each, and rows of values at the edges. Which
 * types there are is asked of the catalog, so that none is forgotten: one without a sample here is a failed test.
 */
import type { Client } from 'pg';
import { quoteIdentifier, quoteLiteral } from '../quoting.ts';

/** Of a type without an input function: nobody can have such a column and fill it. */
const NO_INPUT = '0A000';

/** Everything that a text may hold and a JSON text must escape or leave alone, up to what only some programs break on. */
const ODD_TEXT = String.fromCodePoint(
  ...Array.from({ length: 0x17f }, (_, code) => code + 1),
  0x2028,
  0x2029,
  0xfeff,
  0xfffd,
  0xffff,
  0x1f600,
  0x10ffff,
);

const EVERY_BYTE = `\\x${Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('hex')}`;
const DIGITS_1000 = `-${'1234567890'.repeat(50)}.${'0987654321'.repeat(50)}`;

/** {user} is the role of the test. */
const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  bool: ['true', 'false'],
  bytea: [EVERY_BYTE, '\\x', '\\x00'],
  char: ['a', '"', '\\'],
  name: [`it's "a" \\name`, ''],
  int2: ['-32768', '32767'],
  int4: ['-2147483648', '2147483647'],
  int8: ['-9223372036854775808', '9223372036854775807', '9007199254740993'],
  int2vector: ['1 -2 3', ''],
  oidvector: ['1 4294967295', ''],
  text: [ODD_TEXT, '', '"\\u0000 \\ud800 is not an escape"'],
  bpchar: ['ab  ', ''],
  varchar: [ODD_TEXT, ' '],
  oid: ['0', '4294967295'],
  tid: ['(0,1)', '(4294967295,65535)'],
  xid: ['0', '4294967295'],
  xid8: ['0', '18446744073709551615'],
  cid: ['0', '4294967295'],
  json: ['{"id": 9007199254740993, "amt": 1.10}', '[1, 2.50, 1234567890123456789012345678901234567890]', '" "'],
  jsonb: [
    '{"id":9007199254740993,"amt":1.10,"e":1.50E+2,"tiny":1e-30,"neg":-0.0}',
    `[${DIGITS_1000}, "\\u0001\\ud83d\\ude00\\"\\\\/"]`,
    'null',
  ],
  xml: [`<a b="c">&amp;<![CDATA[<>]]> 'x' "y"</a>`, '<a/><b/>', 'text only'],
  jsonpath: ['$."a b"[*] ? (@ > 1.50)', 'strict $'],
  money: ['-92233720368547758.08', '1234.5', '0'],
  float4: ['3.4028235e38', '1.1754944e-38', '0.1', 'NaN', '-Infinity', '16777217'],
  float8: ['0.30000000000000004', '5e-324', '1.7976931348623157e308', 'NaN', 'Infinity', '1e21'],
  numeric: [DIGITS_1000, 'NaN', 'Infinity', '-Infinity', '1.10', `0.${'0'.repeat(999)}1`, '100'],
  point: ['(0.1,-1e300)', '(NaN,Infinity)'],
  line: ['{0.1,-1,2}'],
  lseg: ['[(0.1,2),(3,4)]'],
  path: ['((0.1,2),(3,4))', '[(1,2)]'],
  box: ['(3,4),(0.1,2)'],
  polygon: ['((0.1,2),(3,4),(5,6))'],
  circle: ['<(0.1,2),3>'],
  inet: ['::ffff:1.2.3.4/96', '10.1.2.3/8', 'fe80::1'],
  cidr: ['10.0.0.0/8', '2001:db8::/32'],
  macaddr: ['08:00:2b:01:02:03'],
  macaddr8: ['08:00:2b:01:02:03:04:05'],
  aclitem: ['{user}=r*w/{user}', '=r/{user}'],
  date: ['infinity', '-infinity', '4713-01-01 BC', '5874897-12-31', '2026-11-29', '10000-01-01'],
  time: ['24:00:00', '23:59:59.999999', '00:00:00'],
  timetz: ['23:59:59.999999+15:59', '00:00:00-15:59'],
  timestamp: ['294276-12-31 23:59:59.999999', '4713-01-01 00:00:00 BC', 'infinity', '2026-11-29 10:30:45.120000'],
  timestamptz: [
    '294276-12-31 23:59:59.999999+00',
    '4713-01-01 00:00:00+00 BC',
    '-infinity',
    '2026-11-29 10:30:45.123456+05:45',
  ],
  interval: ['-178000000 years', '1 mon -1 day 00:00:00.000001', '-1 year 2 mons -3 days 04:05:06.7', '0'],
  bit: ['1', '0'],
  varbit: ['10101', ''],
  refcursor: ['a "cursor"'],
  regproc: ['pg_catalog.now', '-'],
  regprocedure: ['pg_catalog.abs(double precision)'],
  regoper: ['pg_catalog.||/'],
  regoperator: ['pg_catalog.+(integer,integer)'],
  regclass: ['pg_catalog.pg_class', 'information_schema.tables', '-'],
  regtype: ['timestamp with time zone', 'pg_catalog."char"'],
  regrole: ['{user}'],
  regnamespace: ['pg_catalog', 'information_schema'],
  regconfig: ['pg_catalog.english'],
  regdictionary: ['pg_catalog.simple'],
  regcollation: ['pg_catalog."C"'],
  uuid: ['ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000000'],
  pg_lsn: ['FFFFFFFF/FFFFFFFF', '0/0'],
  tsvector: [`'a':1A,2B 'it''s':3 ' \\\\ ':4`, ''],
  tsquery: [`'a' & !( 'b':* | 'it''s':AB ) <2> 'c'`, ''],
  txid_snapshot: ['10:20:10,14', '1:1:'],
  pg_snapshot: ['10:18446744073709551614:10,14', '1:1:'],
  int4range: ['[1,10)', 'empty', '(,)'],
  int8range: ['[-9223372036854775808,9007199254740993)'],
  numrange: ['(1.10,2.200]', '[NaN,NaN]', '[1,)'],
  tsrange: ['["2026-11-29 10:30:45.123456",infinity)', '("4713-01-01 00:00:00 BC",)'],
  tstzrange: ['["2026-11-29 10:30:45.123456+05:45",)', '[-infinity,infinity]'],
  daterange: ['[2026-11-29,infinity)', '["0044-03-15 BC","10000-01-01")'],
  int4multirange: ['{[1,3),[5,7)}', '{}'],
  int8multirange: ['{[1,9007199254740993)}'],
  nummultirange: ['{[1.10,2.200],(3,)}'],
  tsmultirange: ['{["2026-11-29 10:30:45.123456","2026-11-30 00:00:00")}'],
  tstzmultirange: ['{["2026-11-29 10:30:45.123456+05:45","2026-11-30 00:00:00+00")}'],
  datemultirange: ['{[2026-11-29,2026-12-01),[2027-01-01,)}'],
};

/** Of these an array constructor makes an array of more dimensions. */
const VECTORS: ReadonlySet<string> = new Set(['int2vector', 'oidvector']);

export interface TypedColumn {
  /** In SQL, as is the type. */
  readonly column: string;
  readonly type: string;
}

/** Columns after `id int primary key`. The table must not exist; it is filled with a row for each place in the samples. */
export async function createTableOfEveryType(client: Client, table: string): Promise<readonly TypedColumn[]> {
  const types = await typesWithInput(client);
  const columns = types.flatMap((type) => columnsOf(type));
  await client.query(
    `create table ${table} (id int primary key, ${columns.map(({ column, type }) => `${column} ${type}`).join(', ')})`,
  );
  const { rows } = await client.query<{ user: string }>(`select current_user as user`);
  const rowsNeeded = Math.max(...types.map((type) => samplesOf(type).length));
  for (let row = 0; row < rowsNeeded; row += 1) {
    const values = types.flatMap((type) => valuesOf(type, { row, user: rows[0]?.user ?? '' }));
    await client.query(`insert into ${table} values (${[row + 1, ...values].join(', ')})`);
  }
  return columns;
}

async function typesWithInput(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select typname as name from pg_type where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'r', 'm')
       and typcategory <> 'A' and typisdefined or typname in ('int2vector', 'oidvector') order by typname`,
  );
  const usable: string[] = [];
  for (const { name } of rows) {
    if (SAMPLES[name] !== undefined) {
      usable.push(name);
      continue;
    }
    const code = await client.query(`select 'x'::${typeText(name)}`).then(
      () => 'taken',
      (error: unknown) => (error as { code?: string }).code,
    );
    if (code !== NO_INPUT) throw new Error(`no sample of type ${name} (${code}): add one`);
  }
  return usable;
}

function columnsOf(type: string): readonly TypedColumn[] {
  const scalar = { column: quoteIdentifier(`c ${type}`), type: typeText(type) };
  return VECTORS.has(type) ? [scalar] : [scalar, { column: quoteIdentifier(`a ${type}`), type: `${typeText(type)}[]` }];
}

/** The array has two dimensions and nulls; the last rows hold null. */
function valuesOf(type: string, { row, user }: { readonly row: number; readonly user: string }): readonly string[] {
  const samples = samplesOf(type);
  const at = samples[row];
  const text = at === undefined ? 'null' : quoteLiteral(at.replaceAll('{user}', user));
  const value = `${text}::${typeText(type)}`;
  const array = at === undefined ? `'{}'::${typeText(type)}[]` : `array[array[${value}, null], array[null, ${value}]]`;
  return VECTORS.has(type) ? [value] : [value, array];
}

function samplesOf(type: string): readonly string[] {
  return SAMPLES[type] ?? [];
}

function typeText(name: string): string {
  return `pg_catalog.${quoteIdentifier(name)}`;
}
