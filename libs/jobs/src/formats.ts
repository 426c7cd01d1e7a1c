/**
 * In which format a record is written: pure. A program that knows only an older one drops the fields that came since, and writes
 * the record back without them: a hold for an audit would be gone without a word. So a record that makes use of them is in
 * the format that brought them, which an older program refuses by name; all others stay in the first one, for both to read.
 *
 * 2 = a hold for an audit, or a disorder bound.
 */
import type { JobRequested, JobState, SeriesDefinition, SeriesOrder, SeriesState } from '@tidemark/contracts';
import { isHeldForAudit } from './audit-hold.ts';
import { isTerminal } from './job-state.ts';
import { isHeld } from './series-state.ts';

const FIRST = 1;
const WITH_HOLDS = 2;

export function requestInFormat(request: JobRequested): JobRequested {
  return inFormat(request, formatOfRequest(request));
}

/** One that is over and holds nothing is not written any more, so nothing of it can get lost. */
export function stateInFormat(state: JobState): JobState {
  const isDone = isTerminal(state.state) && !isHeldForAudit(state);
  return inFormat(state, isDone ? FIRST : formatOfRequest(state.request));
}

export function seriesInFormat(state: SeriesState): SeriesState {
  return inFormat(state, isHeld(state) ? formatOfDefinition(state.definition) : FIRST);
}

export function seriesOrderInFormat(order: SeriesOrder): SeriesOrder {
  return inFormat(order, order.definition === null ? FIRST : formatOfDefinition(order.definition));
}

function formatOfDefinition({ request }: SeriesDefinition): number {
  return formatOfRequest(request);
}

function formatOfRequest({ holdForAuditMs, disorderMs }: JobRequested): number {
  return holdForAuditMs > 0n || disorderMs >= 0n ? WITH_HOLDS : FIRST;
}

/** Never below what it says already. */
function inFormat<Stored extends { readonly formatVersion: number }>(record: Stored, format: number): Stored {
  return record.formatVersion >= format ? record : { ...record, formatVersion: format };
}
