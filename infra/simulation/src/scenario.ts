/** Draws a scenario from its seed, before anything runs. */
import { assertNever } from '@tidemark/keyspace';
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import type { Fate } from './history.ts';
import {
  HANDLER_MS,
  LEASE_TTLS_MS,
  RECORD_EVERY_MS,
  RECORDS_BEGIN_MS,
  ROBBED_HANDLER_MS,
  ROBBED_ONE_IN,
} from './limits.ts';
import type { Calamity, FaultRates, JobPlan, OpenTransactionPlan, RecordPlan, Scenario, TopicPlan } from './plans.ts';

export function scenarioOf(seed: number): Scenario {
  const chance = chanceOf(seed).fork('scenario');
  const isStorm = chance.oneIn(12);
  const calmMs = chance.between(3, 14) * 1_000;
  const topics = list(chance.oneIn(4) ? 2 : 1, (index) => topicPlan(chance, `t${index}`, calmMs));
  const jobs = list(chance.between(isStorm ? 2 : 1, 3), (index) =>
    jobPlan(seed, chance, `job-${index}`, topics, calmMs),
  );
  const troubles = chance.below(4);
  const cutStorm = isStorm ? { nth: chance.between(1, 2), forMs: chance.between(2_000, 6_000) } : undefined;
  const drawn: Scenario = {
    seed,
    topics,
    openTransactions: chance.oneIn(4) ? [openTransaction(chance, topics, calmMs)] : [],
    jobs,
    workers: chance.between(1, 3),
    slots: chance.between(1, 2),
    leaseTtlMs: chance.pick(LEASE_TTLS_MS),
    distributors: chance.between(1, 2),
    standbys: chance.oneIn(2),
    guardEveryMs: isStorm ? 300 : 2_500,
    faults: faultRates(chance),
    calamities: [
      ...list(troubles === 0 ? 0 : chance.between(1, 2 * troubles), () => calamity(chance, topics, calmMs)),
      ...list(chance.oneIn(3) ? 0 : chance.between(3, 7), () => split(chance, calmMs)),
    ],
    cutStorm,
    calmMs,
  };
  const robbery = chance.fork('robbery');
  return isStorm ? stormy(drawn) : robbery.oneIn(ROBBED_ONE_IN) ? robbed(drawn, robbery) : drawn;
}

/** What becomes of the record in the end, whoever is killed on the way. */
export function fateOf(plan: RecordPlan, attempts: number): Fate {
  switch (plan.kind) {
    case 'done':
    case 'skip':
      return plan.kind;
    case 'data':
      return 'dead letter';
    case 'transient':
    case 'hang':
      return plan.attempts >= attempts ? 'dead letter' : 'done';
    default:
      return assertNever(plan);
  }
}

function topicPlan(chance: Chance, name: string, calmMs: number): TopicPlan {
  const partitions = list(chance.between(1, 3), () => ({
    batches: list(chance.between(0, 8), () => ({
      records: chance.between(1, chance.oneIn(5) ? 12 : 5),
      how: chance.pick(['plain', 'plain', 'plain', 'committed', 'aborted'] as const),
    })),
    compactOneIn: chance.oneIn(5) ? chance.between(2, 5) : 0,
  }));
  return {
    name,
    partitions,
    appends: list(chance.below(3), () => ({
      atMs: early(chance, calmMs),
      partition: chance.below(partitions.length),
      records: chance.between(1, 4),
    })),
    guarded: chance.oneIn(2),
  };
}

function jobPlan(seed: number, chance: Chance, jobId: string, topics: readonly TopicPlan[], calmMs: number): JobPlan {
  const topic = chance.pick(topics);
  const ordering = chance.pick(['none', 'none', 'partition', 'key'] as const);
  const troubleOneIn = chance.pick([0, 3, 6, 12]);
  const attempts = chance.between(1, 5);
  const records = chanceOf(seed).fork(`records of ${jobId}`);
  const salt = records.below(2 ** 31);
  return {
    jobId,
    topic: topic.name,
    handler: chance.oneIn(4) ? 'batch' : 'each',
    submitMs: chance.oneIn(2) ? 0 : early(chance, calmMs),
    submitAtStorm: chance.oneIn(2),
    fromMs: chance.oneIn(8) ? RECORDS_BEGIN_MS + chance.below(40) * RECORD_EVERY_MS : undefined,
    toMs: chance.oneIn(10) ? RECORDS_BEGIN_MS + chance.between(40, 70) * RECORD_EVERY_MS : undefined,
    ordering,
    chunkRecords: chance.pick([1, 2, 3, 5, 8, 20]),
    rangesPerPartition: ordering === 'none' ? chance.pick([1, 1, 2, 4]) : 1,
    attempts,
    parkedMax: chance.pick([0, 1, 3, 100, 100]),
    onExhausted: chance.oneIn(6) ? 'suspend' : 'dead letter',
    onLost: chance.oneIn(2) ? 'skip' : 'stop',
    concurrency: chance.pick([0, 0, 1, 2]),
    rate: chance.oneIn(8) ? chance.between(5, 50) : 0,
    deadLettersMax: BigInt(chance.oneIn(8) ? chance.below(3) : 1_000),
    troubleOneIn,
    commands: chance.oneIn(3) ? list(chance.between(1, 3), () => command(chance, calmMs)) : [],
    recordPlanOf: (partition, offset) => recordPlan(salt, partition, offset, troubleOneIn),
    handlerMs: chance.pick(HANDLER_MS),
  };
}

