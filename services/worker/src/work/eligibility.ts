/**
 * Whether this worker may take a job; what it may not take it leaves to others. That a handler without idempotence needs
 * the job's consent is checked twice: at the submit, where a person can still answer, and here, for requests that came
 * another way. The distributor does not know handlers, so such a job is accepted and waits.
 */
import type { Handler } from '@tidemark/handlers';
import type { JobDefinition } from '@tidemark/jobs';

export type Eligibility =
  | { readonly kind: 'eligible'; readonly handler: Handler }
  | { readonly kind: 'not eligible'; readonly reason: string };

export function eligibilityOf(job: JobDefinition, handler: Handler | undefined): Eligibility {
  if (handler === undefined) return { kind: 'not eligible', reason: `this worker has no handler ${job.handler}` };
  if (!handler.idempotent && !job.acceptDuplicates) {
    return {
      kind: 'not eligible',
      reason: `handler ${job.handler} is not idempotent and the job does not accept duplicates`,
    };
  }
  return { kind: 'eligible', handler };
}
