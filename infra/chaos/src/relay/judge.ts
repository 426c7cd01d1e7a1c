/** Waits until nothing is left to publish, reads the topics, and holds them against what the database says. */
import { createCodec } from '@tidemark/contracts/registry';
import { type DeliveredRow, type Fault, judge } from '@tidemark/outbox/testing';
import { waitFor } from '@tidemark/testkit';
import type { Judgement } from '../system.ts';
import { type PrintedRecord, readByApache } from './apache.ts';
import { differences } from './differences.ts';
import { withSession } from './faults/works-again.ts';
import { settle } from './ledger.ts';
import { CONSOLE_ATTEMPTS, CONSOLE_IDLE_MS, CONSOLES, DRAIN_MS_MAX, FAULTS_TOLD_MAX, TAIL_MS_MAX } from './limits.ts';
import type { Scene } from './scene.ts';
import { capturedTopics, readSigned, readStanding, readTruth } from './stage.ts';
import { type RelayReport, violationsOf } from './verdict.ts';

export async function judgeRelay(
  scene: Scene,
  { faults, registry }: { readonly faults: Readonly<Record<string, number>>; readonly registry: string },
): Promise<Judgement> {
  const { topics, tail, notes, fleet, ledger, progress } = scene;
  tail.calm();
  progress('the load is over');
  await scene.load.stop();
  await drain(scene);
  const printed = await readTopics(scene);
  const delivered = await deliveredRows(scene, printed, registry);
  progress(`${delivered.length} records were read by Apache's console consumer`);
  const { truth, standing, signed } = await withSession(scene, async (session) => {
    const client = await session.connected();
    return {
      truth: await readTruth(client, topics),
      standing: await readStanding(client, topics),
      signed: await readSigned(client),
    };
  });
  const evidence = { truth, delivered, standing, capturedTopics: capturedTopics(topics) };
  const found = judge(evidence);
  const settled = settle(ledger, signed);
  const count = (kind: Fault['kind']): number => found.filter((fault) => fault.kind === kind).length;
  const report: RelayReport = {
    faults,
    committed: truth.length,
    in_topic: delivered.length,
    missing: count('lost'),
    duplicates: count('repeated'),
    out_of_order: count('overtaken'),
    never_committed: count('never committed'),
    stale: count('stale'),
    transactions: settled.transactions,
    rolled_back: settled.rolledBack,
    unknown_committed: settled.unknownCommitted,
    unknown_gone: settled.unknownGone,
    lazily_gone: settled.lazilyGone,
    keys_parked: logged(scene, 'key.parked'),
    keys_freed: logged(scene, 'key.freed'),
    hanging_ended: logged(scene, 'transaction.ended'),
    sessions_cut: notes.cutSessions,
    huge_seen_at_kill: notes.hugeSeenAtKill,
    takeover_max_ms: Math.max(0, ...notes.takeoversMs),
    longest_stall_ms: tail.longestStallMs(),
  };
  const violations = [
    ...violationsOf(report, Object.keys(faults)),
    ...notes.complaints,
    ...settled.contradictions,
    ...fleet.unexpectedEnds.map(
      ({ name, exit, lastLines }) => `${name} ended by itself (${exit.signal ?? exit.code}): ${lastLines.at(-1) ?? ''}`,
    ),
    ...found.slice(0, FAULTS_TOLD_MAX).map(({ kind, text }) => `${kind}: ${text}`),
    ...(await ownReaderDiffers(scene, printed)),
  ];
  return { report, violations };
}

/** Rows are removed only behind their commit in Kafka, and those of a parked key are kept: an empty outbox is a published one. */
async function drain(scene: Scene): Promise<void> {
  const count = `select count(*)::int as n from ${scene.namespace}.outbox`;
  await withSession(scene, async (session) => {
    const rowsLeft = async (): Promise<number> => (await session.ask<{ n: number }>(count))[0]?.n ?? -1;
    await waitFor('an empty outbox', async () => (await rowsLeft()) === 0, {
      timeoutMs: DRAIN_MS_MAX,
      intervalMs: 200,
    }).catch(async () => void scene.notes.complaints.push(`${await rowsLeft()} rows are left in the outbox`));
  });
}

type Printed = ReadonlyMap<string, readonly PrintedRecord[]>;

/** Two at a time, each a virtual machine of its own. */
async function readTopics(scene: Scene): Promise<Printed> {
  const printed = new Map<string, readonly PrintedRecord[]>();
  const names = Object.values(scene.topics);
  const readers = Array.from({ length: CONSOLES }, async () => {
    for (let topic = names.pop(); topic !== undefined; topic = names.pop())
      printed.set(topic, await readWhole(scene, topic));
  });
  await Promise.all(readers);
  return printed;
}

/** On a busy machine Apache's consumer may give up before its first record: what is shorter than we know is read again, with more patience. */
async function readWhole({ kafka, tail, progress }: Scene, topic: string): Promise<readonly PrintedRecord[]> {
  const known = [...tail.ids].reduce(
    (sum, [place, ids]) => (place.startsWith(`${topic}/`) ? sum + ids.length : sum),
    0,
  );
  let records: readonly PrintedRecord[] = [];
  for (let attempt = 1; attempt <= CONSOLE_ATTEMPTS; attempt += 1) {
    records = await readByApache(kafka, topic, CONSOLE_IDLE_MS * attempt);
    if (records.length >= known) break;
    progress(`of ${topic} Apache's console consumer has read ${records.length} of ${known} records`);
  }
  return records;
}

async function deliveredRows({ topics }: Scene, printed: Printed, registry: string): Promise<readonly DeliveredRow[]> {
  const codec = createCodec({ registryUrl: registry });
  const captured = capturedTopics(topics);
  const rows: DeliveredRow[] = [];
  for (const [topic, records] of printed) {
    for (const { id, key, value, partition } of records) {
      const hasImage = captured.includes(topic) && value !== null;
      const payload = hasImage ? jsonOf((await codec.decode(value)).value) : null;
      rows.push({ id, topic, key, payload, partition });
    }
  }
  return rows;
}

/** Of a value without a schema of its own. */
function jsonOf(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'json' in value && typeof value.json === 'string')
    return value.json;
  throw new Error('a row of a table is not a JSON value');
}

/** How often the relays said so. */
function logged({ fleet }: Scene, event: string): number {
  return fleet.all.reduce(
    (sum, { program }) => sum + program.lines.filter((line) => line.includes(`"${event}"`)).length,
    0,
  );
}

/** What our own reader saw while all of this went on must be the same, in the same order. */
async function ownReaderDiffers({ tail }: Scene, printed: Printed): Promise<readonly string[]> {
  const expected = new Map<string, string[]>();
  for (const [topic, records] of printed) {
    for (const { partition, id } of records) {
      const place = `${topic}/${partition}`;
      const ids = expected.get(place) ?? [];
      ids.push(id);
      expected.set(place, ids);
    }
  }
  const hasAll = (): boolean => [...expected].every(([place, ids]) => (tail.ids.get(place)?.length ?? 0) >= ids.length);
  await waitFor('our own reader', hasAll, { timeoutMs: TAIL_MS_MAX }).catch(() => undefined);
  return differences(expected, tail.ids);
}
