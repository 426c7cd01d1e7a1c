/** The messenger's side of the main job: its tables, its topic, its messages, and the transaction that asks for the job. */
import type { ControlParts } from '@tidemark/control';
import type { TopicDescription } from '@tidemark/log';
import { attachTable, installOutbox, requestJob } from '@tidemark/outbox/postgres';
import type { Client, Pool } from 'pg';
import { HANDLER_NAME } from '../handler.ts';
import { CHUNK_RECORDS } from '../limits.ts';
import { messageSchema } from '../message.ts';
import { fillTables, leaveAndMute, type Posted, postMessages, recallMessages } from '../posting.ts';
import { createTables } from '../tables.ts';
import { MAIN_JOB_SIZE, type World } from '../world.ts';
import type { RunNames } from './run-names.ts';

const PARTITIONS = 4;
/** Two workers of four slots have something to do for each slot. */
const RANGES_PER_PARTITION = 2;
const WRITERS = 4;
/** Posted by the transaction that requests the job: the job covers earlier rows of its own transaction. */
const ANNOUNCEMENT_ID = 999_999;

export async function createApplication(
  parts: Pick<ControlParts, 'cluster' | 'codec' | 'namespace'>,
  client: Client,
  options: { readonly names: RunNames; readonly world: World; readonly replicationFactor: number },
): Promise<TopicDescription> {
  const { names, world, replicationFactor } = options;
  const { namespace } = parts;
  // The application's own topic, created by the application: Tidemark never does.
  const topic = await parts.cluster.catalog.ensure({
    topic: names.topic,
    partitionCount: PARTITIONS,
    replicationFactor,
    configs: {},
  });
  await parts.codec.registerFor(names.topic, messageSchema());
  await installOutbox(client, { namespace });
  await createTables(client, names.schema);
  await fillTables(client, { schema: names.schema, users: MAIN_JOB_SIZE.users, world });
  await attachTable(client, {
    namespace,
    table: `${names.schema}.messages`,
    topic: names.topic,
    eventType: 'im.message',
  });
  return topic;
}

export async function postThePlan(
  pool: Pool,
  client: Client,
  options: { readonly schema: string; readonly world: World; readonly seed: number },
): Promise<Posted> {
  const { schema, world, seed } = options;
  const posted = await postMessages(pool, { schema, messages: world.messages, seed, writers: WRITERS });
  await recallMessages(client, { schema, messageIds: world.recalled });
  await leaveAndMute(client, { schema, left: world.left, muted: world.muted });
  await client.query(`analyze ${schema}.messages, ${schema}.members`);
  return posted;
}

/**
 * One business transaction: a last message, a note of all messages that are committed by now, and the request. Either
 * all of it happens or nothing, and the job covers whatever the note names.
 */
export async function requestFanOut(
  client: Client,
  options: { readonly namespace: string; readonly names: RunNames; readonly world: World },
): Promise<void> {
  const { namespace, names, world } = options;
  const last = world.messages.at(-1);
  if (last === undefined) throw new RangeError('a world without messages');
  await client.query('begin');
  try {
    await client.query(
      `insert into ${names.schema}.messages (id, group_id, sender_id, body) values ($1, $2, $3, 'we are live')`,
      [ANNOUNCEMENT_ID, last.groupId, last.senderId],
    );
    await client.query(`insert into ${names.schema}.fanout_requests select $1, id from ${names.schema}.messages`, [
      names.jobId,
    ]);
    await requestJob(client, {
      namespace,
      request: {
        jobId: names.jobId,
        topic: names.topic,
        handler: HANDLER_NAME,
        parameters: { schema: names.schema },
        chunkRecords: CHUNK_RECORDS,
        rangesPerPartition: RANGES_PER_PARTITION,
        note: 'requested by the application in a transaction of its own',
        requestedBy: 'npm start',
      },
    });
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
