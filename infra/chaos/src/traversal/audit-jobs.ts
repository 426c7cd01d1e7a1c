/** What was asked for against what the jobs say of themselves: windows, ends, numbers. Pure. */
import type { JobState } from '@tidemark/contracts';
import type { AskedJob } from './job-desk.ts';

export interface PinnedWindow {
  readonly partition: number;
  readonly first: bigint;
  readonly last: bigint;
}

/** The windows as pinned, without empty ones. */
export function pinnedWindows(state: JobState | undefined): readonly PinnedWindow[] {
  return (state?.pin?.partitions ?? [])
    .map(({ partition, start, end }) => ({ partition, first: start + 1n, last: end }))
    .filter(({ first, last }) => last >= first);
}

/** What is wrong with the job, as sentences. */
export function jobComplaints(asked: AskedJob, state: JobState | undefined): readonly string[] {
  if (state === undefined) return [`${asked.jobId} was never answered`];
  if (state.state !== 'COMPLETED')
    return [`${asked.jobId} (${asked.mode ?? 'ledger'}, ${asked.ordering}) is ${state.state}: ${state.reason}`];
  const pinned = new Map(pinnedWindows(state).map((window) => [window.partition, window]));
  const wanted = asked.windows.filter(({ first, last }) => last >= first);
  const complaints = wanted.flatMap(({ partition, first, last }) => {
    const window = pinned.get(partition);
    const fits =
      window !== undefined && window.first === first && (asked.isExact ? window.last === last : window.last >= last);
    if (fits) return [];
    const got = window === undefined ? 'nothing' : `${window.first} to ${window.last}`;
    return [`${asked.jobId} was to cover ${first} to ${last} of partition ${partition} and covers ${got}`];
  });
  const known = new Set(asked.windows.map(({ partition }) => partition));
  const foreign = [...pinned.keys()].filter((partition) => !known.has(partition));
  if (foreign.length > 0)
    complaints.push(`${asked.jobId} covers partitions that it was not asked for: ${foreign.join(', ')}`);
  return complaints;
}

/** What the sink and the dead-letter topic hold of one job. */
export interface JobFound {
  readonly effects: number;
  readonly deadLetters: number;
  readonly repeated: number;
}

/** The job's own numbers against what was found. `isStoreLost`: a store was lost while it ran, which `maybeRedelivered` cannot know. */
export function numberComplaints(state: JobState, found: JobFound, isStoreLost: boolean): readonly string[] {
  const { totals, jobId } = state;
  if (totals === null) return [`${jobId} is COMPLETED without numbers`];
  const complaints: string[] = [];
  const compare = (what: string, said: bigint, counted: number): void => {
    if (said !== BigInt(counted)) complaints.push(`${jobId} says ${said} ${what}, ${counted} were found`);
  };
  compare('handled records', totals.ok + totals.skipped, found.effects);
  compare('dead letters', totals.deadLettered, found.deadLetters);
  if (!isStoreLost && BigInt(found.repeated) > totals.maybeRedelivered)
    complaints.push(`${jobId} repeated ${found.repeated} records and says at most ${totals.maybeRedelivered}`);
  return complaints;
}
