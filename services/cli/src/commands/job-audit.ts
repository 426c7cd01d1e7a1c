/**
 * `tidemark job audit ID`: do the numbers of a job add up with what the log, the dead letters and the sink show today? What the
 * log keeps for the proof is let go when there is one.
 */
import type { JobState } from '@tidemark/contracts';
import {
  auditJob,
  describeCount,
  type EffectSource,
  isOver,
  type JobAudit,
  jobVerdictOf,
  orderedEffects,
  steerJob,
} from '@tidemark/control';
import type { Connections } from '@tidemark/control/connect';
import type { Handler } from '@tidemark/handlers';
import { auditDeadlineOf, CommandName, isHeldForAudit } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import type { Command } from 'commander';
import { auditJson, auditLines } from '../audit-output.ts';
import { actor, type Context, withConnections } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { withHandlerEffects } from '../handler-effects.ts';
import { stateText, unknownJob } from '../job-output.ts';
import { instant, printOne } from '../output.ts';
import { withPostgres } from '../postgres.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';
import { sinkEffects } from '../sink-effects.ts';

interface AuditOptions extends Pick<CommonOptions, 'dryRun'> {
  readonly sinkSql?: string;
  readonly handlers?: readonly string[];
}

export function registerAudit(job: Command, { command, run }: Registrar): void {
  const audit = command(
    job,
    'audit <id>',
    'read the window again and prove the numbers of a job; proved, what the log keeps for it is let go',
    ['dryRun'],
  )
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
      return await auditWith({ context, connections, state, dryRun: options.dryRun }, options);
    });
  });
}

interface Subject {
  readonly context: Context;
  readonly connections: Connections;
  readonly state: JobState;
  readonly dryRun: boolean;
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
  { context, connections, state, dryRun }: Subject,
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
    case 'audited': {
      const { audit } = answer;
      const hold = await settleHold({ context, connections, state, dryRun }, audit);
      const lines = () => [...auditLines(state, audit), ...holdLines(state, hold)];
      printOne(terminal, format, { ...auditJson(state, audit), hold }, lines);
      return EXIT_CODES[audit.verdict];
    }
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

/** What became of what the log keeps for this proof. */
type HoldAnswer =
  /** Nothing is kept for it. */
  | 'none'
  | 'released'
  /** Nothing was proved, or not all of it; or this was a look only; or the job goes on. */
  | 'kept'
  /** No distributor has applied it yet. */
  | 'release ordered';

async function settleHold(
  { context, connections, state, dryRun }: Subject,
  { verdict }: JobAudit,
): Promise<HoldAnswer> {
  if (!isHeldForAudit(state)) return 'none';
  // A job that goes on is proved up to its cursors: what comes must be provable, too.
  if (verdict !== 'proven' || dryRun || !isOver(jobVerdictOf(state))) return 'kept';
  const { jobId } = state;
  const order = { jobId, command: CommandName.release, reason: 'proved by an audit', actor: actor() };
  const { kind } = await steerJob(connections, order, { signal: context.terminal.signal });
  // Its deadline, or somebody else, may have been faster.
  return kind === 'applied' || kind === 'not in this state' ? 'released' : 'release ordered';
}

function holdLines(state: JobState, hold: HoldAnswer): readonly string[] {
  const untilMs = auditDeadlineOf(state);
  const until = untilMs === undefined ? 'and its end begins its time' : `until ${instant(untilMs)}`;
  switch (hold) {
    case 'none':
      return [];
    case 'released':
      return ['the log is not held for this audit any more'];
    case 'kept':
      return [`the log stays held for an audit, ${until}; "tidemark job release ${state.jobId}" lets go all the same`];
    case 'release ordered':
      return [
        'it is written down that the log is let go, but no distributor has applied it yet; "tidemark distributor" runs one',
      ];
    default:
      return assertNever(hold);
  }
}

const EXIT_CODES: Readonly<Record<JobAudit['verdict'], ExitCode>> = {
  proven: ExitCode.ok,
  unprovable: ExitCode.finishedWithFaults,
  broken: ExitCode.failed,
};
