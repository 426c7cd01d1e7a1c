/** `audit`: reading a topic again to prove a job's numbers, beside the traversal that made them. */
import { measureAudits } from './measure.ts';
import { environmentOf, mediansOf, type RunOptions, rounded } from './own-runs.ts';
import { ensureTraverseTopic, TRAVERSE_TOPIC } from './topic.ts';

export interface AuditReport {
  readonly work: 'audit';
  readonly records: number;
  readonly records_per_s: number;
  readonly cpu_s: number;
  readonly rss_mb: number;
  /** The traversal of the same run. */
  readonly traverse_per_s: number;
  readonly ratio: number;
}

export async function runAudit(options: RunOptions): Promise<AuditReport> {
  await ensureTraverseTopic(options.kafka.split(','), options.progress);
  const { traversals, audits } = await measureAudits(environmentOf(options, TRAVERSE_TOPIC), options);
  const audit = mediansOf(audits);
  const traverse_per_s = mediansOf(traversals).records_per_s;
  return { work: 'audit', ...audit, traverse_per_s, ratio: rounded(audit.records_per_s / traverse_per_s) };
}
