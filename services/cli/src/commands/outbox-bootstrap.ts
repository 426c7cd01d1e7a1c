/** `tidemark outbox bootstrap | status`: the rows that a table had before it was attached, and what is attached. */
import { createPaceMeter, describeCount, describeDuration, plainText } from '@tidemark/control';
import type { Bootstrap } from '@tidemark/outbox';
import { type AttachedTable, bootstrapTable, listAttached } from '@tidemark/outbox/postgres';
import type { Client } from 'pg';
import type { Context } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { PROGRESS_TOLD_EVERY_MS, WAIT_TOLD_AFTER_MS } from '../limits.ts';
import { instant, printOne, printRows } from '../output.ts';
import { withPostgres } from '../postgres.ts';
import type { Terminal } from '../terminal.ts';

export interface BootstrapCliOptions {
  readonly rows: number;
  readonly backlog: number;
  readonly restart: boolean;
  /** In milliseconds. */
  readonly patience: number;
}

export async function bootstrapBy(context: Context, table: string, options: BootstrapCliOptions): Promise<ExitCode> {
  const told = await withPostgres(context, (client) => runBootstrap(context, client, table, options));
  printOne(context.terminal, context.format, bootstrapJson(told), () => [outcomeOf(told)]);
  return told.finishedAtMs === null ? ExitCode.failed : ExitCode.ok;
}

/** Tells on stderr how far it is. Ctrl-C stops it after the chunk that runs. */
export async function runBootstrap(
  { terminal, effective }: Context,
  client: Client,
  table: string,
  options: BootstrapCliOptions,
): Promise<Bootstrap> {
  const teller = progressTeller(terminal);
  const told = await bootstrapTable(client, {
    namespace: effective.config.TIDEMARK_NAMESPACE,
    table,
    rowsMax: options.rows,
    backlogRowsMax: options.backlog,
    restart: options.restart,
    patienceMs: options.patience,
    signal: terminal.signal,
    ...teller,
  });
  terminal.live('');
  return told;
}

/** On a terminal one line that changes; elsewhere a line now and then. A short wait is not worth a word. */
function progressTeller(terminal: Terminal): { onStep(bootstrap: Bootstrap): void; onWait(why: string): void } {
  const meter = createPaceMeter();
  let line = '';
  let movedAtMs = performance.now();
  let toldAtMs = Number.NEGATIVE_INFINITY;

  function tell(text: string): void {
    if (terminal.isInteractive) {
      terminal.live(text);
      return;
    }
    if (performance.now() - toldAtMs < PROGRESS_TOLD_EVERY_MS) return;
    toldAtMs = performance.now();
    terminal.note(text);
  }

  return {
    onStep(bootstrap) {
      movedAtMs = performance.now();
      const { rowsTold, rowsEstimated, table, finishedAtMs } = bootstrap;
      const total = rowsEstimated ?? 0n;
      const pace = meter.observe(movedAtMs, { offsetsDone: rowsTold, offsetsTotal: total, percent: 0 });
      const rate = pace.perSecond > 0 ? `  ${describeCount(pace.perSecond)}/s` : '';
      const left = pace.etaMs !== undefined && total > rowsTold ? `  about ${describeDuration(pace.etaMs)} left` : '';
      line = plainText(`${table}  ${rowsOf(bootstrap)}${rate}${left}`);
      if (finishedAtMs === null) tell(line);
    },
    onWait(why) {
      if (performance.now() - movedAtMs >= WAIT_TOLD_AFTER_MS) tell(plainText(`${line}  ${why}`));
    },
  };
}

export async function showAttached(context: Context): Promise<void> {
  const namespace = context.effective.config.TIDEMARK_NAMESPACE;
  const rows = await withPostgres(context, (client) => listAttached(client, { namespace }));
  printRows(context.terminal, context.format, {
    rows,
    columns: [
      { title: 'TABLE', of: ({ table }) => table },
      { title: 'TOPIC', of: ({ topic }) => topic },
      { title: 'KEY', of: ({ keyColumns }) => keyColumns.join(', ') },
      { title: 'ROWS', of: ({ appendOnly }) => (appendOnly ? 'only added' : 'change') },
      { title: 'BOOTSTRAP', of: ({ bootstrap }) => (bootstrap === null ? 'none' : stateOf(bootstrap)) },
    ],
    json: attachedJson,
    none: 'no table is attached; "tidemark outbox attach TABLE --topic TOPIC" attaches one',
  });
}

function attachedJson({ attachedAtMs, bootstrap, ...more }: AttachedTable) {
  return {
    ...more,
    attachedAt: instant(attachedAtMs),
    bootstrap: bootstrap === null ? null : bootstrapJson(bootstrap),
  };
}

export function bootstrapJson({ startedAtMs, updatedAtMs, finishedAtMs, isOutdated: _, ...more }: Bootstrap) {
  return {
    ...more,
    startedAt: instant(startedAtMs),
    updatedAt: instant(updatedAtMs),
    finishedAt: finishedAtMs === null ? null : instant(finishedAtMs),
  };
}

/** `finished, 1,000 rows`, or how far it is and since when. */
export function stateOf(bootstrap: Bootstrap): string {
  if (bootstrap.finishedAtMs !== null) return `finished, ${describeCount(bootstrap.rowsTold)} rows`;
  const since = describeDuration(Math.max(0, Date.now() - bootstrap.updatedAtMs));
  return `${rowsOf(bootstrap)}, last step ${since} ago`;
}

export function outcomeOf(bootstrap: Bootstrap): string {
  const { table, rowsTold, finishedAtMs } = bootstrap;
  return finishedAtMs === null
    ? `${table}: stopped after ${rowsOf(bootstrap)}; "tidemark outbox bootstrap ${table}" goes on there`
    : `${table}: all rows are told, ${describeCount(rowsTold)} of them; finished at ${instant(finishedAtMs)}`;
}

/** The estimate is as old as the table's statistics, so it is not shown once it is passed. */
function rowsOf({ rowsTold, rowsEstimated }: Bootstrap): string {
  const total = rowsEstimated === null || rowsEstimated < rowsTold ? '' : ` of about ${describeCount(rowsEstimated)}`;
  return `${describeCount(rowsTold)}${total} rows`;
}
