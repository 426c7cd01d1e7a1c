/** `tidemark relay run | status | retry | rebase`. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ParkedKey } from '@tidemark/contracts';
import { newestRelayPosition, type ParkedKeyView, positionFaults, retryParked, viewOutbox } from '@tidemark/control';
import { type Backlog, type Blocker, type Bootstrap, type PositionFault, rebaseCommand } from '@tidemark/outbox';
import { type Command, Option } from 'commander';
import { seconds } from '../arguments.ts';
import type { Context } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { withOutbox } from '../outbox.ts';
import { instant, printOne } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { bootstrapJson, stateOf } from './outbox-bootstrap.ts';
import { foreground } from './programs.ts';
import { registerRebase } from './relay-rebase.ts';

const RELAY_NAME = 'main';

/** A relay tries within a second or two of being asked, if it is not in the middle of a large window. */
const RETRY_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 250;

interface RelayStatus {
  readonly relay: string;
  /** Who publishes now; null when nobody does. */
  readonly owner: string | null;
  /** When the newest position was written; null before the first one. */
  readonly publishedAt: string | null;
  readonly snapshot: string | null;
  /** Why a relay would not go on from the position. */
  readonly faults: readonly PositionFault[];
  /** Null before anything was published, and when the position does not fit. */
  readonly backlog: Backlog | null;
  readonly blockers: readonly Blocker[];
  readonly parked: readonly ReturnType<typeof parkedJson>[];
  /** That are not over. */
  readonly bootstraps: readonly Bootstrap[];
}

interface RetryOptions {
  readonly name: string;
  readonly topic?: string;
  readonly key?: string;
  /** In milliseconds. */
  readonly timeout: number;
}

export function registerRelay(program: Command, registrar: Registrar): void {
  const { group, command, run } = registrar;
  const relay = group(program, 'relay', 'publish the outbox');
  run(command(relay, 'run', 'publish until stopped'), (context) => foreground(context, 'relay'));
  const name = new Option('--name <relay>', 'which relay').default(RELAY_NAME);
  const status = command(relay, 'status', 'who publishes, how far, and what waits').addOption(name);
  run(status, async (context, _: [], options: { readonly name: string }) => {
    const found = await statusOf(context, options.name);
    const shown = { ...found, bootstraps: found.bootstraps.map(bootstrapJson) };
    printOne(context.terminal, context.format, shown, () => linesOf(found));
  });
  const retry = command(relay, 'retry', 'try keys again of which a row could not be sent')
    .option('--topic <topic>', 'those of this topic only')
    .option('--key <key>', 'this key only')
    .addOption(name)
    .option('--timeout <seconds>', 'how long to wait for the outcome', seconds, RETRY_TIMEOUT_MS);
  run(retry, (context, _: [], options: RetryOptions) => retryBy(context, options));
  registerRebase(relay, name, registrar);
}

function statusOf(context: Context, relay: string): Promise<RelayStatus> {
  return withOutbox(context, relay, async ({ outbox, store, connections }) => {
    await outbox.reader.checkInstalled();
    // In this order: each of them knows no more than what is asked after it.
    const witness = await store.witness();
    const position = await newestRelayPosition(connections, relay);
    const faults = await positionFaults(connections, outbox, { position, witness });
    const { publisher, backlog, blockers, parked } = await viewOutbox(outbox, position);
    const fits = !faults.some(({ code }) => code === 'FOREIGN_DATABASE' || code === 'POSITION_LOST');
    return {
      relay,
      owner: publisher ?? null,
      publishedAt: position === undefined ? null : instant(position.atMs),
      snapshot: position?.snapshot ?? null,
      faults,
      backlog: fits ? (backlog ?? null) : null,
      blockers,
      parked: parked.map(parkedJson),
      bootstraps: await outbox.reader.bootstraps(),
    };
  });
}

async function retryBy(context: Context, options: RetryOptions): Promise<ExitCode> {
  const { name, topic = null, key = null, timeout } = options;
  const answer = await withOutbox(context, name, async ({ outbox, connections }) => {
    await outbox.reader.checkInstalled();
    if ((await outbox.lease.holder()) === undefined)
      fail(
        ExitCode.conflict,
        'nobody publishes: a relay that starts tries parked keys by itself ("tidemark relay run")',
      );
    const deadlineMs = performance.now() + timeout;
    return retryParked(
      {
        newestPosition: () => newestRelayPosition(connections, name),
        ask: (wish) => outbox.reader.askRetry(wish),
        goesOn: () => delay(LOOK_EVERY_MS, performance.now() < deadlineMs),
      },
      { topic, key },
    );
  });
  const { freed, stillParked, untried } = answer;
  if (freed.length + stillParked.length + untried.length === 0)
    fail(ExitCode.notFound, 'no such key is parked; "tidemark relay status" shows those that are');
  const shown = { freed: freed.map(placeJson), parked: stillParked.map(placeJson), untried: untried.map(placeJson) };
  printOne(context.terminal, context.format, shown, () => [
    ...freed.map((one) => `sent       ${nameOf(one)}`),
    ...stillParked.map((one) => `parked     ${faultOf(one)}`),
    ...untried.map((one) => `not tried  ${nameOf(one)}`),
  ]);
  if (untried.length > 0) return ExitCode.timedOut;
  return stillParked.length > 0 ? ExitCode.failed : ExitCode.ok;
}

function linesOf(status: RelayStatus): readonly string[] {
  const { backlog } = status;
  const waiting =
    backlog === null
      ? `unknown: ${status.faults.length > 0 ? 'the position does not fit' : 'nothing was published yet'}`
      : `${backlog.isAtLeast ? 'more than ' : ''}${backlog.rows} rows${backlog.lagMs === null ? '' : `, the oldest ${Math.round(backlog.lagMs)} ms`}`;
  return [
    `relay      ${status.relay}`,
    `publisher  ${status.owner ?? 'nobody; "tidemark relay run" starts one'}`,
    `position   ${status.publishedAt === null ? 'none yet' : `${status.snapshot} of ${status.publishedAt}`}`,
    ...status.faults.map(({ code, message }) => `fault      ${code}: ${message}; see "${rebaseCommand(status.relay)}"`),
    `waiting    ${waiting}`,
    ...status.parked.map((one) => `parked     ${faultOf(one)}; ${one.rows - 1} more rows wait behind it`),
    ...status.bootstraps.map((one) => `bootstrap  ${one.table}: ${stateOf(one)}`),
    ...status.blockers.map(
      (blocker) =>
        `held back by ${blocker.preparedAs ?? `pid ${blocker.pid}`} (${blocker.application}, ${blocker.user}), open for ${Math.round(blocker.ageMs / 1000)} s`,
    ),
  ];
}

function parkedJson(parked: ParkedKeyView) {
  const { parkedAtMs, triedAtMs, ...more } = parked;
  return { ...more, parkedAt: instant(parkedAtMs), triedAt: instant(triedAtMs) };
}

function placeJson({ topic, key, position, reason }: ParkedKey) {
  return { topic, key, position, reason };
}

function nameOf({ topic, key }: Pick<ParkedKey, 'topic' | 'key'>): string {
  return `topic "${topic}", key ${JSON.stringify(key)}`;
}

function faultOf(parked: Pick<ParkedKey, 'topic' | 'key' | 'position' | 'table' | 'bytes' | 'reason'>): string {
  const { position, table, bytes, reason } = parked;
  const from = table === '' ? '' : `table ${table}, `;
  return `${nameOf(parked)}: the row at position ${position} (${from}${bytes} bytes) cannot be sent: ${reason}`;
}
