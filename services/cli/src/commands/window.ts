/** `tidemark window TOPIC`: what a window resolves to, holds, takes and keeps, without a job. */
import { type PlannedWindow, planWindow, type WindowPlan } from '@tidemark/control';
import { WindowRefusal } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import type { Command } from 'commander';
import { secondsOrPeriod } from '../arguments.ts';
import { withFloorSight, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { Format, printOne, printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import {
  type PreviewCliOptions,
  partitionsJson,
  previewJson,
  previewLines,
  previewOf,
  withPreviewOptions,
} from '../window-preview.ts';

export const FROM_HELP = 'earliest | now | instant with zone | epoch ms | p:offset,… | after:JOB';
export const TO_HELP = 'now | instant with zone | epoch ms | p:offset,… (last one, included)';

export const DISORDER_HELP =
  'with an instant as --to: no record is more than this older than one before it in its partition, so the window ends where the log is that much later; seconds or 10m, 6h, 1d';

interface WindowCliOptions extends PreviewCliOptions {
  readonly from: string;
  readonly to: string;
  /** In milliseconds. */
  readonly disorder?: bigint;
  readonly handler?: string;
}

export function registerWindow(program: Command, { command, run }: Registrar): void {
  const window = command(program, 'window <topic>', 'show what a window holds, takes and keeps; nothing is created')
    .option('--from <place>', FROM_HELP, 'earliest')
    .option('--to <place>', TO_HELP, 'now')
    .option('--disorder <time>', DISORDER_HELP, secondsOrPeriod)
    .option('--handler <name>', 'whose newest finished job tells the pace');
  withPreviewOptions(window);
  run(window, async (context, [topic]: [string], options: WindowCliOptions) => {
    const { terminal, format } = context;
    const { from, to, disorder: disorderMs = -1n, handler } = options;
    const timed = await withLog(context, ['kafka', ...neededFor(options)], (connections) =>
      withFloorSight(context, async (sight) => {
        const parts = {
          catalog: connections.cluster.catalog,
          states: () => connections.jobLog.states(),
          floors: sight.kind === 'known' ? sight.floors : undefined,
        };
        const plan = orFail(await planWindow(parts, { topic, from, to, disorderMs }));
        return previewOf(context, connections, { plan, floors: sight, options, handler, ratePerSecond: 0 });
      }),
    );
    if (format === Format.jsonl)
      printRows(terminal, format, { rows: partitionsJson(timed.preview), columns: [], none: '' });
    else
      printOne(terminal, format, previewJson(timed), () => [
        `topic ${topic}, id ${timed.preview.topic.topicId}`,
        ...previewLines(timed),
      ]);
  });
}

/** Only a window after another job, or a pace of one, needs to know the jobs. */
export function neededFor({ from, handler }: Pick<WindowCliOptions, 'from' | 'handler'>): readonly 'registry'[] {
  return from.startsWith('after:') || handler !== undefined ? ['registry'] : [];
}

/** The planned window, or the command ends with what is wrong with it. */
export function orFail(plan: WindowPlan): PlannedWindow {
  switch (plan.kind) {
    case 'planned':
      return plan;
    case 'unknown topic':
      return fail(ExitCode.notFound, unknownTopic(plan.topic));
    case 'malformed':
      return fail(ExitCode.usage, plan.reasons.join('; '));
    case 'window refused':
      return fail(exitCodeOfRefusal(plan.code), plan.reason);
    default:
      return assertNever(plan);
  }
}

export function unknownTopic(topic: string): string {
  return `topic ${topic} does not exist; create it first, Tidemark never creates a topic of yours`;
}

export function exitCodeOfRefusal(code: WindowRefusal): ExitCode {
  switch (code) {
    case WindowRefusal.endBeforeStart:
      return ExitCode.usage;
    case WindowRefusal.unknownPartition:
    case WindowRefusal.afterUnknownJob:
      return ExitCode.notFound;
    case WindowRefusal.afterUnfinishedJob:
    case WindowRefusal.afterOtherTopic:
    case WindowRefusal.recordsGone:
    case WindowRefusal.logWentBack:
      return ExitCode.conflict;
    default:
      return assertNever(code);
  }
}
