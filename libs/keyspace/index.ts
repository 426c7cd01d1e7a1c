export { assertNever } from './src/assert-never.ts';
export {
  COUNTER_NAMES,
  explainedOffsets,
  IDENTITY_TERMS,
  NO_COUNTS,
  type RangeCounters,
  sumCounters,
} from './src/counters.ts';
export {
  CONNECTION_FAULTS,
  codeOf,
  describeError,
  ErrorClass,
  type ErrorContext,
  isOutage,
  TidemarkError,
} from './src/errors.ts';
export { FIXED_WIDTH, fromFixedWidth, toFixedWidth } from './src/fixed-width.ts';
export { inSlices } from './src/in-slices.ts';
export { mergeIntervals, type OffsetInterval, sizeOfIntervals, subtractIntervals } from './src/intervals.ts';
export { RANGES_PER_JOB_MAX } from './src/limits.ts';
export {
  checkNamespace,
  HANDLER_NAME_RULE,
  isHandlerName,
  isJobId,
  isNamespace,
  isTopicName,
  JOB_ID_RULE,
  NAMESPACE_RULE,
} from './src/names.ts';
export { BEFORE_FIRST, cursorBefore, nextOffsetOf, type Offset, offsetMax, offsetMin, toOffset } from './src/offset.ts';
export { partitionOfKey } from './src/partition.ts';
export { remember } from './src/remember.ts';
export { describeServer, serverAddress } from './src/server-address.ts';
export { backoff, monotonicNowMs, orAborted, retrying, sleep } from './src/time.ts';
export {
  contiguousPrefix,
  isEmpty,
  type PartitionWindow,
  type RangeRef,
  RangeStatus,
  rangeIdOf,
  rangeOfId,
  splitWindow,
  tiles,
  type Window,
  windowSize,
} from './src/window.ts';
