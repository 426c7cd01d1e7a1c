/** Series as the command line shows them. */
import type { SeriesState } from '@tidemark/contracts';
import { type Column, describeSchedule, describeSeries, tableLines } from '@tidemark/control';
import { SeriesStatus, shownParameters } from '@tidemark/jobs';
import { instant } from './output.ts';

export const SERIES_COLUMNS: readonly Column<SeriesState>[] = [
  { title: 'SERIES', of: ({ series }) => series },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'TOPIC', of: ({ definition }) => definition.request.topic },
  { title: 'HANDLER', of: ({ definition }) => definition.request.handler },
  { title: 'SCHEDULE', of: ({ definition }) => describeSchedule(definition) },
  { title: 'RUNS', of: ({ runs }) => runs, align: 'right' },
  { title: 'LIVE RUN', of: ({ liveRun }) => liveRun },
  { title: 'NEXT DUE', of: dueText },
];

function dueText({ status, dueAtMs }: SeriesState): string {
  return status === SeriesStatus.active ? instant(dueAtMs) : '';
}

/** The shape that programs get. */
export function seriesJson(state: SeriesState): object {
  const { series, status, reason, topicId, partitions, runs, liveRun, lookedAtMs } = state;
  const { request } = state.definition;
  return {
    series,
    status,
    reason,
    definition: { ...state.definition, request: { ...request, parameters: shownParameters(request.parameters) } },
    topicId,
    partitions,
    runs,
    liveRun: liveRun === '' ? null : liveRun,
    nextDueAt: status === SeriesStatus.active ? instant(state.dueAtMs) : null,
    lastLookAt: lookedAtMs === 0n ? null : instant(lookedAtMs),
    createdAt: instant(state.createdAtMs),
    updatedAt: instant(state.updatedAtMs),
  };
}

const PARTITION_COLUMNS: readonly Column<SeriesState['partitions'][number]>[] = [
  { title: 'PARTITION', of: ({ partition }) => partition, align: 'right' },
  { title: 'NEXT OFFSET', of: ({ end }) => end + 1n, align: 'right' },
];

export function seriesLines(state: SeriesState): readonly string[] {
  const { definition, topicId, runs, liveRun, lookedAtMs, partitions } = state;
  const { request } = definition;
  const lines = [
    `series     ${state.series}`,
    `status     ${describeSeries(state)}`,
    `topic      ${request.topic}${topicId === '' ? '' : `  (id ${topicId})`}`,
    `handler    ${request.handler}`,
    `schedule   ${describeSchedule(definition)}`,
    `runs       ${runs}${runs === 0n ? '' : `, the newest is ${state.series}-${runs}`}${liveRun === '' ? '' : ', which is live'}`,
  ];
  if (lookedAtMs > 0n) lines.push(`last look  ${instant(lookedAtMs)}`);
  if (state.status === SeriesStatus.active) lines.push(`next due   ${instant(state.dueAtMs)}`);
  if (partitions.length > 0) lines.push('', 'the next run begins at', ...tableLines(PARTITION_COLUMNS, partitions));
  return lines;
}
