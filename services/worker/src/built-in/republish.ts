/**
 * `republish`: writes each record to another topic, byte by byte, with headers that say where it is from.
 *
 * A chunk is one append, in offset order, by an idempotent producer: what the producer tries again is not written twice, but a
 * chunk that is handed over again is. So the handler says that it is not idempotent, and whoever reads the target knows a
 * copy again by (`tm_origin_topic_id`, `tm_origin_partition`, `tm_origin_offset`). A write that has begun cannot be called
 * back; one that still waits for others is not begun once its lease, or its time, is over.
 */
import { defineHandler, done, type HandlerContext, type HandlerEvent, type RawHandler } from '@tidemark/handlers';
import { REPUBLISH, type RepublishSettings, readRepublish } from '@tidemark/jobs';
import { ErrorClass, remember, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster, LogWriter, OutgoingRecord, RecordHeaders } from '@tidemark/log';
import { REMEMBERED_TARGETS_MAX, REPUBLISH_PATIENCE_MS, REPUBLISH_TIMEOUT_MS } from '../limits.ts';

type Event = HandlerEvent<Buffer | null>;

/** Faults: `data` for a record that the target refuses as too large, `unavailable` for a target or broker that is away, or slow. */
export function createRepublish(
  cluster: Pick<LogCluster, 'catalog' | 'openWriter'>,
  { patienceMs = REPUBLISH_PATIENCE_MS }: { readonly patienceMs?: number } = {},
): RawHandler {
  let writer: LogWriter | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const write = (copies: readonly OutgoingRecord[], signal: AbortSignal): Promise<void> => {
    const mine = turn.then(async () => {
      signal.throwIfAborted();
      await openWriter(writer).append(copies);
    });
    turn = mine.catch(() => undefined);
    return mine;
  };
  const partitionCounts = new Map<string, number>();
  const partitionCountOf = async (topic: string): Promise<number> => {
    const known = partitionCounts.get(topic) ?? (await cluster.catalog.describe(topic))?.partitionCount;
    if (known === undefined)
      throw targetFault('TARGET_NOT_FOUND', topic, 'it does not exist; create it, nobody else does');
    remember(partitionCounts, { key: topic, value: known, max: REMEMBERED_TARGETS_MAX });
    return known;
  };
  return defineHandler({
    name: REPUBLISH,
    input: 'raw',
    idempotent: false,
    timeoutMs: REPUBLISH_TIMEOUT_MS,
    open: async () => {
      writer = await cluster.openWriter();
    },
    close: async () => {
      await turn;
      await writer?.close();
    },
    handleBatch: async (events, context) => {
      const settings = settingsOf(context);
      const needsCount =
        settings.partition === 'hash' && (settings.key === 'none' || events.some(({ key }) => key === null));
      const copyAll = async (signal: AbortSignal): Promise<void> => {
        const partitionCount = needsCount ? await partitionCountOf(settings.topic) : undefined;
        const copies = events.map((event) => copyOf(event, { settings, context, partitionCount }));
        await write(copies, signal);
      };
      try {
        await withPatience(copyAll, { settings, signal: context.signal, patienceMs });
      } catch (error) {
        // The next look is a fresh one: the target may have been deleted, or created again with other partitions.
        partitionCounts.delete(settings.topic);
        throw asFaultOfTarget(error, settings.topic);
      }
      return done();
    },
  });
}

function settingsOf({ parameters }: HandlerContext): RepublishSettings {
  const read = readRepublish(parameters);
  if (read.kind === 'settings') return read.settings;
  throw targetFault('BAD_PARAMETERS', parameters['topic'] ?? '', read.faults.join('; '));
}

function openWriter(writer: LogWriter | undefined): LogWriter {
  if (writer !== undefined) return writer;
  throw new TidemarkError({
    code: 'NOT_OPEN',
    class: ErrorClass.bug,
    message: 'republish was called before it was opened',
  });
}

interface Copying {
  readonly settings: RepublishSettings;
  readonly context: HandlerContext;
  /** Of the target; known where a copy has no key to be placed by. */
  readonly partitionCount: number | undefined;
}

/** Without its own time: the retention of the target would delete copies of old records at once. */
export function copyOf(event: Event, { settings, context, partitionCount = 1 }: Copying): OutgoingRecord {
  const key = settings.key === 'keep' ? event.key : null;
  const { topic } = settings;
  const copy = { topic, key, value: event.value, headers: headersOf(event, context) };
  if (settings.partition === 'keep') return { ...copy, partition: event.partition };
  // Records without a key stay together as they were.
  return key === null ? { ...copy, partition: event.partition % partitionCount } : copy;
}

const ORIGIN = 'tm_origin_';

/** Those of the record, and ours; ours of an earlier hop are replaced, so that a record does not grow with every hop. */
function headersOf(event: Event, { jobId, rangeId, token }: HandlerContext): RecordHeaders {
  const origin = {
    topic: event.topic,
    ...(event.topicId === undefined ? {} : { topic_id: event.topicId }),
    partition: String(event.partition),
    offset: String(event.offset),
    timestamp: String(event.timestampMs),
    job: jobId,
    range: rangeId,
    token,
  };
  return [
    ...event.headers.filter(([name]) => !name.startsWith(ORIGIN)),
    ...Object.entries(origin).map(([name, text]) => [`${ORIGIN}${name}`, Buffer.from(text)] as const),
  ];
}

/** That the target has not the partition says nothing against the record. */
function asFaultOfTarget(error: unknown, topic: string): unknown {
  if (!(error instanceof TidemarkError) || error.code !== 'PARTITION_INVALID') return error;
  return targetFault('TARGET_PARTITIONS', topic, `${error.message}; cancel the job, or add partitions to the topic`);
}

/** The records are not at fault that a broker hangs: an attempt that runs out of time would count against them. */
async function withPatience(
  work: (signal: AbortSignal) => Promise<void>,
  limits: { readonly settings: RepublishSettings; readonly signal: AbortSignal; readonly patienceMs: number },
): Promise<void> {
  const { settings, signal, patienceMs } = limits;
  const late = new AbortController();
  const isLate = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `topic ${settings.topic} did not take the copies within ${patienceMs} ms`;
    const context = { dependency: `topic ${settings.topic}`, topic: settings.topic };
    isLate.reject(new TidemarkError({ code: 'TARGET_SLOW', class: ErrorClass.unavailable, message, context }));
    late.abort();
  }, patienceMs);
  try {
    await Promise.race([work(AbortSignal.any([signal, late.signal])), isLate.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** A person must change something; until then the chunk waits and no attempt is spent. */
function targetFault(code: string, topic: string, what: string): TidemarkError {
  return new TidemarkError({
    code,
    class: ErrorClass.config,
    message: `republish cannot write to topic ${topic}: ${what}`,
    context: { dependency: `topic ${topic}`, topic },
  });
}
