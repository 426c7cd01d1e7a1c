/** `tidemark job audit ID`: do the numbers of a job add up with what the log, the dead letters and the sink show today? */
import type { JobState } from '@tidemark/contracts';
import { auditJob, describeCount, type EffectSource, type JobAudit, orderedEffects } from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import type { Handler } from '@tidemark/handlers';
import { assertNever } from '@tidemark/keyspace';
import type { Command } from 'commander';
import { auditJson, auditLines } from '../audit-output.ts';
import { type Context, withConnections } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { withHandlerEffects } from '../handler-effects.ts';
import { stateText, unknownJob } from '../job-output.ts';
import { printOne } from '../output.ts';
import { withPostgres } from '../postgres.ts';
import type { Registrar } from '../registrar.ts';
import { sinkEffects } from '../sink-effects.ts';

interface AuditOptions {
  readonly sinkSql?: string;
  readonly handlers?: readonly string[];
}

export function registerAudit(job: Command, { command, run }: Registrar): void {
  const audit = command(job, 'audit <id>', 'read the window again and prove the numbers of a job')
    .option('--handlers <file...>', 'modules with its handler, whose verify says which effects are there')
    .option(
      '--sink-sql <select>',
      'its effects in TIDEMARK_POSTGRES, a row each: columns partition and offset, or one with the idempotency key',
    );
  run(audit, (context, [id]: [string], options: AuditOptions) => {
    if (options.handlers !== undefined && options.sinkSql !== undefined)
      fail(ExitCode.usage, '--handlers and --sink-sql both say which effects are there: give one of them');
    return withConnections(context, async (connections) => {
      const state = (await connections.jobLog.states()).get(id) ?? unknownJob(id);
      return await auditWith({ context, connections, state }, options);
    });
  });
}

interface Subject {
  readonly context: Context;
  readonly connections: Connections;
  readonly state: JobState;
}

async function auditWith(subject: Subject, { handlers, sinkSql }: AuditOptions): Promise<ExitCode> {
  const { context, connections, state } = subject;
  if (handlers !== undefined) {
    const { terminal } = context;
    return await withHandlerEffects(
      { terminal, codec: connections.codec, state, files: handlers },
      (effects, handler) => auditEffects(subject, effects, handler),
    );
  }
  if (sinkSql === undefined) return await auditEffects(subject);
  return await withPostgres(context, (client) =>
    auditEffects(subject, orderedEffects(sinkEffects(client, sinkSql, state.request.topic))),
  );
}

async function auditEffects(
  { context, connections, state }: Subject,
  effects?: EffectSource,
  handler?: Pick<Handler, 'idempotent'>,
): Promise<ExitCode> {
  const { terminal, format } = context;
  const answer = await auditJob(connections, state, {
    signal: terminal.signal,
    isIdempotent: handler?.idempotent === true,
    onProgress: (scanned, total) => {
      if (terminal.isInteractive)
        terminal.live(`read again ${describeCount(scanned)} of ${describeCount(total)} offsets`);
    },
    ...(effects === undefined ? {} : { effects }),
  }).catch((error: unknown) => {
    terminal.live('');
    if (terminal.signal.aborted) fail(ExitCode.failed, 'the audit was stopped before its end: nothing is proved');
    throw error;
  });
  terminal.live('');
  switch (answer.kind) {
    case 'audited':
      printOne(terminal, format, auditJson(state, answer.audit), () => auditLines(state, answer.audit));
      return EXIT_CODES[answer.audit.verdict];
    case 'not pinned':
      return fail(
        ExitCode.conflict,
        `job ${state.jobId} is ${stateText(state)} and has no window yet: nothing can be proved of it`,
      );
    case 'no ranges':
      return fail(
        ExitCode.conflict,
        `neither the cursor store nor the checkpoints know a range of job ${state.jobId}: nothing can be proved of it`,
      );
    default:
      return assertNever(answer);
  }
}

const EXIT_CODES: Readonly<Record<JobAudit['verdict'], ExitCode>> = {
  proven: ExitCode.ok,
  unprovable: ExitCode.finishedWithFaults,
  broken: ExitCode.failed,
};
