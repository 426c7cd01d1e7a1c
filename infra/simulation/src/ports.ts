/**
 * The ports of one process: every call goes over its link, and is written into the history where it acts. A variant may
 * stand on either side: `caller` alters what a process asks for, `service` what a service does about it.
 */
import type { Codec } from '@tidemark/contracts';
import type { CursorStore, FloorStore, Leadership, Schedule } from '@tidemark/cursors';
import { jobTopics, type MarkLog } from '@tidemark/jobs';
import type { LogCluster, LogReader, LogWriter, OutgoingRecord, TransactionalWriter } from '@tidemark/log';
import type { WorkerOptions } from '@tidemark/worker';
import type { Link } from './link.ts';
import type { ProcessKind, SimulatedProcess } from './process.ts';
import { around, recordedFloors, recordedStore } from './recording.ts';
import { NAMESPACE, type World } from './world.ts';

export interface Ports {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly floors: FloorStore;
  readonly leadership: Leadership;
}

/** A mistake that the auditor must find: it alters what a process asks for, or what a service does about it. */
export interface Variant {
  /** What the processes of this kind ask for. */
  readonly caller?: (ports: Ports, kind: ProcessKind) => Ports;
  readonly service?: (ports: Ports) => Ports;
  readonly worker?: Pick<WorkerOptions, 'clock'>;
  /** Of the guard. */
  readonly marks?: (marks: MarkLog) => MarkLog;
}

export function portsOf(options: {
  readonly world: World;
  readonly process: SimulatedProcess;
  readonly link: Link;
  readonly services: Ports;
  readonly variant: Variant;
}): Ports {
  const { world, process, link, services, variant } = options;
  const by = process.name;
  const ports: Ports = {
    cluster: linkedCluster(world, by, services.cluster, link),
    codec: {
      ...around(services.codec, (_, __, act) => link.call(act)),
      decodeCached: (bytes) => services.codec.decodeCached(bytes),
    },
    store: around(recordedStore(world, by, services.store), (_, __, act) => link.call(act)),
    schedule: linkedSchedule(services.schedule, link, process),
    floors: around(recordedFloors(world, by, services.floors), (_, __, act) => link.call(act)),
    leadership: around(services.leadership, (_, __, act) => link.call(act)),
  };
  return variant.caller?.(ports, process.kind) ?? ports;
}

export function servicesOf(world: World, variant: Variant): Ports {
  const { cluster, codec, store, schedule, floors, leadership } = world;
  const services: Ports = { cluster, codec, store, schedule, floors, leadership };
  return variant.service?.(services) ?? services;
}

function linkedSchedule(schedule: Schedule, link: Link, process: SimulatedProcess): Schedule {
  const linked = around(schedule, (_, __, act) => link.call(act));
  return {
    ...linked,
    // A wake-up that does not come through is lost, as it may be.
    onWake: (listener) => link.call(() => schedule.onWake(() => process.onTimer(listener)), { once: true }),
  };
}

function linkedCluster(world: World, by: string, cluster: LogCluster, link: Link): LogCluster {
  const { catalog } = cluster;
  const once = { once: true };
  return {
    catalog: {
      describe: (topic) => link.call(() => catalog.describe(topic)),
      offsets: (topic) => link.call(() => catalog.offsets(topic)),
      offsetsAt: (topic, timestampMs) => link.call(() => catalog.offsetsAt(topic, timestampMs)),
      ensure: (spec) => link.call(() => catalog.ensure(spec)),
      settings: (topic, names) => link.call(() => catalog.settings(topic, names)),
      changeSettings: (topic, settings) => link.call(() => catalog.changeSettings(topic, settings)),
      committedOffsets: (group, topic) => link.call(() => catalog.committedOffsets(group, topic)),
      disks: (topics) => link.call(() => catalog.disks(topics)),
      deleteRecordsBefore: (source, offset) =>
        link.call(() => {
          const { topic, partition } = source;
          const cutting = catalog.deleteRecordsBefore(source, offset);
          world.topics.cutBefore(topic, partition, offset);
          world.tell(by, { kind: 'cut', who: 'guard', topic, partition, before: offset });
          return cutting;
        }),
      transactions: catalog.transactions,
      close: () => Promise.resolve(),
    },
    openReader: () => linkedReader(cluster.openReader(), link),
    openWriter: async () => linkedWriter(world, by, await link.call(() => cluster.openWriter(), once), link),
    openTransactionalWriter: async (options) =>
      linkedTransactions(world, by, await link.call(() => cluster.openTransactionalWriter(options), once), link),
    close: () => Promise.resolve(),
  };
}

function linkedReader(reader: LogReader, link: Link): LogReader {
  return { read: (request) => link.call(() => reader.read(request), { once: true }), close: () => reader.close() };
}

function linkedWriter(world: World, by: string, writer: LogWriter, link: Link): LogWriter {
  const append = (records: readonly OutgoingRecord[]): ReturnType<LogWriter['append']> => {
    const appending = writer.append(records);
    for (const record of records) noteDeadLetter(world, by, record);
    return appending;
  };
  return { append: (records) => link.call(() => append(records), { once: true }), close: () => writer.close() };
}

/** After any failure the session is dead, as the port says; whether the commit took effect nobody knows. */
function linkedTransactions(world: World, by: string, writer: TransactionalWriter, link: Link): TransactionalWriter {
  let dead = false;
  return {
    get usable() {
      return !dead && writer.usable;
    },
    async commit(records, behind) {
      try {
        await link.call(
          () => {
            const committing = writer.commit(records, behind);
            // It acts before its promise resolves, and a session that failed is not usable.
            if (writer.usable && records.length > 0) world.durable(by, records);
            return committing;
          },
          { once: true },
        );
      } catch (error) {
        dead = true;
        await writer.close();
        throw error;
      }
    },
    close: () => writer.close(),
  };
}

const OWN = new Set(Object.values(jobTopics(NAMESPACE)));

function noteDeadLetter(world: World, by: string, { topic, headers = [] }: OutgoingRecord): void {
  if (OWN.has(topic)) return;
  const texts = new Map(headers.map(([name, value]) => [name, value?.toString() ?? '']));
  const jobId = texts.get('tm_dlq_job');
  if (jobId === undefined) return;
  const partition = Number(texts.get('tm_dlq_partition'));
  world.tell(by, { kind: 'dead letter', jobId, partition, offset: BigInt(texts.get('tm_dlq_offset') ?? '-1') });
}
