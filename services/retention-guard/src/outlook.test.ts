import { createMarkLog } from '@tidemark/jobs/kafka';
import { toOffset } from '@tidemark/keyspace';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createOutlook } from './outlook.ts';
import type { RetentionPolicy } from './policy.ts';
import type { CycleReport, PartitionReport } from './report.ts';
import { GuardRig } from './testing/guard-rig.ts';
import { createMemoryParts, type MemoryParts } from './testing/memory-parts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let memory: MemoryParts;
let rig: GuardRig;
let nowMs = 0;
beforeEach(() => {
  memory = createMemoryParts();
  rig = new GuardRig(memory);
  nowMs = 0;
});
afterEach(() => rig.close());

/** A report as a cycle would give it, of one partition. */
async function reportOf(topic: string, some: Partial<PartitionReport>): Promise<CycleReport> {
  const seen = { topic, partition: 0, outcome: 'idle', reason: '', cutOffsets: 0n, heldOffsets: 0n } as const;
  const none = { drift: new Map(), repaired: new Map(), recreated: new Map(), staleFloors: [] };
  return { topics: [await rig.describe(topic)], partitions: [{ ...seen, ...some }], ...none };
}

async function setUp(policy: Partial<RetentionPolicy>) {
  const topic = await rig.parts.newTopic(1);
  const marks = createMarkLog(rig.parts);
  await marks.ensure(1);
  const parts = { ...rig.guardParts([{ topic, ageMs: undefined, bytes: undefined, ...policy }]), nowMs: () => nowMs };
  const view = async () => (await marks.load()).views.get(topic);
  return { topic, outlook: createOutlook(parts), view };
}

function disk(topic: string, usableBytes: bigint): void {
  const logs = [{ topic, partition: 0, bytes: 10n }];
  memory.cluster.setDisks([{ broker: 1, directory: '/data', totalBytes: 1_000n, usableBytes, logs }]);
}

it('a disk is full when what is left is used up as fast as over the last cycles', async () => {
  const { topic, outlook, view } = await setUp({ ageMs: HOUR });
  disk(topic, 800n);
  expect(await outlook.look(await reportOf(topic, {}))).toMatchObject([{ fullAtMs: undefined }]);
  nowMs = HOUR;
  disk(topic, 600n);
  expect(await outlook.look(await reportOf(topic, {}))).toMatchObject([{ fullAtMs: 4 * HOUR }]);
  expect(await view()).toMatchObject({ disks: [{ directory: '/data', fullAtMs: BigInt(4 * HOUR) }] });
  nowMs = 2 * HOUR;
  disk(topic, 900n);
  expect(await outlook.look(await reportOf(topic, {}))).toMatchObject([{ fullAtMs: undefined }]);
});

it('a policy by age reaches the floor when the first record from there on is old enough', async () => {
  const { topic, outlook, view } = await setUp({ ageMs: HOUR });
  const writer = await rig.parts.cluster.openWriter();
  const at = (timestampMs: bigint) => ({ topic, partition: 0, key: null, value: Buffer.from('x'), timestampMs });
  await writer.append([at(0n), at(BigInt(5 * MINUTE))]);
  const floor = {
    target: toOffset(0n),
    floor: toOffset(1n),
    highWatermark: toOffset(2n),
    logStartOffset: toOffset(0n),
  };
  await outlook.look(await reportOf(topic, floor));
  expect(await view()).toMatchObject({ partitions: [{ target: 0n, policyAtFloorAtMs: BigInt(65 * MINUTE) }] });
  nowMs = HOUR;
  await outlook.look(await reportOf(topic, { ...floor, target: toOffset(1n) }));
  expect(await view()).toMatchObject({ partitions: [{ policyAtFloorAtMs: null }] });
});

it('a policy by size reaches the floor when the log has grown by what lies between', async () => {
  const { topic, outlook, view } = await setUp({ bytes: 1_000n });
  const at = (highWatermark: bigint) => ({ highWatermark: toOffset(highWatermark), logStartOffset: toOffset(0n) });
  await outlook.look(await reportOf(topic, { ...at(1_000n), target: toOffset(0n), floor: toOffset(500n) }));
  expect(await view()).toMatchObject({ partitions: [{ policyAtFloorAtMs: null }] });
  nowMs = HOUR;
  await outlook.look(await reportOf(topic, { ...at(1_200n), target: toOffset(100n), floor: toOffset(500n) }));
  expect(await view()).toMatchObject({ partitions: [{ policyAtFloorAtMs: BigInt(3 * HOUR) }] });
});

it('is told at the first cycle and then now and then, not in every one', async () => {
  const { topic, outlook, view } = await setUp({ ageMs: HOUR });
  const atMs = async (): Promise<bigint | undefined> => {
    await outlook.look(await reportOf(topic, {}));
    return (await view())?.atMs;
  };
  expect(await atMs()).toBe(0n);
  nowMs = MINUTE;
  expect(await atMs()).toBe(0n);
  nowMs = 2 * MINUTE;
  expect(await atMs()).toBe(BigInt(2 * MINUTE));
});

it('what people look at goes on by a clock that was set back', async () => {
  const { topic, outlook, view } = await setUp({});
  disk(topic, 800n);
  nowMs = 5 * HOUR;
  await outlook.look(await reportOf(topic, {}));
  nowMs = HOUR;
  await outlook.look(await reportOf(topic, { reason: 'now' }));
  expect(await view()).toMatchObject({ atMs: BigInt(HOUR), partitions: [{ reason: 'now' }] });
});
