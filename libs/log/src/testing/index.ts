export { HANGING_ALLOWED, hangTransaction } from './hang-transaction.ts';
export {
  createMemoryCluster,
  type MemoryCluster,
  type MemoryClusterOptions,
  type OpenTransaction,
} from './memory-cluster.ts';
export type { FaultMoment, MemoryFaults, MemoryOperation } from './memory-faults.ts';
