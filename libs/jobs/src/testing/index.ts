/** Jobs for tests: whole records from the few fields that a test is about. */
import type { JobCommand, JobRequested, JobState, Pin, SeriesDefinition, SeriesState } from '@tidemark/contracts';
import { JobPhase } from '../job-state.ts';
import { newRequest } from '../request-defaults.ts';

export function sampleRequest(fields: Partial<JobRequested> = {}): JobRequested {
  return newRequest({ jobId: 'job-1', topic: 'orders', handler: 'count', ...fields });
}

export function sampleCommand(fields: Partial<JobCommand> = {}): JobCommand {
  return {
    formatVersion: 1,
    commandId: 'command-1',
    jobId: 'job-1',
    command: 'pause',
    reason: 'a test',
    actor: 'tester',
    force: false,
    deadlineMs: 0n,
    budget: null,
    deadLettersMax: -1n,
    ...fields,
  };
}

/** Windows as `[start, end]` in the order of the partitions. */
export function samplePin(windows: readonly (readonly [start: bigint, end: bigint])[] = [[-1n, 99n]]): Pin {
  return {
    pinnedAtMs: 1_700_000_000_000n,
    topicId: 'topic-id-1',
    unsentKeys: 0n,
    unsent: [],
    partitions: windows.map(([start, end], partition) => ({
      partition,
      start,
      end,
      logStartOffset: 0n,
      highWatermark: end + 1n,
      clamped: '',
    })),
  };
}

export function sampleState(fields: Partial<JobState> = {}): JobState {
  const request = fields.request ?? sampleRequest();
  return {
    formatVersion: 1,
    jobId: request.jobId,
    request,
    state: JobPhase.running,
    reason: '',
    pin: samplePin(),
    totals: null,
    lost: [],
    requestedAtMs: 1_700_000_000_000n,
    updatedAtMs: 1_700_000_000_000n,
    lastCommandPartition: 0,
    lastCommandOffset: 0n,
    budget: null,
    deadLettersMax: -1n,
    ranMs: 0n,
    runningSinceMs: 1_700_000_000_000n,
    deadlineAtMs: 0n,
    commandIds: [],
    heldForAuditUntilMs: 0n,
    releasedFloors: [],
    ...fields,
  };
}

export function sampleDefinition(fields: Partial<SeriesDefinition> = {}): SeriesDefinition {
  return { request: sampleRequest({ jobId: 'nightly' }), cron: '', zone: 'UTC', everyMs: 600_000n, ...fields };
}

export function sampleSeries(fields: Partial<SeriesState> = {}): SeriesState {
  return {
    formatVersion: 1,
    series: 'nightly',
    definition: sampleDefinition(),
    status: 'ACTIVE',
    reason: '',
    topicId: 'topic-id-1',
    partitions: [{ partition: 0, end: 99n }],
    runs: 0n,
    liveRun: '',
    dueAtMs: 1_700_000_600_000n,
    lookedAtMs: 0n,
    createdAtMs: 1_700_000_000_000n,
    updatedAtMs: 1_700_000_000_000n,
    orderIds: [],
    ...fields,
  };
}
