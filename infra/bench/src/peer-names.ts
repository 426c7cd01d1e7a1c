/** The peers by name: which module of their folder each lives in, and whom one usually wants to see. */
const MODULES: ReadonlyMap<string, string> = new Map([
  ['plain-raw', 'core'],
  ['plain', 'core'],
  ['plain-2', 'core'],
  ['springbatch', 'springbatch'],
  ['springbatch-partitioned', 'springbatch'],
  ['flink', 'flink'],
  ['spark-batch', 'spark'],
  ['spark-stream', 'spark'],
  ['parallel-1', 'parallel'],
  ['parallel-500', 'parallel'],
  ['blocking-parallel', 'parallel'],
  ['blocking-lanes', 'core'],
  ['debezium', 'debezium'],
  ['debezium-poll10', 'debezium'],
]);

export const TRAVERSE_PEERS = ['plain', 'plain-raw', 'springbatch', 'flink'] as const;
export const BLOCKING_PEERS = ['blocking-parallel'] as const;
export const RELAY_PEERS = ['debezium', 'debezium-poll10'] as const;

/** A relay and a traversal are no peers of each other. */
export function unknownPeers(names: readonly string[], usual: readonly string[]): readonly string[] {
  const isRelay = (name: string | undefined) => MODULES.get(name ?? '') === 'debezium';
  return names.filter((name) => !MODULES.has(name) || isRelay(name) !== isRelay(usual[0]));
}

/** `core` is under all of them. */
export function modulesOf(names: readonly string[]): readonly string[] {
  return [...new Set(['core', ...names.map((name) => MODULES.get(name) ?? 'core')])].sort();
}
