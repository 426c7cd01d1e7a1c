/** Makes the entry the newest of the map, and forgets the oldest one when they are more than `max`: a Map keeps the order of insertion. */
export function remember<Key, Value>(
  entries: Map<Key, Value>,
  { key, value, max }: { readonly key: Key; readonly value: Value; readonly max: number },
): void {
  entries.delete(key);
  entries.set(key, value);
  const oldest = entries.keys().next();
  if (entries.size > max && !oldest.done) entries.delete(oldest.value);
}
