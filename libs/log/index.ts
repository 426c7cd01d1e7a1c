export { headerText } from './src/headers.ts';
export { NO_END } from './src/limits.ts';
export { batchBytesOf } from './src/outgoing.ts';
export {
  type AppendedRecord,
  type Behind,
  type Bytes,
  type Chunk,
  type Hole,
  HoleKind,
  type LogCatalog,
  type LogCluster,
  type LogDisk,
  type LogEntry,
  type LogReader,
  type LogRecord,
  type LogTransactions,
  type LogWriter,
  type OngoingTransaction,
  type OutgoingRecord,
  type PartitionName,
  type PartitionOffsets,
  type ReadAnswer,
  type ReadRequest,
  type RecordHeaders,
  type Source,
  type TopicDescription,
  type TopicSpec,
  type TransactionalProducer,
  type TransactionalWriter,
  type TransactionOutcome,
} from './src/ports.ts';
export { describeReadRefusal } from './src/read-refusal.ts';
export { sampleBytesPerOffset, sampleChunks, sampleLowestBytesPerOffset } from './src/sample.ts';
export { follow, scanTopic } from './src/scan.ts';
