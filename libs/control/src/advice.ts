/** What a person can do about a wait; empty when nothing but patience helps. */
import { assertNever } from '@tidemark/keyspace';
import { type BudgetUse, resumeCommand } from './budget-use.ts';
import { type Waiting, WaitKind } from './waiting.ts';

export function adviceOn(
  { kind }: Waiting,
  job: { readonly jobId: string; readonly budget: readonly BudgetUse[] },
): string {
  switch (kind) {
    case WaitKind.person:
      return `"${resumeCommand(job.jobId, job.budget)}" lets it go on.`;
    case WaitKind.distributor:
      return '"tidemark distributor" runs one, if none does.';
    case WaitKind.drain:
      return 'The order given again with --force does not wait for them.';
    case WaitKind.noWorker:
    case WaitKind.noHandler:
      return '"tidemark worker --handlers FILE" runs one.';
    case WaitKind.notIdempotent:
      return 'Cancel it, and submit it again with --accept-duplicates.';
    case WaitKind.openTransaction:
      return 'Whoever began it must end it.';
    case WaitKind.breaker:
    case WaitKind.permit:
    case WaitKind.rate:
    case WaitKind.broker:
    case WaitKind.backoff:
    case WaitKind.parkedFull:
    case WaitKind.takeover:
    case WaitKind.turn:
    case WaitKind.other:
      return '';
    default:
      return assertNever(kind);
  }
}
