/** What a job says that it lost against what was deleted before it was delivered, offset by offset. Pure. */
import type { LostOffsets } from '@tidemark/contracts';

/** By partition and offset. */
export function intervalsText(intervals: readonly LostOffsets[]): string {
  return [...intervals]
    .sort((a, b) => a.partition - b.partition || (a.first < b.first ? -1 : 1))
    .map(({ partition, first, last }) => `${partition}:${first} to ${last}`)
    .join(', ');
}

/** As a sentence; undefined when both are the same. Intervals of either are whole, with something between any two. */
export function lossComplaint(
  jobId: string,
  loss: { readonly said: readonly LostOffsets[]; readonly expected: readonly LostOffsets[] },
): string | undefined {
  const [said, expected] = [intervalsText(loss.said), intervalsText(loss.expected)];
  if (said === expected) return undefined;
  return `${jobId} says that it lost ${said || 'nothing'}, and ${expected || 'nothing'} was deleted before it was delivered`;
}
