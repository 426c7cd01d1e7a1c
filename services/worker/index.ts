export { type Clock, systemClock } from './src/clock.ts';
export { loadHandlers } from './src/handlers/load-handlers.ts';
export type { Instant } from './src/lease/lease-trust.ts';
export { StopCode } from './src/range/verdict.ts';
export { decodeRecords } from './src/run/decode.ts';
export { eventOfRecord } from './src/run/record-event.ts';
export type { SlotState } from './src/slot.ts';
export { startWorker, type Worker, type WorkerOptions, type WorkerState } from './src/worker.ts';
export type { WorkerMetrics } from './src/worker-metrics.ts';
