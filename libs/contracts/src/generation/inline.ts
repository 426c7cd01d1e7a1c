import {
  fullNameOf,
  isPrimitive,
  isUnion,
  namespaceOf,
  type RecordNode,
  resolveName,
  type SchemaNode,
} from './avro-schema.ts';

/**
 * The schema with every named record it refers to written out at its first use and named after that, as Avro demands it:
 * a registry gets one text that needs no other.
 */
export function inlineDependencies(root: RecordNode, records: ReadonlyMap<string, RecordNode>): SchemaNode {
  const defined = new Set<string>();

  const inline = (node: SchemaNode, enclosing: string): SchemaNode => {
    if (typeof node === 'string') return inlineReference(node, enclosing);
    if (isUnion(node)) return node.map((branch) => inline(branch, enclosing));
    if (node.type === 'record') {
      const fullName = fullNameOf(node, enclosing);
      defined.add(fullName);
      const fields = node.fields.map((field) => ({ ...field, type: inline(field.type, namespaceOf(fullName)) }));
      return { ...node, fields };
    }
    if (node.type === 'array') return { ...node, items: inline(node.items, enclosing) };
    if (node.type === 'map') return { ...node, values: inline(node.values, enclosing) };
    if (node.type === 'enum' || node.type === 'fixed') defined.add(fullNameOf(node, enclosing));
    return node;
  };

  const inlineReference = (reference: string, enclosing: string): SchemaNode => {
    if (isPrimitive(reference)) return reference;
    const fullName = resolveName(reference, enclosing);
    if (defined.has(fullName)) return fullName;
    const record = records.get(fullName);
    if (record === undefined) throw new Error(`${root.name} refers to ${reference}, which no file in schemas/ defines`);
    return inline(record, '');
  };

  return inline(root, '');
}
