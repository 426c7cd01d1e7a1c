/** The report of one cycle for scripts: a JSON line a partition, 64-bit numbers as text. */
import { type CycleReport, PartitionOutcome, type PartitionReport } from './report.ts';

const FAULTS: ReadonlySet<PartitionOutcome> = new Set([
  PartitionOutcome.incomplete,
  PartitionOutcome.beyondLog,
  PartitionOutcome.refused,
  PartitionOutcome.failed,
]);

/** Returns the exit code: 1 when something could not be looked after, or somebody else removed what is needed. */
export function printReport(
  { partitions, drift, repaired, recreated }: CycleReport,
  out: { write(text: string): unknown },
): 0 | 1 {
  for (const partition of partitions) out.write(`${JSON.stringify(partition, asText)}\n`);
  for (const [topic, settings] of drift) out.write(`${JSON.stringify({ topic, drift: settings })}\n`);
  for (const [topic, settings] of repaired) out.write(`${JSON.stringify({ topic, repaired: settings })}\n`);
  for (const [topic, words] of recreated) out.write(`${JSON.stringify({ topic, recreated: words })}\n`);
  const isFault = ({ outcome, removals = [] }: PartitionReport): boolean =>
    FAULTS.has(outcome) || removals.some(({ needed }) => needed.length > 0);
  return partitions.some(isFault) ? 1 : 0;
}

function asText(_: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value);
  return typeof value === 'bigint' ? value.toString() : value;
}
