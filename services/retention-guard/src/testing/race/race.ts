/** One race: a seed, a variant, and everybody against everybody. */
import { isTerminal } from '@tidemark/jobs';
import { assertNever, offsetMax, offsetMin, toOffset } from '@tidemark/keyspace';
import { Distributor, guard, type Variant } from './actors.ts';
import { type Actor, Scheduler } from './scheduler.ts';
import { type Counts, World } from './world.ts';

const JOBS = 10;
const RECORDS = 12;
const TURNS_MAX = 20_000;
const CALAMITIES = 16;
/** Turns after which nobody begins anything new. */
const TURNS_OF_CLOCK = 1_000;
const RESERVATIONS_RUN_OUT_MS = 61_000;

/** Throws what the auditor found. */
export async function race(seed: number, variant: Variant = {}): Promise<Counts> {
  const scheduler = new Scheduler(seed);
  const world = new World();
  await world.open(RECORDS);
  if (variant.withGroup === true) {
    world.commit(toOffset(0n));
    scheduler.start(() => consume(world, scheduler.actor('group'), scheduler));
  }
  const requests = Array.from({ length: JOBS }, (_, index) => `job-${index}`);
  const distribute = (): void => {
    const distributor = new Distributor(world, scheduler.actor(`distributor-${world.session + 1}`), variant);
    scheduler.start(() => distributor.run(scheduler.chance, requests));
  };
  distribute();
  const guards = scheduler.chance.oneIn(2) ? ['guard-1'] : ['guard-1', 'guard-2'];
  for (const name of guards) scheduler.start(() => guard(world, scheduler.actor(name), variant));
  for (const name of ['worker-1', 'worker-2']) scheduler.start(() => work(world, scheduler.actor(name), scheduler));
  scheduler.start(() => restore(world, scheduler.actor('restorer')));
  scheduler.start(() => land(world, scheduler.actor('kafka'), scheduler));
  scheduler.start(() => calamities(world, scheduler.actor('chaos'), scheduler, distribute));
  scheduler.start(() => produce(world, scheduler.actor('producer'), scheduler, requests));
  scheduler.start(() => finish(world, scheduler.actor('clock'), scheduler, requests));
  await scheduler.run({ turnsMax: TURNS_MAX, violation: () => world.violation });
  return world.counts;
}

/** Settles a few offsets of any job that the store holds; what it reads must be there. */
async function work(world: World, actor: Actor, { chance }: Scheduler): Promise<void> {
  while (!world.isOver) {
    await actor.turn();
    const [jobId, cursor] = [...world.inStore][chance.below(world.inStore.size)] ?? [];
    const job = jobId === undefined ? undefined : world.durable.get(jobId);
    if (jobId === undefined || cursor === undefined || job === undefined || isTerminal(job.state.state)) continue;
    const end = toOffset(job.state.pin?.partitions[0]?.end ?? -1n);
    if (cursor >= end) continue;
    await world.checkReading(jobId, cursor);
    world.inStore.set(jobId, offsetMin(end, toOffset(cursor + 1n + BigInt(chance.below(6)))));
  }
}

/** A group commits now and then, up to the end of the log. */
async function consume(world: World, actor: Actor, { chance }: Scheduler): Promise<void> {
  while (!world.isOver) {
    for (let pause = chance.below(20); pause > 0; pause--) await actor.turn();
    await actor.turn();
    const committed = world.committed ?? toOffset(0n);
    world.commit(offsetMin(await world.logEnd(), toOffset(committed + BigInt(chance.below(5)))));
  }
}

/** Checkpoints land one after the other, when it pleases. An acknowledged cursor never moves back. */
async function land(world: World, actor: Actor, { chance }: Scheduler): Promise<void> {
  while (!world.isOver || world.onTheWay.length > 0) {
    await actor.turn();
    if (!chance.oneIn(5)) continue;
    const sent = world.onTheWay.shift();
    const job = sent === undefined ? undefined : world.durable.get(sent.jobId);
    if (sent !== undefined && job !== undefined)
      world.durable.set(sent.jobId, { ...job, cursor: offsetMax(job.cursor, sent.cursor) });
  }
}

const Calamity = {
  jobsLost: 'jobs lost',
  floorsLost: 'floors lost',
  bothLost: 'both lost',
  restart: 'restart',
  rollback: 'rollback',
  takeover: 'takeover',
  floorRemoved: 'floor removed',
} as const;
type Calamity = (typeof Calamity)[keyof typeof Calamity];

/** Each race has a favourite, because most faults need the same thing to happen again. */
async function calamities(world: World, actor: Actor, { chance }: Scheduler, distribute: () => void): Promise<void> {
  const all = Object.values(Calamity);
  const draw = (): Calamity => all[chance.below(all.length)] ?? Calamity.restart;
  const favourite = draw();
  const dumps: (() => void)[] = [];
  for (let count = 0; count < CALAMITIES && !world.isOver; count++) {
    for (let pause = 2 + chance.below(30); pause > 0; pause--) await actor.turn();
    happen(world, chance.oneIn(2) ? favourite : draw(), { dumps, distribute });
    world.counts.calamities += 1;
  }
}

function happen(
  world: World,
  calamity: Calamity,
  means: { readonly dumps: (() => void)[]; readonly distribute: () => void },
): void {
  const loseJobs = (): void => world.inStore.clear();
  switch (calamity) {
    case Calamity.jobsLost:
      loseJobs();
      break;
    case Calamity.floorsLost:
      world.floors.loseEverything();
      break;
    case Calamity.bothLost:
      loseJobs();
      world.floors.loseEverything();
      break;
    case Calamity.restart:
      loseJobs();
      world.floors.restart();
      break;
    case Calamity.rollback: {
      const rollBack = means.dumps.shift();
      means.dumps.push(world.floors.save());
      if (rollBack !== undefined) loseJobs();
      rollBack?.();
      break;
    }
    case Calamity.takeover:
      world.counts.takeovers += 1;
      means.distribute();
      break;
    case Calamity.floorRemoved: {
      for (const holder of [world.knownToGuards()[0], world.holdsKnownToGuards()[0]])
        if (holder !== undefined) void world.floors.drop({ place: world.place, holder });
      break;
    }
    default:
      assertNever(calamity);
  }
}

/** Puts jobs that the store lost back as they are acknowledged; the real one does it between its rounds. */
async function restore(world: World, actor: Actor): Promise<void> {
  while (!world.isOver) {
    await actor.turn();
    for (const { state, cursor } of world.unfinished()) {
      if (!world.promised.has(state.jobId) || world.inStore.has(state.jobId)) continue;
      world.inStore.set(state.jobId, cursor);
      world.counts.restores += 1;
      break;
    }
  }
}

/** There is always something to cut, and something to want. */
async function produce(world: World, actor: Actor, { chance }: Scheduler, requests: readonly string[]): Promise<void> {
  while (!world.isOver && requests.length > 0) {
    for (let pause = chance.below(10); pause > 0; pause--) await actor.turn();
    await actor.turn();
    world.produce(1 + chance.below(4));
  }
}

/** When every request is answered and every job has ended, or a bounded number of turns has passed. */
async function finish(world: World, actor: Actor, { chance }: Scheduler, requests: readonly string[]): Promise<void> {
  for (let turns = 0; turns < TURNS_OF_CLOCK && (requests.length > 0 || world.unfinished().length > 0); turns++) {
    await actor.turn();
    if (chance.oneIn(20)) world.nowMs += RESERVATIONS_RUN_OUT_MS;
  }
  world.isOver = true;
}
