/** What a series is asked to do, and what its runs ask for. */
import type { JobRequested, SeriesDefinition, SeriesPartition } from '@tidemark/contracts';
import { isJobId, JOB_ID_RULE } from '@tidemark/keyspace';
import { SERIES_NAME_CHARACTERS_MAX } from './limits.ts';
import { isSameContent } from './request-content.ts';
import { requestFaults } from './request-validation.ts';
import { scheduleFaults } from './series-schedule.ts';

/** A name that is unusable cannot even be answered under that name: its order is a malformed record. */
export function seriesNameFault(name: string): string | undefined {
  if (isJobId(name) && name.length <= SERIES_NAME_CHARACTERS_MAX) return undefined;
  const quoted = JSON.stringify(name.slice(0, 200));
  return `the name ${quoted} of a series must be ${JOB_ID_RULE}, and at most ${SERIES_NAME_CHARACTERS_MAX} of them`;
}

/** All faults as sentences; none = the log decides the rest. */
export function definitionFaults(name: string, definition: SeriesDefinition): readonly string[] {
  const { request } = definition;
  const fault = seriesNameFault(name);
  const faults = [...(fault === undefined ? [] : [fault]), ...requestFaults(request), ...scheduleFaults(definition)];
  if (request.jobId !== name) faults.push(`the request of series ${name} is one of ${JSON.stringify(request.jobId)}`);
  if (request.to !== 'now')
    faults.push(`to ${JSON.stringify(request.to)}: every run of a series ends where the log ends then, so it is now`);
  return faults;
}

/** Who sent it is not content. */
export function isSameSeries(a: SeriesDefinition, b: SeriesDefinition): boolean {
  return a.cron === b.cron && a.zone === b.zone && a.everyMs === b.everyMs && isSameContent(a.request, b.request);
}

/** As holder of floors, and in the audit trail; no job id has a colon. */
export function holderOf(series: string): string {
  return `series:${series}`;
}

/** Of its state and orders in our topics; no job id has a slash. */
export function seriesKey(series: string): string {
  return `series/${series}`;
}

export function runIdOf(series: string, number: bigint): string {
  return `${series}-${number}`;
}

/** Undefined when no run of the series can have the id. */
export function runNumberOf(series: string, jobId: string): bigint | undefined {
  const digits = jobId.startsWith(`${series}-`) ? jobId.slice(series.length + 1) : '';
  return /^[1-9]\d*$/.test(digits) ? BigInt(digits) : undefined;
}

/**
 * The request of a run over these partitions of the topic, as everybody could write it: it begins right after the last end,
 * and at the beginning of partitions that no run has seen.
 */
export function runRequest(
  {
    definition,
    partitions,
  }: { readonly definition: SeriesDefinition; readonly partitions: readonly SeriesPartition[] },
  run: { readonly jobId: string; readonly partitionCount: number },
): JobRequested {
  const ends = endsOfSeries(partitions);
  const firsts = Array.from(
    { length: run.partitionCount },
    (_, partition) => `${partition}:${(ends.get(partition) ?? -1n) + 1n}`,
  );
  return { ...definition.request, jobId: run.jobId, from: firsts.join(','), series: definition.request.jobId };
}

/** The last offset of the newest window, by partition. */
export function endsOfSeries(partitions: readonly SeriesPartition[]): ReadonlyMap<number, bigint> {
  return new Map(partitions.map(({ partition, end }) => [partition, end]));
}
