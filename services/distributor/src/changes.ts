/** Building what one transaction changes of a job. */
import type { JobState } from '@tidemark/contracts';
import { type JobTransition, type TransitionTime, transition } from '@tidemark/jobs';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { JobChange, Shard } from './shard.ts';

const ACTOR = 'distributor';

export function changeOf(state: JobState, checkpoints: JobChange['checkpoints']): JobChange {
  return { state, moved: false, events: [], checkpoints };
}

/** Adds a transition that the machine must allow here; a refusal means that this code is wrong. */
export function move(change: JobChange, event: JobTransition, time: TransitionTime): JobChange {
  const answer = transition(change.state, event, time);
  if (answer.kind === 'moved') {
    return { ...change, state: answer.state, moved: true, events: [...change.events, ...answer.events] };
  }
  throw new TidemarkError({
    code: 'IMPOSSIBLE_TRANSITION',
    class: ErrorClass.bug,
    message: `job ${change.state.jobId} is ${change.state.state} and cannot be ${event.kind}`,
    context: { jobId: change.state.jobId },
  });
}

export function timeOf(shard: Shard): TransitionTime {
  return { atMs: BigInt(shard.parts.nowMs()), actor: ACTOR };
}
