import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { OngoingTransaction, OutgoingRecord, TransactionOutcome } from '@tidemark/log';
import { HANGING_ALLOWED, hangTransaction } from '@tidemark/log/testing';
import { createMetricSet, type MetricSet } from '@tidemark/observability';
import { positionTopicOf, snapshotText } from '@tidemark/outbox';
import { publish } from '@tidemark/outbox/postgres';
import { kafkaClient, type PrivateService, privateKafka, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rowOf } from './hanging.ts';
import { positionFromBytes } from './position-topic.ts';
import { type Relay, RelayState } from './relay.ts';
import { keysIn, openRelayTest, type RelayTest, withCommit } from './testing/harness.ts';

/** Everybody may do everything until a right is given to somebody: then nobody else has it. */
const RIGHTS_KEPT = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'allow.everyone.if.no.acl.found': 'true',
};

let kafka: PrivateService;
beforeAll(async () => {
  kafka = await privateKafka({ settings: { ...HANGING_ALLOWED, ...RIGHTS_KEPT } });
});
afterAll(() => kafka.stop());

type Records = readonly OutgoingRecord[];

class Rig {
  readonly test: RelayTest;
  readonly metricSet: MetricSet = createMetricSet({ program: 'relay' });

  constructor(test: RelayTest) {
    this.test = test;
  }

  get positionTopic(): string {
    return positionTopicOf(this.test.namespace);
  }

  async publish(...keys: readonly string[]): Promise<void> {
    const { outbox, namespace, topic } = this.test;
    for (const key of keys) await publish(outbox.client, { namespace, topic, key, type: 'x', payload: '{}' });
  }

  /** A relay that dies in its first transaction with a row of such a key, after this was done in its stead. */
  startRelay(keys: RegExp, instead: (records: Records) => Promise<void>): Promise<Relay> {
    let isDone = false;
    const cluster = withCommit(this.test.cluster, async (records, writer) => {
      if (isDone || !records.some(({ key }) => keys.test(`${key}`))) return writer.commit(records);
      isDone = true;
      await instead(records);
      throw new TidemarkError({ code: 'KILLED', class: ErrorClass.transient, message: 'the relay is killed' });
    });
    return this.test.startRelay({ cluster, metrics: this.metricSet.metrics });
  }

  hang(records: Records): Promise<void> {
    return hangTransaction(kafka.address, `${this.test.namespace}.relay.main`, records);
  }

  isPosition = ({ topic }: { readonly topic: string }): boolean => topic === this.positionTopic;

  async ongoing(): Promise<readonly OngoingTransaction[]> {
    const events = [0, 1, 2].map((partition) => ({ topic: this.test.topic, partition }));
    return this.test.cluster.catalog.transactions.ongoing([...events, { topic: this.positionTopic, partition: 0 }]);
  }

  async end(which: (part: OngoingTransaction) => boolean, outcome: TransactionOutcome): Promise<void> {
    const parts = (await this.ongoing()).filter(which);
    expect(parts).not.toEqual([]);
    for (const part of parts) await this.test.cluster.catalog.transactions.end(part, outcome);
  }

  async keys(count: number): Promise<readonly (string | undefined)[]> {
    const { test } = this;
    const isThere = async () => {
      const open = await this.ongoing();
      return open.length === 0 && (await keysIn(test, test.topic)).length >= count;
    };
    await waitFor(`${count} rows, and nothing that is open`, isThere, { timeoutMs: 60_000 });
    return keysIn(test, test.topic);
  }

  /** Partitions where the relay ended a transaction. */
  async ended(outcome: 'committed' | 'aborted'): Promise<number> {
    const series = `tidemark_relay_transactions_ended_total{outcome="${outcome}",program="relay"} `;
    const line = (await this.metricSet.render()).page.split('\n').find((text) => text.startsWith(series));
    return Number(line?.slice(series.length) ?? 0);
  }
}

const HUNG = ['hang-1', 'hang-2', 'hang-3', 'hang-4'];
const BEFORE = ['a', 'b', 'c'];

