/** TypeScript text for the records of `schemas/`. */
import {
  type FieldNode,
  fullNameOf,
  isPrimitive,
  isUnion,
  namespaceOf,
  type Primitive,
  type RecordNode,
  type SchemaNode,
} from './avro-schema.ts';
import { inlineDependencies } from './inline.ts';

const HEAD = `/**
 * Generated from schemas/*.avsc by \`node libs/contracts/src/generate.ts\`. Change the schemas and run it again.
 *
 * long is bigint, bytes are Buffer, a map is a readonly object.
 */
`;

const PRIMITIVE_TEXT: Readonly<Record<Primitive, string>> = {
  null: 'null',
  boolean: 'boolean',
  int: 'number',
  long: 'bigint',
  float: 'number',
  double: 'number',
  bytes: 'Buffer',
  string: 'string',
};

/** `records` by full name, one per file. */
export function renderRecords(records: ReadonlyMap<string, RecordNode>): string {
  const interfaces = [...records.entries()].flatMap(([fullName, record]) =>
    renderInterfaces(record, namespaceOf(fullName)),
  );
  const names = [...records.entries()].map(([fullName, record]) => `  '${fullName}': ${record.name};`);
  const texts = [...records.entries()].flatMap(([fullName, record]) => [
    `  '${fullName}':`,
    `    ${quote(JSON.stringify(inlineDependencies(record, records)))},`,
  ]);
  return [
    HEAD,
    ...interfaces,
    '/** Full name -> record. */',
    'export interface RecordsByName {',
    ...names,
    '}',
    '',
    '/** Full name -> Avro schema, everything it refers to written out. */',
    'export const schemaTexts: Readonly<Record<keyof RecordsByName, string>> = {',
    ...texts,
    '};',
    '',
  ].join('\n');
}

/** The record's own interface after those that are defined inside it. */
function renderInterfaces(record: RecordNode, enclosing: string): readonly string[] {
  const nested = record.fields
    .flatMap((field) => nestedRecords(field.type))
    .flatMap((inner) => renderInterfaces(inner, enclosing));
  const fields = record.fields.flatMap((field) => renderField(field));
  return [
    ...nested,
    ...renderDoc(record.doc, ''),
    `export interface ${shortName(fullNameOf(record, enclosing))} {`,
    ...fields,
    '}',
    '',
  ];
}

function nestedRecords(node: SchemaNode): readonly RecordNode[] {
  if (typeof node === 'string') return [];
  if (isUnion(node)) return node.flatMap((branch) => nestedRecords(branch));
  if (node.type === 'record') return [node];
  if (node.type === 'array') return nestedRecords(node.items);
  return node.type === 'map' ? nestedRecords(node.values) : [];
}

function renderField(field: FieldNode): readonly string[] {
  return [...renderDoc(field.doc, '  '), `  readonly ${field.name}: ${renderType(field.type)};`];
}

function renderDoc(doc: string | undefined, indent: string): readonly string[] {
  return doc === undefined ? [] : [`${indent}/** ${doc.replaceAll('*/', '* /')} */`];
}

function renderType(node: SchemaNode): string {
  if (typeof node === 'string') return isPrimitive(node) ? PRIMITIVE_TEXT[node] : shortName(node);
  if (isUnion(node)) return renderUnion(node);
  if (node.type === 'record') return node.name;
  if (node.type === 'array') {
    return isUnion(node.items) ? `readonly (${renderType(node.items)})[]` : `readonly ${renderType(node.items)}[]`;
  }
  if (node.type === 'map') return `Readonly<Record<string, ${renderType(node.values)}>>`;
  if (node.type === 'enum') return node.symbols.map((symbol) => `'${symbol}'`).join(' | ');
  return node.type === 'fixed' ? 'Buffer' : PRIMITIVE_TEXT[node.type];
}

/** Null goes last, as people write it; the order of branches means nothing to TypeScript. */
function renderUnion(branches: readonly SchemaNode[]): string {
  const others = branches.filter((branch) => branch !== 'null').map((branch) => renderType(branch));
  return branches.includes('null') ? [...others, 'null'].join(' | ') : others.join(' | ');
}

function shortName(fullName: string): string {
  return fullName.slice(fullName.lastIndexOf('.') + 1);
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
