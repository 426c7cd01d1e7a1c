/** One seed from the first record to the last state. */
import { newRequest } from '@tidemark/jobs';
import { createJobLog } from '@tidemark/jobs/kafka';
import type { Logger } from '@tidemark/observability';
import { chanceOf } from '@tidemark/testkit/chance';
import { playCalamities, playCutStorm } from './calamities.ts';
import { Fleet } from './fleet.ts';
import type { History, HistoryEvent, JobFacts } from './history.ts';
import type { JobPlan, Scenario } from './plans.ts';
import type { Variant } from './ports.ts';
import { fateOf, scenarioOf } from './scenario.ts';
import { beginVirtualTime } from './virtual-time.ts';
import { NAMESPACE, World } from './world.ts';

/** From the calm on every job must end within this: longer than any pause that a program makes by itself. */
const END_WITHIN_MS = 5 * 60_000;

export interface SimulateOptions {
  readonly variant?: Variant;
  readonly onEvent?: (event: HistoryEvent) => void;
  readonly loggerOf?: (process: string) => Logger;
}

export async function simulate(seed: number, options: SimulateOptions = {}): Promise<History> {
  const scenario = scenarioOf(seed);
  const chance = chanceOf(seed);
  const time = beginVirtualTime(chance.fork('random'));
  try {
    const world = new World(scenario, time, options.onEvent);
    await world.topics.open(scenario);
    const fleet = new Fleet(world, chance.fork('fleet'), options.variant ?? {}, options.loggerOf);
    for (let started = 0; started < scenario.distributors; started++) fleet.start('distributor');
    for (let started = 0; started < scenario.workers; started++) fleet.start('worker');
    if (scenario.topics.some(({ guarded }) => guarded)) fleet.start('guard');
    const commanding = submitAndCommand(world, scenario);
    playCalamities(world, fleet);
    playCutStorm(world, fleet, commanding.submitLate);
    time.after(scenario.calmMs, () => {
      world.calm();
      commanding.letEnd();
    });
    const ended = await time.run({ until: () => world.isOver, untilMs: scenario.calmMs + END_WITHIN_MS });
    const linksAreGood = scenario.faults.refuseOneIn === 0;
    return { jobs: factsOf(scenario), logs: world.topics.truth, events: world.events, linksAreGood, ended };
  } finally {
    time.end();
  }
}

interface Operator {
  /** Nothing goes wrong any more: what waits for a person is ended. */
  readonly letEnd: () => void;
  /** The store was lost, and is being filled. */
  readonly submitLate: () => void;
}

function submitAndCommand(world: World, scenario: Scenario): Operator {
  const { time, cluster, codec } = world;
  const jobLog = createJobLog({ cluster, codec, namespace: NAMESPACE });
  let commands = 0;
  const submitted = new Set<string>();
  const late: (() => void)[] = [];
  const order = async (jobId: string, command: string, force: boolean): Promise<void> => {
    commands += 1;
    world.tell('operator', { kind: 'commanded', jobId, command });
    await jobLog.command({
      formatVersion: 1,
      commandId: `command-${commands}`,
      jobId: command === 'kill all' ? '*' : jobId,
      command: command === 'kill all' ? 'kill' : command,
      reason: 'a simulation',
      actor: 'operator',
      force,
      deadlineMs: 0n,
      budget: null,
      deadLettersMax: -1n,
    });
  };
  const ordered = (jobId: string, command: string, force: boolean): void => {
    order(jobId, command, force).catch((error: unknown) => {
      throw error;
    });
  };
  for (const plan of scenario.jobs) {
    const submit = (): void => {
      if (submitted.has(plan.jobId)) return;
      submitted.add(plan.jobId);
      const highWatermarks = world.topics.highWatermarks(plan.topic);
      world.tell('operator', { kind: 'requested', jobId: plan.jobId, highWatermarks });
      void jobLog.request(requestOf(plan));
    };
    if (plan.submitAtStorm) late.push(submit);
    time.after(plan.submitAtStorm && scenario.cutStorm !== undefined ? scenario.calmMs - 1 : plan.submitMs, submit);
    for (const { atMs, command, force } of plan.commands)
      time.after(Math.max(atMs, plan.submitMs + 1), () => ordered(plan.jobId, command, force));
  }
  /** What waits for a person is resumed, and what does not get on then is cancelled. */
  const letEnd = (): void => {
    let looks = 0;
    const look = (): void => {
      looks += 1;
      for (const [jobId, { state }] of world.states) {
        if (state.state !== 'PAUSED' && state.state !== 'SUSPENDED') continue;
        ordered(jobId, looks <= RESUMES_MAX ? 'resume' : 'cancel', false);
      }
      time.after(LOOK_AGAIN_MS, look);
    };
    look();
  };
  const submitLate = (): void => {
    for (const submit of late) time.after(SUBMIT_AFTER_STORM_MS, submit);
  };
  return { letEnd, submitLate };
}

const SUBMIT_AFTER_STORM_MS = 700;
const LOOK_AGAIN_MS = 8_000;
const RESUMES_MAX = 3;

function requestOf(plan: JobPlan) {
  const { jobId, topic, handler, fromMs, toMs, ordering, chunkRecords, rangesPerPartition } = plan;
  const { attempts, parkedMax, onExhausted, onLost, concurrency, rate, deadLettersMax } = plan;
  return newRequest({
    jobId,
    topic,
    handler,
    from: fromMs === undefined ? 'earliest' : String(fromMs),
    to: toMs === undefined ? 'now' : String(toMs),
    ordering,
    chunkRecords,
    rangesPerPartition,
    attempts,
    parkedMax,
    onExhausted,
    onLost,
    concurrency,
    rate,
    deadLettersMax,
  });
}

function factsOf(scenario: Scenario): ReadonlyMap<string, JobFacts> {
  return new Map(
    scenario.jobs.map((plan) => [
      plan.jobId,
      { ...plan, fateOf: (partition, offset) => fateOf(plan.recordPlanOf(partition, offset), plan.attempts) },
    ]),
  );
}
