/** Names and settings of our own topics: they are the database, so their settings are part of the promises. */
import type { TopicSpec } from '@tidemark/log';

export interface JobTopics {
  readonly jobs: string;
  readonly jobState: string;
  readonly jobEvents: string;
  readonly checkpoints: string;
  /** Below what offset nothing is promised any more, per partition of guarded topics. */
  readonly marks: string;
  /** Malformed requests. */
  readonly jobsDeadLetters: string;
}

export function jobTopics(namespace: string): JobTopics {
  return {
    jobs: `${namespace}.jobs`,
    jobState: `${namespace}.job-state`,
    jobEvents: `${namespace}.job-events`,
    checkpoints: `${namespace}.checkpoints`,
    marks: `${namespace}.marks`,
    jobsDeadLetters: `${namespace}.jobs.dlq`,
  };
}

const DAY_MS = 86_400_000;

/** A start reads compacted topics whole, so their segments are small and compaction comes within the hour. */
const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.bytes': String(16 * 1024 * 1024),
  'max.compaction.lag.ms': '3600000',
};
/** So long a request that is sent again is known by its id, however often an outbox or a client repeats it. */
export const IDEMPOTENCY_HORIZON_MS = 90 * DAY_MS;
const REQUESTS = {
  'cleanup.policy': 'delete',
  'retention.ms': String(IDEMPOTENCY_HORIZON_MS),
  'retention.bytes': '-1',
};
const AUDIT = { 'cleanup.policy': 'delete', 'retention.ms': String(365 * DAY_MS), 'retention.bytes': '-1' };

export function jobTopicSpecs(
  namespace: string,
  replicationFactor: number,
): Readonly<Record<keyof JobTopics, TopicSpec>> {
  const topics = jobTopics(namespace);
  const spec = (topic: string, configs: Readonly<Record<string, string>>): TopicSpec => ({
    topic,
    partitionCount: 1,
    replicationFactor,
    configs,
  });
  return {
    jobs: spec(topics.jobs, REQUESTS),
    jobState: spec(topics.jobState, COMPACTED),
    jobEvents: spec(topics.jobEvents, AUDIT),
    checkpoints: spec(topics.checkpoints, COMPACTED),
    marks: spec(topics.marks, COMPACTED),
    jobsDeadLetters: spec(topics.jobsDeadLetters, AUDIT),
  };
}

/** Where records go that a job's handler could not settle. */
export function deadLetterTopic(topic: string): string {
  return `${topic}${DEAD_LETTERS}`;
}

const DEAD_LETTERS = '.dlq';

/** The topic under which the dead letters of a job over this one are found: a redrive gives back what fails again. */
export function lettersFoundUnder(topic: string): string {
  return isDeadLetterTopic(topic) ? topic.slice(0, -DEAD_LETTERS.length) : topic;
}

/** By its name; whether its records are letters of ours, their headers say. */
export function isDeadLetterTopic(topic: string): boolean {
  return topic.endsWith(DEAD_LETTERS);
}