describe('G17, P9: a start ends what hangs, and every row is there once', () => {
  async function openRig(): Promise<Rig> {
    return new Rig(await openRelayTest({ kafka: kafka.address }));
  }

  /** What hangs, and how some of it has ended before the relay starts again. */
  async function run(
    rig: Rig,
    { before = BEFORE, hang }: { before?: string[]; hang: (records: Records) => Promise<void> },
  ) {
    await rig.publish(...before);
    const relay = await rig.startRelay(/^hang/, hang);
    await waitFor('what is published before', () => relay.rowsPublished === before.length, { timeoutMs: 60_000 });
    await rig.publish(...HUNG);
    expect(await rig.keys(before.length + HUNG.length)).toEqual([...before, ...HUNG]);
    // What it has ended is counted by then.
    await waitFor('the next session', () => relay.state === RelayState.publishing);
    return relay;
  }

  it('events alone, of a transaction whose position was never written', async () => {
    const rig = await openRig();
    await run(rig, { hang: (records) => rig.hang(records.filter((record) => !rig.isPosition(record))) });
    expect([await rig.ended('committed'), (await rig.ended('aborted')) > 0]).toEqual([0, true]);
  });

  it('events of the very first transaction: no position knows their topic', async () => {
    const rig = await openRig();
    await run(rig, { before: [], hang: (records) => rig.hang(records.filter((record) => !rig.isPosition(record))) });
    expect([await rig.ended('committed'), (await rig.ended('aborted')) > 0]).toEqual([0, true]);
  });

  it('everything: nobody has seen it, and it is sent again', async () => {
    const rig = await openRig();
    await run(rig, { hang: (records) => rig.hang(records) });
    expect([await rig.ended('committed'), (await rig.ended('aborted')) > 1]).toEqual([0, true]);
  });

  it('everything, after it was settled and its rows were removed: it is committed', async () => {
    const rig = await openRig();
    const { outbox, codec } = rig.test;
    await run(rig, {
      // As a machine that crashed leaves it: the markers were there, the relay saw them and cleaned up, and they are lost.
      async hang(records) {
        await rig.hang(records);
        const value = records.find(rig.isPosition)?.value ?? Buffer.alloc(0);
        const { snapshot } = (await positionFromBytes(codec, value)).position;
        const { schema, client } = outbox;
        await client.query(`update ${schema}.relays set published = $1`, [snapshotText(snapshot)]);
        const rows = records.map(rowOf).filter((row) => row !== undefined);
        await client.query(`delete from ${schema}.outbox where position = any ($1)`, [rows]);
      },
    });
    expect([(await rig.ended('committed')) > 1, await rig.ended('aborted')]).toEqual([true, 0]);
  });

  it('the position, of events that are committed', async () => {
    const rig = await openRig();
    await run(rig, {
      async hang(records) {
        await rig.hang(records);
        await rig.end((part) => !rig.isPosition(part), 'commit');
      },
    });
    expect([await rig.ended('committed'), await rig.ended('aborted')]).toEqual([1, 0]);
  });

  it('the position and most of the events: one partition shows that it was aborted', async () => {
    const rig = await openRig();
    let partition: number | undefined;
    await run(rig, {
      async hang(records) {
        await rig.hang(records);
        partition = records[0]?.partition;
        await rig.end((part) => !rig.isPosition(part) && part.partition === partition, 'abort');
      },
    });
    expect([await rig.ended('committed'), (await rig.ended('aborted')) > 0]).toEqual([0, true]);
  });

  it('events, of a position that is committed', async () => {
    const rig = await openRig();
    await run(rig, {
      async hang(records) {
        await rig.hang(records);
        await rig.end(rig.isPosition, 'commit');
      },
    });
    expect([(await rig.ended('committed')) > 0, await rig.ended('aborted')]).toEqual([true, 0]);
  });

  it('is not guessed: the relay stops and names every place', async () => {
    const rig = await openRig();
    const relay = await rig.startRelay(/^hang/, async (records) => {
      await rig.hang(records.map((record) => (rig.isPosition(record) ? { ...record, headers: [] } : record)));
    });
    await rig.publish(...HUNG);
    await expect(relay.ended).rejects.toMatchObject({
      code: 'TRANSACTION_UNDECIDED',
      class: 'config',
      message: expect.stringMatching(/\.relay\/0 from offset \d+ on .*kafka-transactions\.sh abort/),
    });
  });

  // The last one: from here on the broker itself lacks the right, too.
  it('without the right to end it: the relay stops and says what to grant, or to run', async () => {
    const rig = await openRig();
    const relay = await rig.startRelay(/^hang/, async (records) => {
      await rig.hang(records);
      await takeClusterRights();
    });
    await rig.publish(...HUNG);
    await expect(relay.ended).rejects.toMatchObject({
      code: 'TRANSACTIONS_FORBIDDEN',
      class: 'config',
      message: expect.stringMatching(
        /--operation ClusterAction --cluster, or run kafka-transactions\.sh abort --topic \S+\.relay /,
      ),
    });
  });
});

/** Kafka's numbers: a literal name, on the cluster, to describe, allowed. */
const LITERAL = 3;
const CLUSTER = 4;
const DESCRIBE = 8;
const ALLOW = 3;

async function takeClusterRights(): Promise<void> {
  const admin = kafkaClient({ kafka: kafka.address }).admin();
  await admin.connect();
  try {
    const cluster = { resourceType: CLUSTER, resourceName: 'kafka-cluster', resourcePatternType: LITERAL };
    const somebody = { principal: 'User:somebody', host: '*', operation: DESCRIBE, permissionType: ALLOW };
    await admin.createAcls({ acl: [{ ...cluster, ...somebody }] });
  } finally {
    await admin.disconnect();
  }
}
