/** `tidemark window TOPIC`: what a window resolves to, without a job. */
import { planWindow, type WindowPlan, windowLines } from '@tidemark/control';
import { WindowRefusal } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import type { Command } from 'commander';
import { withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';

export const FROM_HELP = 'earliest | now | instant with zone | epoch ms | p:offset,… | after:JOB';
export const TO_HELP = 'now | instant with zone | epoch ms | p:offset,… (last one, included)';

export type PlannedWindow = Extract<WindowPlan, { readonly kind: 'planned' }>;

export function registerWindow(program: Command, { command, run }: Registrar): void {
  const window = command(program, 'window <topic>', 'show what a window resolves to, per partition')
    .option('--from <place>', FROM_HELP, 'earliest')
    .option('--to <place>', TO_HELP, 'now');
  run(window, async (context, [topic]: [string], options: { readonly from: string; readonly to: string }) => {
    const plan = await withLog(context, ['kafka', ...neededFor(options.from)], async ({ cluster, jobLog }) =>
      orFail(await planWindow({ catalog: cluster.catalog, states: () => jobLog.states() }, { topic, ...options })),
    );
    const { terminal, format } = context;
    if (format !== 'table') {
      printRows(terminal, format, { rows: windowJson(plan), columns: [], none: '' });
      return;
    }
    terminal.out(`topic ${plan.topic.topic}, id ${plan.topic.topicId}; covered is start < offset <= end`);
    for (const line of windowLines(plan.partitions)) terminal.out(line);
  });
}

/** Only a window after another job needs to know the jobs. */
function neededFor(from: string): readonly 'registry'[] {
  return from.startsWith('after:') ? ['registry'] : [];
}

export function windowJson(plan: PlannedWindow): readonly object[] {
  return plan.partitions.map(({ partition, start, end, logStartOffset, highWatermark, clamped }) => ({
    topic: plan.topic.topic,
    topicId: plan.topic.topicId,
    partition,
    start,
    end,
    offsets: end - start,
    logStartOffset,
    highWatermark,
    clamped,
  }));
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
