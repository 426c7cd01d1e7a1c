/** The part of Avro's schema language that `schemas/` uses, as the files hold it. */
export type SchemaNode =
  | string
  | readonly SchemaNode[]
  | RecordNode
  | EnumNode
  | FixedNode
  | ArrayNode
  | MapNode
  | PrimitiveNode;

export interface RecordNode {
  readonly type: 'record';
  readonly name: string;
  readonly namespace?: string;
  readonly doc?: string;
  readonly fields: readonly FieldNode[];
}

export interface FieldNode {
  readonly name: string;
  readonly type: SchemaNode;
  readonly doc?: string;
  readonly default?: unknown;
}

export interface EnumNode {
  readonly type: 'enum';
  readonly name: string;
  readonly namespace?: string;
  readonly doc?: string;
  readonly symbols: readonly string[];
}

export interface FixedNode {
  readonly type: 'fixed';
  readonly name: string;
  readonly namespace?: string;
  readonly size: number;
}

export interface ArrayNode {
  readonly type: 'array';
  readonly items: SchemaNode;
}

export interface MapNode {
  readonly type: 'map';
  readonly values: SchemaNode;
}

/** `{ "type": "long", "logicalType": "timestamp-millis" }` */
export interface PrimitiveNode {
  readonly type: Primitive;
  readonly logicalType?: string;
}

export const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const;
export type Primitive = (typeof PRIMITIVES)[number];

export function isPrimitive(name: string): name is Primitive {
  return PRIMITIVES.some((primitive) => primitive === name);
}

export function isUnion(node: SchemaNode): node is readonly SchemaNode[] {
  return Array.isArray(node);
}

export function fullNameOf(node: { readonly name: string; readonly namespace?: string }, enclosing: string): string {
  if (node.name.includes('.')) return node.name;
  const namespace = node.namespace ?? enclosing;
  return namespace === '' ? node.name : `${namespace}.${node.name}`;
}

export function namespaceOf(fullName: string): string {
  return fullName.slice(0, Math.max(0, fullName.lastIndexOf('.')));
}

/** A reference by a name without dots means the enclosing namespace. */
export function resolveName(reference: string, enclosing: string): string {
  return reference.includes('.') || enclosing === '' ? reference : `${enclosing}.${reference}`;
}
