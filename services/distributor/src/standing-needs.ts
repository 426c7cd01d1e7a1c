/** What the log must keep beside what the ranges of jobs need: behind the last windows of series, and whole windows for audits. Pure. */
import { auditHolderOf } from '@tidemark/jobs';
import { type Need, wholeOf } from './needs.ts';
import { needsOfAllSeries, type SeriesFacts } from './series-needs.ts';

export function* standingNeeds(facts: SeriesFacts): Generator<{ holder: string; needs: readonly Need[] }> {
  yield* needsOfAllSeries(facts);
  for (const state of facts.book.heldForAudit()) yield { holder: auditHolderOf(state.jobId), needs: wholeOf(state) };
}
