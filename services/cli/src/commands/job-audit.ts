/** `tidemark job audit ID`: do the numbers of a job add up with what the log, the dead letters and the sink show today? */

import type { JobState } from '@tidemark/contracts';
import { type AuditedRange, auditJob, describeCount, type Effect, type JobAudit, tableLines } from '@tidemark/control';
import { assertNever, type RangeRef } from '@tidemark/keyspace';
import type { Command } from 'commander';
import { type Context, withConnections } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { stateText, unknownJob } from '../job-output.ts';
import { AUDITED_RANGES_LISTED_MAX } from '../limits.ts';
import { printOne } from '../output.ts';
import { withPostgres } from '../postgres.ts';
import type { Registrar } from '../registrar.ts';
import { sinkEffects } from '../sink-effects.ts';

interface AuditOptions {
  readonly sinkSql?: string;
}

export function registerAudit(job: Command, { command, run }: Registrar): void {
  const audit = command(job, 'audit <id>', 'read the window again and prove the numbers of a job').option(
    '--sink-sql <select>',
    'its effects in TIDEMARK_POSTGRES, a row each: columns partition and offset, or one with the idempotency key',
  );
  run(audit, (context, [id]: [string], { sinkSql }: AuditOptions) =>
    withConnections(context, async (connections) => {
      const state = (await connections.jobLog.states()).get(id) ?? unknownJob(id);
      const auditWith = async (effects?: AsyncIterable<Effect>): Promise<ExitCode> => {
        const { terminal } = context;
        const answer = await auditJob(connections, state, {
          signal: terminal.signal,
          onProgress: (scanned, total) => {
            if (terminal.isInteractive)
              terminal.live(`read again ${describeCount(scanned)} of ${describeCount(total)} offsets`);
          },
          ...(effects === undefined ? {} : { effects }),
        });
        terminal.live('');
        switch (answer.kind) {
          case 'audited':
            return show(context, state, answer.audit);
          case 'not pinned':
            return fail(
              ExitCode.conflict,
              `job ${id} is ${stateText(state)} and has no window yet: nothing can be proved of it`,
            );
          case 'no ranges':
            return fail(
              ExitCode.conflict,
              `neither the cursor store nor the checkpoints know a range of job ${id}: nothing can be proved of it`,
            );
          default:
            return assertNever(answer);
        }
      };
      if (sinkSql === undefined) return await auditWith();
      return await withPostgres(context, (client) => auditWith(sinkEffects(client, sinkSql, state.request.topic)));
    }),
  );
}

const EXIT_CODES: Readonly<Record<JobAudit['verdict'], ExitCode>> = {
  proven: ExitCode.ok,
  unprovable: ExitCode.finishedWithFaults,
  broken: ExitCode.failed,
};

function show({ terminal, format }: Context, state: JobState, audit: JobAudit): ExitCode {
  printOne(terminal, format, auditJson(state, audit), () => auditLines(state, audit));
  return EXIT_CODES[audit.verdict];
}

function auditJson(state: JobState, audit: JobAudit): object {
  const { verdict, counters, scanned, remaining } = audit;
  return {
    jobId: state.jobId,
    state: state.state,
    verdict,
    scanned,
    records: sum(audit, ({ scan }) => scan.records),
    processed: counters.ok + counters.skipped + counters.deadLettered,
    ...counters,
    remaining,
    effects: effectsOf(audit),
    findings: audit.findings,
    ranges: audit.ranges.map(({ range, scan, effects, findings }) => ({
      range: placeOf(range),
      start: range.start,
      cursor: range.cursor,
      end: range.end,
      counters: range.counters,
      scan: { ...scan, unread: scan.unread ?? null },
      effects: effects ?? null,
      findings,
    })),
  };
}

/** Null when no sink was asked. */
function effectsOf(audit: JobAudit): { found: bigint; repeated: bigint; missing: bigint } | null {
  if (audit.ranges.every(({ effects }) => effects === undefined)) return null;
  const of = (name: 'found' | 'repeated' | 'missing'): bigint => sum(audit, ({ effects }) => effects?.[name] ?? 0n);
  return { found: of('found'), repeated: of('repeated'), missing: of('missing') };
}

function sum({ ranges }: JobAudit, of: (range: AuditedRange) => bigint): bigint {
  return ranges.reduce((total, range) => total + of(range), 0n);
}

const VERDICTS: Readonly<Record<JobAudit['verdict'], string>> = {
  proven: 'PROVEN: the numbers are what the log shows',
  unprovable: 'NOT ALL PROVABLE: nothing contradicts the numbers, but the log no longer shows everything',
  broken: 'BROKEN: the numbers contradict what is there',
};

function auditLines(state: JobState, audit: JobAudit): readonly string[] {
  const { counters, ranges, findings, remaining } = audit;
  const effects = effectsOf(audit);
  const listed = [...ranges].sort((a, b) => b.findings.length - a.findings.length).slice(0, AUDITED_RANGES_LISTED_MAX);
  const lines = [
    `job        ${state.jobId}`,
    `state      ${stateText(state)}`,
    `scanned    ${describeCount(audit.scanned)} offsets again, ${describeCount(remaining)} of the window are not passed yet`,
    `settled    ${describeCount(counters.ok)} ok, ${describeCount(counters.skipped)} skipped, ${describeCount(counters.deadLettered)} dead-lettered`,
    `apart      at most ${describeCount(counters.maybeRedelivered)} records were delivered again`,
  ];
  if (effects !== null) {
    const { found, repeated, missing } = effects;
    lines.push(
      `effects    of ${describeCount(found)} records in the sink, ${describeCount(repeated)} more than once, ${describeCount(missing)} records without`,
    );
  }
  lines.push('', ...tableLines(COLUMNS, listed));
  if (listed.length < ranges.length)
    lines.push(`${describeCount(ranges.length - listed.length)} more ranges are not listed; -o json lists all`);
  const named = ranges.flatMap(({ range, findings: own }) =>
    own.map(({ kind, message }) => `${kind}: range ${placeOf(range)}: ${message}`),
  );
  lines.push('', ...findings.map(({ kind, message }) => `${kind}: ${message}`), ...named, VERDICTS[audit.verdict]);
  return lines;
}

const COLUMNS = [
  { title: 'RANGE', of: ({ range }: AuditedRange) => placeOf(range) },
  { title: 'CURSOR', of: ({ range }: AuditedRange) => range.cursor, align: 'right' },
  { title: 'RECORDS', of: ({ scan }: AuditedRange) => scan.records, align: 'right' },
  { title: 'FILTERED', of: ({ scan }: AuditedRange) => scan.filtered, align: 'right' },
  { title: 'MARKERS', of: ({ scan }: AuditedRange) => scan.markers, align: 'right' },
  { title: 'COMPACTED', of: ({ scan }: AuditedRange) => scan.compacted, align: 'right' },
  {
    title: 'GONE',
    of: ({ scan }: AuditedRange) => scan.gone.reduce((total, { first, last }) => total + (last - first + 1n), 0n),
    align: 'right',
  },
  { title: 'ADDS UP', of: ({ findings }: AuditedRange) => adds(findings) },
] as const;

/** As ranges are named in all tables. */
function placeOf({ partition, start }: RangeRef): string {
  return `${partition}:${start}`;
}

function adds(findings: AuditedRange['findings']): string {
  if (findings.some(({ kind }) => kind === 'broken')) return 'NO';
  return findings.length === 0 ? 'yes' : 'as far as seen';
}
