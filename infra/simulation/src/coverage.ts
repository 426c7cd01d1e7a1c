/** How much a history had in it: seeds in which nothing happens prove nothing. */
import { jobOf } from './audit/ledger.ts';
import type { History, HistoryEvent } from './history.ts';

export type Coverage = ReadonlyMap<string, number>;

export function coverageOf(history: History): Coverage {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const filled = new Set<string>();
  const granted = new Map<string, string>();
  for (const event of history.events) {
    for (const name of namesOf(event)) count(name);
    if (event.kind !== 'stored') continue;
    const { call } = event;
    if (call.operation === 'install' && call.answer?.kind === 'installed') {
      const jobId = jobOf(call);
      if (filled.has(jobId)) count('restore');
      filled.add(jobId);
    }
    if (call.operation === 'lease' && call.answer?.kind === 'granted') {
      const range = `${call.request.jobId}/${call.request.range.partition}/${call.request.range.start}`;
      const former = granted.get(range);
      if (former !== undefined && former !== event.by) count('takeover');
      granted.set(range, event.by);
    }
  }
  return counts;
}

function* namesOf(event: HistoryEvent): Iterable<string> {
  if (event.kind === 'durable') for (const { state } of event.states) yield `job ${state}`;
  if (event.kind === 'stored') yield* namesOfCall(event);
  if (event.kind === 'delivered') yield event.attempt > 1 ? 'another attempt' : 'delivery';
  if (event.kind === 'cut') yield `cut by ${event.who === 'guard' ? 'the guard' : 'a stranger'}`;
  if (event.kind === 'process') yield `process ${event.what}`;
  if (event.kind === 'store lost') yield `store ${event.how.split(' to ')[0]}`;
  if (event.kind === 'dead letter') yield event.kind;
}

function* namesOfCall({ call }: Extract<HistoryEvent, { kind: 'stored' }>): Iterable<string> {
  const { answer } = call;
  if (call.operation === 'advance' && call.answer?.kind === 'advanced' && call.request.park.length > 0) yield 'parked';
  if (call.operation === 'settle' && call.answer?.kind === 'settled') yield 'parked settled';
  if (call.operation === 'advance' && call.answer?.kind === 'advanced' && call.request.passed.length > 0) yield 'lost';
  if (call.operation === 'settle' && call.answer?.kind === 'settled' && call.request.passed.length > 0)
    yield 'parked lost';
  if (answer !== undefined) yield `${call.operation}: ${answer.kind}`;
}
