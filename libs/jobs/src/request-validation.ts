/** Whether a request can ever run, as far as that shows without looking at the log. All faults at once. */
import type { JobRequested } from '@tidemark/contracts';
import {
  HANDLER_NAME_RULE,
  isHandlerName,
  isJobId,
  isTopicName,
  JOB_ID_RULE,
  RANGES_PER_JOB_MAX,
} from '@tidemark/keyspace';
import { budgetFaults } from './budget.ts';
import { builtInFaults } from './built-in/faults.ts';
import { OnExhausted, OnLost, Ordering, wordOf } from './definition.ts';
import {
  ATTEMPTS_MAX,
  CHUNK_BYTES_MAX,
  CHUNK_BYTES_MIN,
  CHUNK_RECORDS_MAX,
  DISORDER_MS_MAX,
  HOLD_FOR_AUDIT_MS_MAX,
  NOTE_LENGTH_MAX,
  PARAMETERS_BYTES_MAX,
  PARAMETERS_MAX,
  PARKED_MAX,
} from './limits.ts';
import { parseWindow } from './window-grammar.ts';

/** A request whose id is unusable cannot even be answered under that id: it is a malformed record. */
export function jobIdFault(jobId: string): string | undefined {
  return isJobId(jobId) ? undefined : `jobId ${quote(jobId)} must be ${JOB_ID_RULE}`;
}

export function requestFaults(request: JobRequested): readonly string[] {
  const id = jobIdFault(request.jobId);
  return [
    ...(id === undefined ? [] : [id]),
    ...nameFaults(request),
    ...shapeFaults(request),
    ...sizeFaults(request),
    ...windowFaults(request),
    ...builtInFaults(request),
  ];
}

function nameFaults({ topic, handler, ordering, onLost, onExhausted, series }: JobRequested): readonly string[] {
  const faults: string[] = [];
  if (series !== '') faults.push(`series ${quote(series)}: only the distributor requests the runs of a series`);
  if (!isTopicName(topic)) faults.push(`topic ${quote(topic)} is not a legal topic name`);
  if (!isHandlerName(handler)) faults.push(`handler ${quote(handler)} must be ${HANDLER_NAME_RULE}`);
  if (wordOf(Ordering, ordering) === undefined)
    faults.push(`ordering ${quote(ordering)} is none of: ${Object.values(Ordering).join(', ')}`);
  if (wordOf(OnLost, onLost) === undefined)
    faults.push(`onLost ${quote(onLost)} is none of: ${Object.values(OnLost).join(', ')}`);
  if (wordOf(OnExhausted, onExhausted) === undefined)
    faults.push(`onExhausted ${quote(onExhausted)} is none of: ${Object.values(OnExhausted).join(', ')}`);
  return faults;
}

function shapeFaults(request: JobRequested): readonly string[] {
  const faults = [
    outside('chunkRecords', request.chunkRecords, 1, CHUNK_RECORDS_MAX),
    outside('chunkBytes', request.chunkBytes, CHUNK_BYTES_MIN, CHUNK_BYTES_MAX),
    outside('concurrency', request.concurrency, 0, RANGES_PER_JOB_MAX),
    request.rate < 0 ? `rate ${request.rate} is negative` : undefined,
    outside('rangesPerPartition', request.rangesPerPartition, 0, RANGES_PER_JOB_MAX),
    outside('attempts', request.attempts, 1, ATTEMPTS_MAX),
    outside('parkedMax', request.parkedMax, 0, PARKED_MAX),
    request.deadLettersMax < 0n ? `deadLettersMax ${request.deadLettersMax} is negative` : undefined,
    ...budgetFaults(request.budget),
    daysOutside('holdForAuditMs', request.holdForAuditMs, 0n, HOLD_FOR_AUDIT_MS_MAX),
    daysOutside('disorderMs', request.disorderMs, -1n, DISORDER_MS_MAX),
    request.rangesPerPartition > 1 && request.ordering !== Ordering.none
      ? `rangesPerPartition ${request.rangesPerPartition} needs ordering none: the parts of a partition run at the same time`
      : undefined,
  ];
  return faults.filter((fault) => fault !== undefined);
}

function sizeFaults({ parameters, note }: JobRequested): readonly string[] {
  const faults: string[] = [];
  const entries = Object.entries(parameters);
  if (entries.length > PARAMETERS_MAX)
    faults.push(`${entries.length} parameters, at most ${PARAMETERS_MAX} are allowed`);
  const characters = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (characters > PARAMETERS_BYTES_MAX)
    faults.push(`the parameters hold ${characters} characters, at most ${PARAMETERS_BYTES_MAX} are allowed`);
  if (note.length > NOTE_LENGTH_MAX)
    faults.push(`the note holds ${note.length} characters, at most ${NOTE_LENGTH_MAX} are allowed`);
  return faults;
}

function windowFaults({ from, to, disorderMs, jobId }: JobRequested): readonly string[] {
  const parsed = parseWindow({ from, to, disorderMs });
  if (parsed.kind === 'refused') return parsed.reasons;
  return parsed.spec.from.kind === 'after' && parsed.spec.from.jobId === jobId
    ? ['from: a job cannot follow itself']
    : [];
}

function outside<Value extends number | bigint>(
  name: string,
  value: Value,
  min: Value,
  max: Value,
): string | undefined {
  return value >= min && value <= max ? undefined : `${name} ${value} is not between ${min} and ${max}`;
}

/** Of a time in milliseconds whose limit is days: nobody reads those from the number. */
function daysOutside(name: string, ms: bigint, minMs: bigint, maxMs: bigint): string | undefined {
  const fault = outside(name, ms, minMs, maxMs);
  return fault && `${fault}, which is ${maxMs / 86_400_000n} days`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
