/** `tidemark guard`, `tidemark retention status | run`: what the logs must keep, and cutting what nobody needs. */
import { type RetentionRow, viewRetention } from '@tidemark/control';
import type { Command } from 'commander';
import { withFloors } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { foreground } from './programs.ts';

const TOPICS = '--topics <policies>';
const TOPICS_HELP = 'what is guarded and how much of it is kept, as orders=7d,chat=10GiB (else TIDEMARK_GUARD_TOPICS)';

interface GuardOptions {
  readonly topics?: string;
}

export function registerRetention(program: Command, { group, command, run }: Registrar): void {
  run(
    command(program, 'guard', 'own the truncation of topics until stopped').option(TOPICS, TOPICS_HELP),
    (context, _: [], { topics }: GuardOptions) => foreground(context, 'retention-guard', settingsOf(topics)),
  );

  const retention = group(program, 'retention', 'what the logs must keep, and cutting the rest');
  run(
    command(retention, 'status [topic...]', 'log start, mark, floor and holder of every partition'),
    async (context, [topics]: [readonly string[]]) => {
      const view = await withFloors(context, (connections) => viewRetention({ ...connections, topics }));
      if (view.kind === 'topic not found') fail(ExitCode.notFound, `topic ${view.topic} does not exist`);
      printRows(context.terminal, context.format, { rows: view.rows, columns: COLUMNS, none: NONE });
    },
  );
  run(
    command(retention, 'run', 'one cycle of the guard; answers in JSON lines').option(TOPICS, TOPICS_HELP),
    (context, _: [], { topics }: GuardOptions) =>
      foreground(context, 'retention-guard', {
        TIDEMARK_LOG_LEVEL: 'warn',
        ...settingsOf(topics),
        TIDEMARK_GUARD_ONCE: 'true',
      }),
  );
}

function settingsOf(topics: string | undefined): Readonly<Record<string, string>> {
  return topics === undefined ? {} : { TIDEMARK_GUARD_TOPICS: topics };
}

const NONE = 'no unfinished job needs anything, and nothing was ever cut; name topics to see them anyway';

const COLUMNS = [
  { title: 'TOPIC', of: ({ topic }: RetentionRow) => topic },
  { title: 'PARTITION', of: ({ partition }: RetentionRow) => String(partition) },
  { title: 'LOG START', of: ({ logStartOffset }: RetentionRow) => String(logStartOffset) },
  { title: 'MARK', of: ({ mark }: RetentionRow) => String(mark ?? '-') },
  { title: 'FLOOR', of: ({ floor }: RetentionRow) => String(floor ?? '-') },
  { title: 'LOG END', of: ({ highWatermark }: RetentionRow) => String(highWatermark) },
  { title: 'HELD', of: ({ heldOffsets }: RetentionRow) => String(heldOffsets) },
  { title: '~BYTES', of: ({ heldBytes }: RetentionRow) => String(heldBytes) },
  {
    title: 'BY',
    of: ({ holder, holders, state }: RetentionRow) =>
      holder === null ? state : holders > 1 ? `${holder} (+${holders - 1})` : holder,
  },
];