function command(chance: Chance, calmMs: number): JobPlan['commands'][number] {
  const word = chance.pick(['pause', 'pause', 'resume', 'resume', 'cancel', 'kill', 'kill all']);
  return { atMs: 200 + early(chance, calmMs), command: word, force: chance.oneIn(4) };
}

function recordPlan(salt: number, partition: number, offset: bigint, troubleOneIn: number): RecordPlan {
  const chance = chanceOf(salt ^ Math.imul(partition + 1, 0x9e3779b1) ^ Math.imul(Number(offset) + 1, 0x85ebca6b));
  if (troubleOneIn === 0 || !chance.oneIn(troubleOneIn)) return { kind: 'done' };
  const kind = chance.pick(['skip', 'data', 'transient', 'transient', 'transient', 'hang'] as const);
  if (kind === 'skip' || kind === 'data') return { kind };
  return { kind, attempts: chance.between(1, 6) };
}

function openTransaction(chance: Chance, topics: readonly TopicPlan[], calmMs: number): OpenTransactionPlan {
  const topic = chance.pick(topics);
  const beginMs = early(chance, calmMs);
  return {
    topic: topic.name,
    partition: chance.below(topic.partitions.length),
    records: chance.between(1, 3),
    beginMs,
    endMs: chance.between(beginMs + 1, calmMs),
    commits: chance.oneIn(2),
  };
}

function faultRates(chance: Chance): FaultRates {
  const how = chance.pick(['calm', 'some', 'many'] as const);
  const latencyMsMax = chance.pick([0, 3, 20]);
  if (how === 'calm') return { refuseOneIn: 0, loseReplyOneIn: 0, duplicateOneIn: 0, lateOneIn: 0, latencyMsMax };
  const scale = how === 'some' ? 4 : 1;
  return {
    refuseOneIn: 60 * scale,
    loseReplyOneIn: 60 * scale,
    duplicateOneIn: 40 * scale,
    lateOneIn: 150 * scale,
    latencyMsMax,
  };
}

function calamity(chance: Chance, topics: readonly TopicPlan[], calmMs: number): Calamity {
  const atMs = 300 + early(chance, calmMs - 300);
  const who = chance.pick(['worker', 'worker', 'worker', 'distributor', 'distributor', 'guard'] as const);
  const topic = chance.pick(topics);
  switch (chance.below(14)) {
    case 0:
    case 1:
    case 2:
      return { kind: 'kill', atMs, who, backAfterMs: chance.between(10, 8_000) };
    case 3:
      return { kind: 'terminate', atMs, who, backAfterMs: chance.between(10, 3_000) };
    case 4:
    case 5:
    case 6:
    case 7:
      return { kind: 'freeze', atMs, who, forMs: chance.between(200, 12_000) };
    case 8:
    case 9:
      return { kind: 'empty store', atMs };
    case 10:
      return { kind: 'restart store', atMs };
    case 11:
      return { kind: 'roll back', atMs, backMs: chance.between(500, 10_000) };
    case 12:
      return chance.oneIn(2)
        ? { kind: 'lose schedule', atMs }
        : { kind: 'sink down', atMs, forMs: chance.between(500, 15_000) };
    default:
      return {
        kind: 'foreign cut',
        atMs,
        topic: topic.name,
        partition: chance.below(topic.partitions.length),
        part: chance.next(),
      };
  }
}

/** The first job makes the guard cut, the others come when the store is lost. */
function stormy(scenario: Scenario): Scenario {
  const topics = scenario.topics.slice(0, 1).map((topic) => ({ ...topic, guarded: true }));
  const topic = topics[0]?.name ?? '';
  const [first] = scenario.jobs;
  const others = scenario.jobs.slice(1).map((job) => ({ ...job, topic, submitAtStorm: true }));
  const jobs = first === undefined ? [] : [{ ...first, topic, submitMs: 0, submitAtStorm: false }, ...others];
  const isThere = (calamity: Calamity): boolean => calamity.kind !== 'foreign cut' || calamity.topic === topic;
  const openTransactions = scenario.openTransactions.filter((each) => each.topic === topic);
  return { ...scenario, topics, jobs, openTransactions, calamities: scenario.calamities.filter(isThere) };
}

/**
 * Somebody cuts under a job that skips what it loses, and then the store forgets it: what it passed has to come back. Of its own
 * chance, for by itself this is rare.
 */
function robbed(scenario: Scenario, chance: Chance): Scenario {
  const [job] = scenario.jobs;
  const topic = scenario.topics.find(({ name }) => name === job?.topic);
  if (job === undefined || topic === undefined) return scenario;
  const atMs = chance.between(800, 3_500);
  const lengths = topic.partitions.map(({ batches }) => batches.reduce((sum, { records }) => sum + records, 0));
  const partition = lengths.indexOf(Math.max(...lengths));
  const cut: Calamity = { kind: 'foreign cut', atMs, topic: topic.name, partition, part: 0.2 + 0.6 * chance.next() };
  const loss: Calamity = { kind: 'empty store', atMs: atMs + chance.between(1_000, 3_000) };
  const slow = { ...job, submitMs: 0, onLost: 'skip' as const, handlerMs: chance.pick(ROBBED_HANDLER_MS) };
  return {
    ...scenario,
    jobs: [slow, ...scenario.jobs.slice(1)],
    calamities: [...scenario.calamities, cut, loss],
  };
}

/** Most jobs are over after a few seconds, so most happens then. */
function early(chance: Chance, calmMs: number): number {
  return Math.floor(chance.next() * chance.next() * calmMs);
}

function split(chance: Chance, calmMs: number): Calamity {
  return { kind: 'split', atMs: 500 + early(chance, calmMs - 500), part: chance.next() };
}

function list<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
