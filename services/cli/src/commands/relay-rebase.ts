/** `tidemark relay rebase`: shows what a new position would skip and send, and with `--apply` writes it. */

import { jsonText } from '@tidemark/contracts';
import { parseWindow } from '@tidemark/jobs';
import { type Logger, silentLogger } from '@tidemark/observability';
import { faultsOf, rebaseCommand, sumFates, UnknownRows } from '@tidemark/outbox';
import type { ExtraEvent, RebaseReport } from '@tidemark/relay';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Context } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { EXTRA_EVENTS_SHOWN_MAX } from '../limits.ts';
import { withOutbox } from '../outbox.ts';
import { instant, printOne } from '../output.ts';
import type { Registrar } from '../registrar.ts';

interface RebaseArguments {
  readonly name: string;
  readonly apply: boolean;
  readonly force: boolean;
  readonly acceptPartitions: boolean;
  readonly unknown?: UnknownRows;
  readonly compare: boolean;
  readonly scanFrom?: bigint;
  readonly restoredTo?: bigint;
}

export function registerRebase(relay: Command, name: Option, { command, run }: Registrar): void {
  const rebase = command(relay, 'rebase', 'a position that fits, when database, topics or partitions became others')
    .addOption(name)
    .option('--apply', 'do it; without, it is only shown', false)
    .option('--accept-partitions', 'let keys go to other partitions than before', false)
    .addOption(
      new Option('--unknown <what>', 'rows of which nothing tells whether they are published').choices(
        Object.values(UnknownRows),
      ),
    )
    .option('--compare', 'compare rows and topics although the position fits', false)
    .option('--scan-from <time>', 'read topics from there on: earliest, instant with zone, epoch ms', time)
    .option('--restored-to <instant>', 'the time of the restored state: later events without a row are told', time)
    .option('--force', 'also while a relay publishes: it is fenced, and goes on from the new position', false);
  run(rebase, (context, _: [], options: RebaseArguments) => rebaseBy(context, options));
}

/** In milliseconds. */
function time(text: string): bigint {
  const parsed = parseWindow({ from: text, to: 'now' });
  if (parsed.kind === 'refused') throw new InvalidArgumentError(`${parsed.reasons.join('; ')}.`);
  const { from } = parsed.spec;
  if (from.kind === 'earliest') return 0n;
  if (from.kind === 'instant') return BigInt(from.ms);
  throw new InvalidArgumentError('It must be a time.');
}

async function rebaseBy(context: Context, options: RebaseArguments): Promise<ExitCode> {
  const { TIDEMARK_REPLICATION_FACTOR: replicationFactor } = context.effective.config;
  const { name, apply, force, compare, acceptPartitions, unknown, scanFrom, restoredTo } = options;
  const { applyRebase, inspectRebase } = await import('@tidemark/relay');
  const logger: Logger = { ...silentLogger, warn: (...line: readonly unknown[]) => noteLine(context, line) };
  const report = await withOutbox(context, name, ({ outbox, store, connections }) => {
    const { cluster, codec, namespace } = connections;
    const parts = {
      ...{ outbox, store, cluster, codec, namespace, name, compare, force, replicationFactor, logger },
      consents: { movedKeys: acceptPartitions, unknownRows: unknown },
      ...(scanFrom === undefined ? {} : { scanFromMs: scanFrom }),
      ...(restoredTo === undefined ? {} : { restoredToMs: restoredTo }),
    };
    return apply ? applyRebase(parts) : inspectRebase(parts);
  });
  printOne(context.terminal, context.format, jsonOf(name, report), () => linesOf(name, report, options));
  return apply && report.obstacles.length > 0 ? ExitCode.conflict : ExitCode.ok;
}

/** What the log of a relay would say in its place, such as a transaction that was ended. */
function noteLine({ terminal }: Context, line: readonly unknown[]): void {
  terminal.note(line.map((part) => (typeof part === 'string' ? part : jsonText(part))).join(' '));
}

function jsonOf(relay: string, report: RebaseReport) {
  const { fit, partitioner, moves, topics, extra, obstacles, isNewPosition, movesKeys, applied } = report;
  return {
    relay,
    needed: isNewPosition || movesKeys,
    applied,
    fit,
    faults: faultsOf(report),
    partitioner: partitioner ?? null,
    moves,
    rows: isNewPosition ? sumFates(topics) : null,
    topics,
    extra: extra === undefined ? null : { ...extra, since: instant(extra.sinceMs), sinceMs: undefined },
    undecided: obstacles,
  };
}

function linesOf(relay: string, report: RebaseReport, { apply }: RebaseArguments): readonly string[] {
  const faults = faultsOf(report);
  return [
    `relay      ${relay}`,
    ...(faults.length === 0 ? [`position   ${report.fit.kind === 'first' ? 'none yet' : 'fits'}`] : []),
    ...faults.map(({ code, message }) => `fault      ${code}: ${message}`),
    ...(report.isNewPosition ? rowLines(report) : []),
    ...(report.isNewPosition ? extraLines(report) : []),
    ...report.moves.map(
      ({ topic, fromOffsets }) =>
        `order      topic "${topic}": from ${fromOffsets.map((offset, partition) => `${partition}:${offset}`).join(', ')} on a key may be in another partition than before; nothing orders its older and its newer events`,
    ),
    ...report.obstacles.map(({ option, message }) => `undecided  ${message} (${option})`),
    `${report.applied ? 'done' : 'next'}       ${outcomeOf(relay, report, apply)}`,
  ];
}

function rowLines({ topics }: RebaseReport): readonly string[] {
  const { published, superseded, unpublished, unknown } = sumFates(topics);
  const cut = topics.filter(({ isWhole }) => !isWhole).map(({ topic }) => `"${topic}"`);
  return [
    `skipped    ${published} rows whose events are in their topics`,
    ...(superseded === 0 ? [] : [`skipped    ${superseded} rows whose keys went on in a compacted or cut topic`]),
    `sent       ${unpublished} rows whose events are not`,
    ...(unknown === 0
      ? []
      : [
          `unknown    ${unknown} rows: compaction or retention took records of ${cut.join(', ')} that may have been theirs`,
        ]),
  ];
}

function extraLines({ fit, extra }: RebaseReport): readonly string[] {
  if (extra === undefined)
    return fit.kind === 'foreign'
      ? ['extra      unknown: --restored-to TIME tells events whose rows the restored database does not have']
      : [];
  const { count, listed } = extra;
  if (count === 0) return [`extra      no event since ${instant(extra.sinceMs)} is without its row`];
  const shown = listed.slice(0, EXTRA_EVENTS_SHOWN_MAX);
  return [
    `extra      ${count} events since ${instant(extra.sinceMs)} are of commits that this database does not have; they stay in their topics`,
    ...shown.map((event) => `           ${placeOf(event)}`),
    ...(count > shown.length
      ? [`           and ${count - shown.length} more; -o json lists up to ${listed.length}`]
      : []),
  ];
}

function placeOf({ topic, partition, offset, key, id, type, occurredAt }: ExtraEvent): string {
  return `${topic}/${partition}:${offset} key ${JSON.stringify(key)} ${type} of ${occurredAt}, id ${id}`;
}

function outcomeOf(relay: string, report: RebaseReport, apply: boolean): string {
  if (report.applied) return '"tidemark relay run" goes on from the new position';
  if (!(report.isNewPosition || report.movesKeys)) return 'nothing to do';
  if (apply) return 'nothing was changed: say first what is undecided';
  const options = report.obstacles.map(({ option }) => ` ${option}`).join('');
  return `nothing was changed; "${rebaseCommand(relay)}${options} --apply" does it`;
}
