/** How one window of a series joins the next. */
import type { Pin, SeriesPartition } from '@tidemark/contracts';
import { OnLost } from './definition.ts';
import { endsOfSeries } from './series-definition.ts';

/**
 * Why the window that was pinned is not the one after the last: somebody cut the log in between, or it went back. Undefined
 * when it is. A partition that no run has seen may begin anywhere: nothing of it was ever promised.
 */
export function chainFault(
  partitions: readonly SeriesPartition[],
  pin: Pick<Pin, 'partitions'>,
  onLost: string,
): string | undefined {
  const ends = endsOfSeries(partitions);
  for (const { partition, start } of pin.partitions) {
    const end = ends.get(partition);
    if (end === undefined || start === end) continue;
    if (start < end)
      return `LOG_WENT_BACK: partition ${partition} ends at ${start}, but the run before went up to ${end}; delete the series and create it again from where you want it to go on`;
    if (onLost !== OnLost.skip)
      return `RECORDS_GONE: offsets ${end + 1n} to ${start} of partition ${partition}, next in the series, were removed by somebody else; delete the series and create it again with --on-lost skip or from where you want it to go on`;
  }
  return undefined;
}

/** What was removed between the last window and this one, in words; '' if nothing. A series that skips it says so. */
export function removedBetween(partitions: readonly SeriesPartition[], pin: Pick<Pin, 'partitions'>): string {
  const ends = endsOfSeries(partitions);
  const gaps = pin.partitions.flatMap(({ partition, start }) => {
    const end = ends.get(partition);
    return end === undefined || start <= end ? [] : [`offsets ${end + 1n} to ${start} of partition ${partition}`];
  });
  const [first, ...others] = gaps;
  if (first === undefined) return '';
  const more = others.length === 0 ? '' : ` (and in ${others.length} more partitions)`;
  return `${first}${more} were removed by somebody else`;
}

/** Where the run after this one begins; a partition that the pin does not show stays as it is. */
export function endsAfter(partitions: readonly SeriesPartition[], pin: Pick<Pin, 'partitions'>): SeriesPartition[] {
  const ends = new Map(endsOfSeries(partitions));
  for (const { partition, end } of pin.partitions) ends.set(partition, end);
  return [...ends].map(([partition, end]) => ({ partition, end })).sort((a, b) => a.partition - b.partition);
}

/** The lowest offset that the next run needs of a partition; 0 of one that no run has seen. */
export function neededBySeries(partitions: readonly SeriesPartition[], partition: number): bigint {
  return (endsOfSeries(partitions).get(partition) ?? -1n) + 1n;
}
