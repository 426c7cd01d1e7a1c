/** The one way to make a handler: a mistake in its shape is named when the module loads, not at the first record. */
import { ErrorClass, HANDLER_NAME_RULE, isHandlerName, TidemarkError } from '@tidemark/keyspace';
import type { AvroHandler, Handler, RawHandler } from './handler.ts';
import {
  BATCH_RECORDS_MAX,
  CONCURRENCY_MAX,
  DEFAULT_CONCURRENCY,
  DEFAULT_TIMEOUT_MS,
  RATE_MAX,
  TIMEOUT_MAX_MS,
} from './limits.ts';

/**
 * Returns the handler as it is, typed by its `input`: `raw` handlers get bytes, `avro` handlers the decoded record, whose
 * type is `Payload`. Throws TidemarkError `config` (BAD_HANDLER) that lists every fault of the shape.
 */
export function defineHandler(handler: RawHandler): RawHandler;
export function defineHandler<Payload>(handler: AvroHandler<Payload>): AvroHandler<Payload>;
export function defineHandler(handler: Handler): Handler {
  const faults = shapeFaults(handler);
  if (faults.length > 0) {
    throw new TidemarkError({
      code: 'BAD_HANDLER',
      class: ErrorClass.config,
      message: `handler ${nameForPeople(handler)} is not usable: ${faults.join('; ')}`,
    });
  }
  return handler;
}

/** What is wrong with the shape of a handler, one sentence each; empty when it is usable. Total: takes anything. */
export function shapeFaults(candidate: unknown): readonly string[] {
  if (typeof candidate !== 'object' || candidate === null)
    return ['a handler is an object: defineHandler({ name, input, … })'];
  const shape = candidate as { readonly [field: string]: unknown };
  const faults: string[] = [];
  const { name, input, idempotent } = shape;
  if (typeof name !== 'string' || !isHandlerName(name)) {
    faults.push(`name must be ${HANDLER_NAME_RULE}`);
  }
  if (input !== 'raw' && input !== 'avro') faults.push('input must be "raw" (bytes) or "avro" (decoded)');
  if (typeof idempotent !== 'boolean')
    faults.push('idempotent must be true or false: after a crash the chunk in flight is handed over again');
  if ((shape['handle'] === undefined) === (shape['handleBatch'] === undefined))
    faults.push('exactly one of handle and handleBatch is needed');
  for (const field of ['handle', 'handleBatch', 'verify', 'classify', 'open', 'close']) {
    if (shape[field] !== undefined && typeof shape[field] !== 'function') faults.push(`${field} must be a function`);
  }
  faults.push(
    ...integerFaults('concurrency', shape['concurrency'], CONCURRENCY_MAX),
    ...integerFaults('timeoutMs', shape['timeoutMs'], TIMEOUT_MAX_MS),
    ...integerFaults('rate', shape['rate'], RATE_MAX),
    ...integerFaults('batchRecordsMax', shape['batchRecordsMax'], BATCH_RECORDS_MAX),
  );
  if (shape['handleBatch'] !== undefined && shape['concurrency'] !== undefined)
    faults.push('concurrency has no meaning for handleBatch, which gets the whole chunk');
  if (shape['handle'] !== undefined && shape['batchRecordsMax'] !== undefined)
    faults.push('batchRecordsMax has no meaning for handle, which gets one record');
  return faults;
}

function integerFaults(field: string, value: unknown, max: number): readonly string[] {
  if (value === undefined) return [];
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max;
  return fits ? [] : [`${field} must be a whole number from 1 to ${max}`];
}

function nameForPeople(candidate: unknown): string {
  const name =
    typeof candidate === 'object' && candidate !== null ? (candidate as { readonly name?: unknown }).name : undefined;
  return typeof name === 'string' ? JSON.stringify(name) : '(without a name)';
}

export interface HandlerDefaults {
  readonly concurrency: number;
  readonly timeoutMs: number;
}

/** The optional numbers of a handler, filled in. */
export function handlerDefaults(handler: Handler): HandlerDefaults {
  return {
    concurrency: handler.concurrency ?? DEFAULT_CONCURRENCY,
    timeoutMs: handler.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
}
