/** Orders to series: each in one transaction with the position behind it, and floors after that. */
import type { JobEvent, Pin, SeriesDefinition, SeriesOrder, SeriesState } from '@tidemark/contracts';
import {
  definitionFaults,
  holderOf,
  type InboxRecord,
  isHeld,
  moveSeries,
  newRequest,
  nextDueMs,
  parseWindow,
  type SeriesAnswer,
  SeriesOrderName,
  type SeriesTransition,
  type TransitionTime,
} from '@tidemark/jobs';
import { timeOf } from './changes.ts';
import { putAside } from './dead-requests.ts';
import { pinInTurn } from './pin-turn.ts';
import { countPartitions, dropSeriesFloors } from './series-floors.ts';
import { needsOfSeries } from './series-needs.ts';
import { commit, type Shard } from './shard.ts';

type Creation = Extract<SeriesTransition, { kind: 'created' | 'refused' }>;

/** `waits`: the topic does not answer; the position stays. */
export async function applySeriesOrder(
  shard: Shard,
  order: SeriesOrder,
  record: InboxRecord,
  pass: () => void,
): Promise<'applied' | 'waits'> {
  const by = { orderId: order.orderId, reason: order.reason, actor: order.actor };
  switch (order.order) {
    case SeriesOrderName.create: {
      const creation = await creationOf(shard, order, record);
      if (creation.kind === 'waits') return 'waits';
      pass();
      await create(shard, order, creation);
      return 'applied';
    }
    case SeriesOrderName.run:
      pass();
      await settle(shard, order, { kind: 'run', ...by });
      return 'applied';
    case SeriesOrderName.resume:
      pass();
      await settle(shard, order, { kind: 'resumed', ...by });
      return 'applied';
    case SeriesOrderName.delete: {
      pass();
      const answer = await settle(shard, order, { kind: 'deleted', ...by });
      if (answer.kind !== 'moved') return 'applied';
      await shard.parts.onStep('series.deleted');
      await dropSeriesFloors(shard, answer.state);
      return 'applied';
    }
    default:
      pass();
      await putAside(shard, record, 'UNKNOWN_ORDER', `${JSON.stringify(order.order.slice(0, 100))} is no order`);
      return 'applied';
  }
}

/** Where the first run begins is fixed here, and held from here on, also where there is nothing to read yet. */
async function creationOf(
  shard: Shard,
  order: SeriesOrder,
  record: InboxRecord,
): Promise<Creation | { readonly kind: 'waits' }> {
  const { definition, orderId, reason, actor, series } = order;
  const by = { orderId, reason, actor };
  const present = shard.series.state(series);
  if (definition === null) return { kind: 'refused', definition: emptyDefinition(series), fault: NO_DEFINITION, ...by };
  const refused = (fault: string): Creation => ({ kind: 'refused', definition, fault, ...by });
  const faults = definitionFaults(series, definition);
  if (faults.length > 0) return refused(`INVALID_SERIES: ${faults.join('; ')}`);
  // What is there already is not looked up again: the state machine tells the same from another.
  if (present !== undefined && (isHeld(present) || present.orderIds.includes(orderId))) return refused('');
  const holder = { name: holderOf(series), isEverywhere: true };
  const pin = await pinInTurn(shard, definition.request, record.place, holder);
  if (pin.kind === 'waits') return pin;
  if (pin.kind === 'refused') return refused(pin.reason);
  const unnamed = await unnamedFault(shard, definition, pin.pin);
  if (unnamed !== undefined) return refused(`INVALID_SERIES: ${unnamed}`);
  const partitions = pin.pin.partitions.map(({ partition, start }) => ({ partition, end: start }));
  const { atMs } = timeOf(shard);
  const dueAtMs = nextDueMs(definition, { afterMs: atMs, anchorMs: atMs });
  return { kind: 'created', definition, topicId: pin.pin.topicId, partitions, dueAtMs, ...by };
}

/** A partition that is not named would be read from its beginning, as one that was added: nobody means that. */
async function unnamedFault(
  shard: Shard,
  { request: { topic, from } }: SeriesDefinition,
  { topicId, partitions }: Pin,
): Promise<string | undefined> {
  await countPartitions(shard, topic, topicId);
  const window = parseWindow({ from, to: 'now' });
  const count = shard.partitionCounts.get(topicId) ?? 0;
  if (window.kind !== 'window' || window.spec.from.kind !== 'offsets' || partitions.length >= count) return undefined;
  return `from ${JSON.stringify(from)} names ${partitions.length} of ${count} partitions, and a series covers all of them: name the first offset of each`;
}

const NO_DEFINITION = 'INVALID_SERIES: the order to create it says nothing of what it does';

async function create(shard: Shard, order: SeriesOrder, creation: Creation): Promise<void> {
  const answer = await settle(shard, order, creation);
  if (answer.kind !== 'moved' || creation.kind !== 'created') return;
  shard.partitionsSeenAtMs = undefined;
  await shard.parts.onStep('series.committed');
  const confirmed = await shard.floors.keeper.confirm(holderOf(order.series), needsOfSeries(answer.state, shard));
  if (confirmed.kind === 'confirmed') return;
  const { need, mark } = confirmed;
  const reason = `RETENTION_WAS_FASTER: partition ${need.place.partition} was given up below ${mark} before the series, which needs it from ${need.offset} on, was accepted; delete it and create it again`;
  const time = timeOf(shard);
  await write(shard, moveSeries(answer.state, { kind: 'stopped', reason }, time), time);
}

async function settle(shard: Shard, { series, order }: SeriesOrder, event: SeriesTransition): Promise<SeriesAnswer> {
  const time = timeOf(shard);
  const answer = moveSeries(shard.series.state(series), event, time);
  await write(shard, answer, time);
  const { logger } = shard.parts;
  if (answer.kind === 'refused') logger.warn({ series, order, reason: answer.reason }, 'series.order_refused');
  else logger.info({ series, order, status: answer.state.status, reason: answer.state.reason }, 'series.ordered');
  return answer;
}

/** Where nothing changed, the position moves with the next transaction, and reading the order again changes nothing either. */
async function write(shard: Shard, answer: SeriesAnswer, time: TransitionTime): Promise<void> {
  if (answer.kind === 'same' || answer.state === undefined) return;
  await commitSeries(shard, [{ state: answer.state, events: answer.events }], time);
}

/** `atMs` is the time of the changes: a start knows by it that a series of the last transaction was just deleted. */
export function commitSeries(
  shard: Shard,
  changes: readonly { readonly state: SeriesState; readonly events: readonly JobEvent[] }[],
  { atMs }: Pick<TransitionTime, 'atMs'>,
): Promise<void> {
  const series = changes.map(({ state }) => state);
  const events = changes.flatMap((change) => change.events);
  return commit(shard, { atMs: Number(atMs), series, events });
}

function emptyDefinition(series: string): SeriesDefinition {
  return { request: newRequest({ jobId: series, topic: '', handler: '' }), cron: '', zone: 'UTC', everyMs: 0n };
}
