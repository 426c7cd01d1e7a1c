/** Who runs: workers, distributors and the guard as processes, started again when one is gone, as an orchestrator does. */
import { startDistributor } from '@tidemark/distributor';
import { createJobLog, createMarkLog } from '@tidemark/jobs/kafka';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { type Logger, silentLogger } from '@tidemark/observability';
import { startGuard } from '@tidemark/retention-guard';
import type { Chance } from '@tidemark/testkit/chance';
import { startWorker } from '@tidemark/worker';
import { handlersOf, type Sink } from './handlers.ts';
import { createLink } from './link.ts';
import { type Ports, portsOf, servicesOf, type Variant } from './ports.ts';
import { type ProcessKind, SimulatedProcess } from './process.ts';
import { NAMESPACE, type World } from './world.ts';

const START_AGAIN_MS = 400;
/** Two that fence each other in turn would come to nothing. */
const STANDBY_BACK_MS = 7_000;
/** Shorter than by default, so that a takeover falls into the time in which things go wrong. */
const LEADERSHIP_TTL_MS = 3_000;
/** The exit after a request to end; whoever is not gone by then is killed. */
const END_WITHIN_MS = 6_000;

const ENDS_A_START: ReadonlySet<string> = new Set([ErrorClass.unavailable, ErrorClass.transient, ErrorClass.fenced]);

interface Running {
  readonly process: SimulatedProcess;
  /** As SIGTERM; undefined while it starts. */
  end: (() => Promise<void>) | undefined;
}

export class Fleet {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #variant: Variant;
  readonly #loggerOf: (process: string) => Logger;
  readonly #services: Ports;
  readonly #sink: Sink = new Map();
  readonly #running = new Set<Running>();
  #started = 0;

  constructor(
    world: World,
    chance: Chance,
    variant: Variant,
    loggerOf: (process: string) => Logger = () => silentLogger,
  ) {
    this.#world = world;
    this.#chance = chance;
    this.#variant = variant;
    this.#loggerOf = loggerOf;
    this.#services = servicesOf(world, variant);
  }

  start(kind: ProcessKind): void {
    this.#started += 1;
    const process = new SimulatedProcess(kind, `${kind}-${this.#started}`);
    const { world } = this;
    const running: Running = { process, end: undefined };
    this.#running.add(running);
    world.tell(process.name, { kind: 'process', what: 'started', why: '' });
    void world.time
      .runAs(process, () => this.#live(running))
      .then(
        (why) => this.#gone(running, 'ended', why, why === 'standby' ? STANDBY_BACK_MS : START_AGAIN_MS),
        (error: unknown) => this.#failed(running, error),
      );
  }

  get world(): World {
    return this.#world;
  }

  kill(kind: ProcessKind, backAfterMs: number): void {
    const victim = this.#draw(kind);
    if (victim === undefined) return;
    victim.process.kill();
    this.#gone(victim, 'killed', '', backAfterMs);
  }

  terminate(kind: ProcessKind, backAfterMs: number): void {
    const victim = this.#draw(kind);
    const end = victim?.end;
    if (victim === undefined || end === undefined) return;
    const { time } = this.#world;
    this.#world.tell(victim.process.name, { kind: 'process', what: 'asked to end', why: '' });
    void time.runAs(victim.process, end).catch(() => undefined);
    time.after(END_WITHIN_MS, () => {
      if (!this.#running.has(victim)) return;
      victim.process.kill();
      this.#gone(victim, 'killed', 'it did not end', backAfterMs);
    });
  }

  freeze(kind: ProcessKind, forMs: number): void {
    const victim = this.#draw(kind);
    if (victim === undefined || !victim.process.running) return;
    const { name } = victim.process;
    victim.process.stop();
    this.#world.tell(name, { kind: 'process', what: 'stopped', why: '' });
    this.#world.time.after(forMs, () => {
      if (!victim.process.alive) return;
      this.#world.tell(name, { kind: 'process', what: 'went on', why: '' });
      victim.process.goOn(this.#world.time);
    });
  }

  #draw(kind: ProcessKind): Running | undefined {
    const among = [...this.#running].filter(({ process }) => process.kind === kind);
    return among.length === 0 ? undefined : this.#chance.pick(among);
  }

  /** Resolves when it ended by itself. */
  async #live(running: Running): Promise<string> {
    const { process } = running;
    const { scenario } = this.#world;
    const ports = portsOf({
      world: this.#world,
      process,
      link: createLink({
        time: this.#world.time,
        process,
        chance: this.#chance.fork(`${scenario.seed} ${process.name}`),
        rates: scenario.faults,
        isCalm: () => this.#world.isCalm,
      }),
      services: this.#services,
      variant: this.#variant,
    });
    const logger = this.#loggerOf(process.name);
    switch (process.kind) {
      case 'worker': {
        const worker = await startWorker({
          ...ports,
          logger,
          handlers: handlersOf(this.#world, process, this.#sink),
          workerId: process.name,
          slots: scenario.slots,
          leaseTtlMs: scenario.leaseTtlMs,
          ...this.#variant.worker,
        });
        running.end = () => worker.stop('asked to end');
        await worker.ended;
        await worker.stop('ended');
        return 'stopped';
      }
      case 'distributor': {
        const { leadership, ...others } = ports;
        const distributor = await startDistributor({
          ...others,
          logger,
          namespace: NAMESPACE,
          ...(scenario.standbys ? { leadership, leadershipTtlMs: LEADERSHIP_TTL_MS } : {}),
        });
        running.end = () => distributor.stop('asked to end');
        await distributor.ended;
        return distributor.phase;
      }
      case 'guard': {
        const marks = createMarkLog({ ...ports, namespace: NAMESPACE });
        const guard = await startGuard({
          ...ports,
          logger,
          marks: this.#variant.marks?.(marks) ?? marks,
          jobs: createJobLog({ ...ports, namespace: NAMESPACE }),
          policies: scenario.topics
            .filter(({ guarded }) => guarded)
            .map(({ name }) => ({ topic: name, ageMs: 0, bytes: undefined })),
          name: process.name,
          nowMs: Date.now,
          everyMs: scenario.guardEveryMs,
          replicationFactor: 1,
        });
        running.end = () => guard.stop('asked to end');
        await guard.ended;
        return 'stopped';
      }
    }
  }

  /** An outage or a younger one at the start end a program with one line; anything else is a bug of the program. */
  #failed(running: Running, error: unknown): void {
    const isOutage = error instanceof TidemarkError && ENDS_A_START.has(error.class);
    const why = error instanceof Error ? (error.stack ?? describeError(error)) : describeError(error);
    this.#gone(running, isOutage ? 'ended' : 'failed', why, START_AGAIN_MS);
  }

  #gone(running: Running, what: 'killed' | 'ended' | 'failed', why: string, backAfterMs: number): void {
    const { process } = running;
    if (!this.#running.delete(running)) return;
    process.kill();
    this.#world.tell(process.name, { kind: 'process', what, why });
    this.#world.time.after(backAfterMs, () => {
      const others = [...this.#running].some((other) => other.process.kind === process.kind);
      if (!(this.#world.isCalm && others && process.kind === 'distributor')) this.start(process.kind);
    });
  }
}
