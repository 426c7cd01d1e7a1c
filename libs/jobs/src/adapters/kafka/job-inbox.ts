/** The jobs topic as the distributor reads it: in order, decoded, and nothing in it can stop the next record. */
import { type Codec, SchemaName } from '@tidemark/contracts';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster, LogRecord, Source } from '@tidemark/log';
import { isForAll } from '../../command.ts';
import type { InboxContent, InboxRecord, JobInbox } from '../../ports.ts';
import { jobIdFault } from '../../request-validation.ts';
import { seriesNameFault } from '../../series-definition.ts';
import { jobTopics } from '../../topics.ts';
import { lookFrom, ownTopicBroken } from './own-topic.ts';
import { decodeStored, recordIf } from './stored-records.ts';

export interface JobInboxOptions {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
}

export function createJobInbox(options: JobInboxOptions): JobInbox {
  const { cluster, codec } = options;
  const topic = jobTopics(options.namespace).jobs;
  const reader = cluster.openReader();
  let source: Source | undefined;

  return {
    next: async ({ from, waitMs, signal }) => {
      source ??= await sourceOf(cluster, topic);
      const look = await lookFrom({ reader, source, from, waitMs, signal });
      if (look.kind === 'lost') return look;
      const records: InboxRecord[] = [];
      for (const record of look.records) records.push(await inboxRecord(codec, record));
      return { kind: 'records', records, nextOffset: look.nextOffset };
    },
    close: () => reader.close(),
  };
}

async function sourceOf(cluster: LogCluster, topic: string): Promise<Source> {
  const description = await cluster.catalog.describe(topic);
  if (description === undefined) throw ownTopicBroken(topic, 'it does not exist');
  return { topic, topicId: description.topicId, partition: 0 };
}

async function inboxRecord(codec: Codec, record: LogRecord): Promise<InboxRecord> {
  const { key, value, headers, offset } = record;
  return {
    place: { partition: 0, offset },
    content: await contentOfRecord(codec, value),
    raw: { key, value, headers },
  };
}

/** Throws only when the registry does not answer: then nobody knows yet what the record is. */
async function contentOfRecord(codec: Codec, value: Buffer | null): Promise<InboxContent> {
  if (value === null) return malformed('NO_VALUE', 'a request or command needs a value');
  try {
    const decoded = await decodeStored(codec, value);
    const request = recordIf(decoded, SchemaName.jobRequested);
    if (request !== undefined) return named(request.jobId, { kind: 'request', request });
    const command = recordIf(decoded, SchemaName.jobCommand);
    if (command !== undefined && isForAll(command)) return { kind: 'command', command };
    if (command !== undefined) return named(command.jobId, { kind: 'command', command });
    const order = recordIf(decoded, SchemaName.seriesOrder);
    if (order !== undefined) {
      const fault = seriesNameFault(order.series);
      return fault === undefined ? { kind: 'series', order } : malformed('BAD_SERIES_NAME', fault);
    }
    return malformed('WRONG_SCHEMA', `${decoded.schema} is neither a request nor a command nor an order to a series`);
  } catch (error) {
    if (error instanceof TidemarkError && isVerdict(error)) return malformed(error.code, describeError(error));
    throw error;
  }
}

/** The record itself is at fault, or it is from a newer program: asking again would not change the answer. */
function isVerdict(error: TidemarkError): boolean {
  return error.class === ErrorClass.data || error.code === 'NEWER_FORMAT';
}

function named(jobId: string, content: InboxContent): InboxContent {
  const fault = jobIdFault(jobId);
  return fault === undefined ? content : malformed('BAD_JOB_ID', fault);
}

function malformed(code: string, reason: string): InboxContent {
  return { kind: 'malformed', code, reason };
}
