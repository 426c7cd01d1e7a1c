/** The handlers of a simulated worker: they do with each record what its plan says, and write down what they did. */
import {
  defineHandler,
  done,
  fenced,
  type Handler,
  type HandlerContext,
  type HandlerEvent,
  type Outcome,
  skip,
} from '@tidemark/handlers';
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Delivery } from './history.ts';
import { ATTEMPT_TIMEOUT_MS } from './limits.ts';
import type { JobPlan } from './plans.ts';
import type { SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

/** The newest token that each range has shown; a sink that refuses older ones. */
export type Sink = Map<string, string>;

export function handlersOf(world: World, process: SimulatedProcess, sink: Sink): readonly Handler[] {
  const plans = new Map(world.scenario.jobs.map((plan) => [plan.jobId, plan]));
  const planOf = ({ jobId }: HandlerContext): JobPlan => {
    const plan = plans.get(jobId);
    if (plan === undefined) throw new Error(`nobody asked for ${jobId}`);
    return plan;
  };
  const common = { input: 'raw', idempotent: true, timeoutMs: ATTEMPT_TIMEOUT_MS } as const;
  const attempt = attempting(world, process, sink);
  const handOver = (event: HandlerEvent<Buffer | null>, context: HandlerContext, call: number): Delivery => {
    const { jobId, rangeId, token, attempt: number } = context;
    const { partition, offset } = event;
    const delivery: Delivery = { jobId, partition, offset, rangeId, token, attempt: number, call };
    world.tell(process.name, { kind: 'delivered', ...delivery });
    return delivery;
  };
  const nextCall = (): number => {
    world.handlerCalls += 1;
    return world.handlerCalls;
  };
  return [
    defineHandler({
      ...common,
      name: 'each',
      concurrency: 3,
      handle: async (event, context) => {
        const { outcome, tell } = await attempt(handOver(event, context, nextCall()), context, planOf(context));
        tell();
        return outcome;
      },
    }),
    defineHandler({
      ...common,
      name: 'batch',
      // All or nothing, as a transaction of a sink: what it did before a fault is undone.
      handleBatch: async (events, context) => {
        const plan = planOf(context);
        const call = nextCall();
        const deliveries = events.map((event) => handOver(event, context, call));
        const attempts: Attempted[] = [];
        for (const delivery of deliveries) attempts.push(await attempt(delivery, context, plan));
        if (context.signal.aborted) throw new Error('given up');
        for (const { tell } of attempts) tell();
        return attempts.map(({ outcome }) => outcome);
      },
    }),
  ];
}

interface Attempted {
  readonly outcome: Outcome;
  /** To be called in the moment in which the effect takes place. */
  readonly tell: () => void;
}

function attempting(world: World, process: SimulatedProcess, sink: Sink) {
  return async (delivery: Delivery, context: HandlerContext, plan: JobPlan): Promise<Attempted> => {
    const { partition, offset, attempt } = delivery;
    if (plan.handlerMs > 0) await sleep(plan.handlerMs, context.signal);
    if (context.signal.aborted) throw new Error('given up');
    const seen = newestSeen(sink, delivery);
    if (seen !== undefined) return { outcome: fenced(seen), tell: () => undefined };
    if (world.sinkIsDown) throw outage();
    const record = plan.recordPlanOf(partition, offset);
    switch (record.kind) {
      case 'data':
        throw new TidemarkError({ code: 'BAD_RECORD', class: ErrorClass.data, message: 'a bad record' });
      case 'transient':
        if (attempt <= record.attempts) throw new Error('not this time');
        break;
      case 'hang':
        if (attempt <= record.attempts) await new Promise<never>(() => {});
        break;
      case 'skip':
      case 'done':
        break;
    }
    const outcome = record.kind === 'skip' ? 'skip' : 'done';
    return {
      outcome: outcome === 'skip' ? skip('planned') : done(),
      tell: () => void world.tell(process.name, { kind: 'answered', outcome, ...delivery }),
    };
  };
}

/** Of a younger token of the range, if the sink knows one. */
function newestSeen(sink: Sink, { jobId, rangeId, token }: Delivery): string | undefined {
  const range = `${jobId}/${rangeId}`;
  const seen = sink.get(range) ?? '';
  if (seen > token) return seen;
  sink.set(range, token);
  return undefined;
}

function outage(): TidemarkError {
  return new TidemarkError({
    code: 'SINK_DOWN',
    class: ErrorClass.unavailable,
    message: 'the sink is down',
    context: { dependency: 'sink' },
  });
}
