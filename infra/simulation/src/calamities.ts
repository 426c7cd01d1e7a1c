/** What goes wrong beside the calls: processes that die or stand still, a store that forgets, a log that somebody cuts. */
import { assertNever, toOffset } from '@tidemark/keyspace';
import type { Fleet } from './fleet.ts';
import type { Calamity } from './plans.ts';
import { recordedStore } from './recording.ts';
import type { World } from './world.ts';

const DUMP_EVERY_MS = 500;

interface Dump {
  readonly atMs: number;
  readonly restore: () => void;
}

export function playCalamities(world: World, fleet: Fleet): void {
  const { time, scenario } = world;
  const dumps: Dump[] = [];
  const dump = (): void => {
    if (world.isCalm) return;
    const ofCursors = world.store.save();
    const ofFloors = world.floors.save();
    dumps.push({
      atMs: time.nowMs(),
      restore: () => {
        ofCursors();
        ofFloors();
      },
    });
    time.after(DUMP_EVERY_MS, dump);
  };
  if (scenario.calamities.some(({ kind }) => kind === 'roll back')) dump();
  for (const calamity of scenario.calamities) time.after(calamity.atMs, () => play(world, fleet, dumps, calamity));
}

/** What a guard decided before must not harm what is promised after: it stands still between its last look and the cut. */
export function playCutStorm(world: World, fleet: Fleet, onStorm: () => void): void {
  const { cutStorm } = world.scenario;
  if (cutStorm === undefined) return;
  let looks = 0;
  world.onFloors = (_, operation) => {
    if (operation !== 'holdsMark') return;
    looks += 1;
    if (looks !== cutStorm.nth || world.isCalm) return;
    fleet.freeze('guard', cutStorm.forMs);
    world.emptyStore();
    onStorm();
  };
}

function play(world: World, fleet: Fleet, dumps: readonly Dump[], calamity: Calamity): void {
  const { time, store, floors, schedule } = world;
  switch (calamity.kind) {
    case 'kill':
      fleet.kill(calamity.who, calamity.backAfterMs);
      return;
    case 'terminate':
      fleet.terminate(calamity.who, calamity.backAfterMs);
      return;
    case 'freeze':
      fleet.freeze(calamity.who, calamity.forMs);
      return;
    case 'empty store':
      world.emptyStore();
      return;
    case 'restart store':
      store.restart();
      floors.restart();
      world.tell('world', { kind: 'store lost', how: 'restarted' });
      return;
    case 'roll back': {
      const wantedMs = time.nowMs() - calamity.backMs;
      const from = dumps.findLast(({ atMs }) => atMs <= wantedMs) ?? dumps[0];
      from?.restore();
      world.tell('world', { kind: 'store lost', how: `rolled back to ${from?.atMs ?? 0} ms` });
      return;
    }
    case 'lose schedule':
      for (const { jobId } of world.scenario.jobs) void schedule.withdraw(jobId);
      return;
    case 'foreign cut':
      cutByStranger(world, calamity);
      return;
    case 'sink down':
      world.sinkIsDown = true;
      time.after(calamity.forMs, () => {
        world.sinkIsDown = false;
      });
      return;
    case 'split':
      void cutRanges(world, calamity);
      return;
    default:
      assertNever(calamity);
  }
}

/** After a restore a former owner may be at work above the horizon: nobody may cut there until it has noticed. */
const QUIET_MS = 10_000;

async function cutRanges(world: World, { part }: Extract<Calamity, { kind: 'split' }>): Promise<void> {
  for (const { jobId, ordering } of world.scenario.jobs) {
    if (ordering !== 'none' || world.time.nowMs() - world.filledAgainMs(jobId) < QUIET_MS) continue;
    const ranges = (await world.store.snapshot(jobId))?.ranges ?? [];
    const open = ranges.filter(({ status, start, end }) => status === 'open' && end - start > 1n);
    const range = open.sort((a, b) => Number(b.end - b.horizon - (a.end - a.horizon)))[0];
    if (range === undefined) continue;
    const at = toOffset(range.cursor + BigInt(Math.ceil(Number(range.end - range.cursor) * part)));
    await recordedStore(world, 'splitter', world.store).split({
      jobId,
      range: { partition: range.partition, start: range.start },
      at,
    });
  }
}

/** Somebody else removes records, whoever still needs them. */
function cutByStranger(world: World, { topic, partition, part }: Extract<Calamity, { kind: 'foreign cut' }>): void {
  const highWatermark = world.topics.highWatermarks(topic)[partition] ?? 0n;
  const before = toOffset(BigInt(Math.floor(Number(highWatermark) * part)));
  if (before <= 0n) return;
  void world.cluster.catalog.describe(topic).then(async (found) => {
    if (found === undefined) return;
    await world.cluster.catalog.deleteRecordsBefore({ topic, topicId: found.topicId, partition }, before);
    world.topics.cutBefore(topic, partition, before);
    world.tell('world', { kind: 'cut', who: 'stranger', topic, partition, before });
  });
}
