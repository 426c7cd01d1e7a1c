/** `tidemark guard`, `tidemark retention status | run`: what the logs must keep, and cutting what nobody needs. */
import { describeDuration, type Holding, plainText, type RetentionRow, viewRetention } from '@tidemark/control';
import type { Command } from 'commander';
import { withFloors } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { Format, instant, printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { foreground } from './programs.ts';

const TOPICS = '--topics <policies>';
const TOPICS_HELP = 'what is guarded and how much of it is kept, as orders=7d,chat=10GiB (else TIDEMARK_GUARD_TOPICS)';

const GROUPS = '--groups <groups>';
const GROUPS_HELP =
  'consumer groups whose committed offsets hold a guarded topic, as orders=billing+analytics (else TIDEMARK_GUARD_GROUPS)';
const HOLD = '--hold <limits>';
const HOLD_HELP =
  'how long a job, or its hold for an audit, may hold what the policy would remove, as orders=3d (then an alarm) or orders=3d/7d (then it is released; else TIDEMARK_GUARD_HOLD)';
const REPAIR = '--repair';
const REPAIR_HELP = 'set settings that let the broker cut by itself to -1 (else TIDEMARK_GUARD_REPAIR)';

interface GuardOptions {
  readonly topics?: string;
  readonly groups?: string;
  readonly hold?: string;
  readonly repair?: true;
}

export function registerRetention(program: Command, { group, command, run }: Registrar): void {
  run(
    withSettings(command(program, 'guard', 'own the truncation of topics until stopped')),
    (context, _: [], options: GuardOptions) => foreground(context, 'retention-guard', settingsOf(options)),
  );

  const retention = group(program, 'retention', 'what the logs must keep, and cutting the rest');
  run(
    command(
      retention,
      'status [topic...]',
      'log start, mark, floor and holders of every partition, and where it goes from here',
    ),
    async (context, [topics]: [readonly string[]]) => {
      const view = await withFloors(context, (connections) => viewRetention({ ...connections, topics }));
      if (view.kind === 'topic not found') fail(ExitCode.notFound, `topic ${view.topic} does not exist`);
      const { terminal, format } = context;
      printRows(terminal, format, { rows: view.rows, columns: columnsAt(Date.now()), none: NONE });
      if (format !== Format.table) return;
      for (const line of [...auditsIn(view.rows), ...view.rows.flatMap(remarksOn)]) terminal.note(plainText(line));
    },
  );
  run(
    withSettings(command(retention, 'run', 'one cycle of the guard; answers in JSON lines')),
    (context, _: [], options: GuardOptions) =>
      foreground(context, 'retention-guard', {
        TIDEMARK_LOG_LEVEL: 'warn',
        ...settingsOf(options),
        TIDEMARK_GUARD_ONCE: 'true',
      }),
  );
}

function withSettings(command: Command): Command {
  return command
    .option(TOPICS, TOPICS_HELP)
    .option(GROUPS, GROUPS_HELP)
    .option(HOLD, HOLD_HELP)
    .option(REPAIR, REPAIR_HELP);
}

function settingsOf({ topics, groups, hold, repair }: GuardOptions): Readonly<Record<string, string>> {
  return {
    ...(topics === undefined ? {} : { TIDEMARK_GUARD_TOPICS: topics }),
    ...(groups === undefined ? {} : { TIDEMARK_GUARD_GROUPS: groups }),
    ...(hold === undefined ? {} : { TIDEMARK_GUARD_HOLD: hold }),
    ...(repair === undefined ? {} : { TIDEMARK_GUARD_REPAIR: 'true' }),
  };
}

const NONE = 'no unfinished job needs anything, and nothing was ever cut; name topics to see them anyway';

function columnsAt(nowMs: number) {
  return [
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
    { title: 'SINCE', of: ({ sinceMs }: RetentionRow) => (sinceMs === null ? '-' : instant(sinceMs)) },
    { title: 'POLICY IN', of: ({ guard }: RetentionRow) => timeTo(guard?.policyAtFloorAtMs, nowMs) },
    { title: 'DISK FULL IN', of: ({ guard }: RetentionRow) => timeTo(guard?.diskFullAtMs, nowMs) },
  ];
}

function timeTo(atMs: bigint | null | undefined, nowMs: number): string {
  return atMs === null || atMs === undefined ? '-' : describeDuration(Math.max(0, Number(atMs) - nowMs));
}

function untilText({ jobId, untilMs }: NonNullable<Holding['audit']>): string {
  const until = untilMs === null ? 'which has not ended' : `until ${instant(untilMs)}`;
  return `${until}; "tidemark job audit ${jobId}" proves it and lets go`;
}

/** A line for each job whose window is held for a proof; a job has one topic. */
function auditsIn(rows: readonly RetentionRow[]): readonly string[] {
  const held = rows.flatMap(({ topic, partition, heldBy }) =>
    heldBy.flatMap(({ audit }) => (audit === null ? [] : [{ topic, partition, audit }])),
  );
  return [...Map.groupBy(held, ({ audit }) => audit.jobId).values()].flatMap((places) => {
    const [first] = places;
    if (first === undefined) return [];
    const where =
      places.length === 1 ? `${first.topic}/${first.partition}` : `${places.length} partitions of ${first.topic}`;
    return [`${where}: held for the audit of job ${first.audit.jobId}, ${untilText(first.audit)}`];
  });
}

/** What does not fit into a table: why the guard leaves a partition alone, and what others took from it. */
function remarksOn({ topic, partition, guard, released, removals }: RetentionRow): readonly string[] {
  const place = `${topic}/${partition}`;
  const reasons = guard === null || guard.reason === '' ? [] : [`${place}: ${guard.outcome}: ${guard.reason}`];
  const removed = removals.map(({ fromOffset, toOffset, seenAtMs, needed }) => {
    const who = needed.map((each) => `${each.holder} [${each.fromOffset}, ${each.toOffset})`).join(', ');
    const what = `${place}: somebody else removed [${fromOffset}, ${toOffset}), seen ${instant(seenAtMs)}`;
    return who === '' ? `${what}; nobody needed it` : `${what}; needed by ${who}`;
  });
  const freed = released.map(
    ({ holder, fromOffset, atMs }) =>
      `${place}: ${holder} held for too long and was released ${instant(atMs)}: what it had not read from ${fromOffset} on may be gone`,
  );
  return [...reasons, ...freed, ...removed];
}
