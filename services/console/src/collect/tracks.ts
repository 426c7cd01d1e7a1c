/** Which partitions are of interest for lag, and where the cursor stands in them: pure. */
import type { JobState } from '@tidemark/contracts';
import { JobPhase, type PrefixRange, settledPrefixOf, windowsOf } from '@tidemark/jobs';
import { type Offset, toOffset } from '@tidemark/keyspace';
import { TOPICS_MAX } from '../limits.ts';
import type { JobStates } from './job-states.ts';
import { followableJobs, isActive } from './work.ts';

/** One partition of a topic, by the job that stands furthest back in it. */
export interface Track {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly jobId: string;
  /** False: no job is under way, and this is where the last complete one ended, so where `after:JOB` would begin. */
  readonly isActive: boolean;
  /** Everything up to here is settled; undefined while nobody tells. */
  readonly cursor: Offset | undefined;
  /** The cursor of some active job is not known here, so the lowest may be below this one. */
  readonly mayBeLower: boolean;
  /** The pinned end of the job. */
  readonly end: Offset;
}

/** One partition of one incarnation of a topic. */
export function keyOfTrack({ topicId, partition }: Pick<Track, 'topicId' | 'partition'>): string {
  return `${topicId}/${partition}`;
}

type Ranges = ReadonlyMap<string, readonly PrefixRange[]>;

export interface Tracks {
  readonly tracks: readonly Track[];
  readonly topicsOmitted: number;
  /** Active jobs with a pin whose ranges are not known. */
  readonly jobsUnknown: readonly string[];
}

/**
 * Per topic: its active jobs, or, when there is none, its newest complete job. Of several active jobs the one with the
 * lowest cursor speaks for a partition. A job whose ranges are not known stays in view, without a cursor: its topic is
 * not caught up because nobody can say how far behind it is.
 */
export function tracksOf(states: JobStates, ranges: Ranges): Tracks {
  const newestFirst = [...states.values()]
    .filter(({ pin }) => pin !== null)
    .sort((a, b) => Number(isActive(b)) - Number(isActive(a)) || Number(b.requestedAtMs - a.requestedAtMs));
  const byTopic = new Map<string, Track[]>();
  for (const state of newestFirst) {
    const { topic } = state.request;
    const present = byTopic.get(topic);
    if (isActive(state)) byTopic.set(topic, lowest([...(present ?? []), ...activeTracks(state, ranges)]));
    else if (present === undefined && isComplete(state)) byTopic.set(topic, endedTracks(state));
  }
  const topics = [...byTopic.entries()];
  const shown = topics.slice(0, TOPICS_MAX).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    tracks: shown.flatMap(([, tracks]) => tracks),
    topicsOmitted: topics.length - shown.length,
    jobsUnknown: followableJobs(states).flatMap(({ jobId }) => (ranges.has(jobId) ? [] : [jobId])),
  };
}

function isComplete(state: JobState): boolean {
  return state.state === JobPhase.completed;
}

function activeTracks(state: JobState, ranges: Ranges): readonly Track[] {
  if (state.pin === null) return [];
  const known = ranges.get(state.jobId);
  const windows = windowsOf(state.pin);
  const prefixes = known === undefined ? undefined : settledPrefixOf(windows, known);
  return windows.map((window, index) => ({
    ...placeOf(state, window.partition),
    isActive: true,
    cursor: prefixes?.[index]?.settledTo,
    mayBeLower: prefixes === undefined,
    end: window.end,
  }));
}

function endedTracks(state: JobState): Track[] {
  return (state.pin?.partitions ?? []).map(({ partition, end }) => ({
    ...placeOf(state, partition),
    isActive: false,
    cursor: toOffset(end),
    mayBeLower: false,
    end: toOffset(end),
  }));
}

function placeOf(state: JobState, partition: number) {
  return { topic: state.request.topic, topicId: state.pin?.topicId ?? '', partition, jobId: state.jobId };
}

function lowest(tracks: readonly Track[]): Track[] {
  const kept = new Map<string, Track>();
  for (const track of tracks) {
    const key = keyOfTrack(track);
    const other = kept.get(key);
    kept.set(key, other === undefined ? track : lower(other, track));
  }
  return [...kept.values()].sort((a, b) => a.partition - b.partition);
}

function lower(a: Track, b: Track): Track {
  const isFirst = b.cursor === undefined || (a.cursor !== undefined && a.cursor <= b.cursor);
  return { ...(isFirst ? a : b), mayBeLower: a.mayBeLower || b.mayBeLower };
}
