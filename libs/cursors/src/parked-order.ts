import type { ParkedRecord } from './ports.ts';

export function inOffsetOrder<Record extends Pick<ParkedRecord, 'offset'>>(records: readonly Record[]): Record[] {
  return [...records].sort((a, b) => (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0));
}
