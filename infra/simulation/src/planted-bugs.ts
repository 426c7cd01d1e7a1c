/**
 * Mistakes that the auditor must find, each made at a wrapped port: the product's code knows nothing of them. A plant is made
 * anew for every simulation, because some remember something.
 */
import { type Codec, type RangeCheckpoint, readRecord, SchemaName, type TruncationMark } from '@tidemark/contracts';
import type { AdvanceAnswer, CursorStore, RangeState } from '@tidemark/cursors';
import { jobTopics, markKey } from '@tidemark/jobs';
import { type Offset, offsetMax, offsetMin, rangeIdOf, toOffset } from '@tidemark/keyspace';
import type { LogCluster, OutgoingRecord, TransactionalWriter } from '@tidemark/log';
import { placeOf } from './audit/ledger.ts';
import type { Ports, Variant } from './ports.ts';
import type { ProcessKind } from './process.ts';
import { NAMESPACE } from './world.ts';

export type Plant = () => Variant;

export const PLANTED_BUGS: Readonly<Record<string, Plant>> = {
  'the cursor passes a record that nobody settled': workers(({ store }) => ({
    store: {
      ...store,
      async advance(request) {
        const { add, to } = request;
        const claimed = await store.claim({ ...request, upTo: toOffset(to + 1n) });
        if (claimed.kind !== 'claimed' || claimed.end <= to) return store.advance(request);
        return store.advance({ ...request, to: toOffset(to + 1n), add: { ...add, ok: add.ok + 1n } });
      },
    },
  })),

  'the token is not checked': services(({ store }) => ({
    store: {
      ...store,
      advance: async (request) => store.advance(await withPresentToken(store, request)),
      claim: async (request) => store.claim(await withPresentToken(store, request)),
      settle: async (request) => store.settle(await withPresentToken(store, request)),
      renew: async (request) => store.renew(await withPresentToken(store, request)),
      release: async (request) => store.release(await withPresentToken(store, request)),
    },
  })),

  'the owner of a range that was cut goes on to its old end': workers(({ store }) => {
    const ends = new Map<string, Offset>();
    const oldEnd = (range: string, end: Offset): Offset => {
      ends.set(range, offsetMax(ends.get(range) ?? end, end));
      return ends.get(range) ?? end;
    };
    return {
      store: {
        ...store,
        async lease(request) {
          const answer = await store.lease(request);
          if (answer.kind === 'granted') ends.set(keyOf(request), answer.end);
          return answer;
        },
        async claim(request) {
          const answer = await store.claim(request);
          if (answer.kind !== 'claimed') return answer;
          const end = oldEnd(keyOf(request), answer.end);
          return { ...answer, end, horizon: offsetMax(answer.horizon, offsetMin(request.upTo, end)) };
        },
        async advance(request): Promise<AdvanceAnswer> {
          const answer = await store.advance(request);
          return answer.kind === 'out of bounds' ? { kind: 'fenced' } : answer;
        },
      },
    };
  }),

  'a range is checkpointed without the one that was cut off it': () => {
    const planned = new Map<string, Set<string>>();
    /** The first transaction with ranges of a job has those that were planned. */
    const withoutChildren = async (codec: Codec, records: readonly OutgoingRecord[]) => {
      const found = await Promise.all(records.map((record) => checkpointIn(codec, record)));
      const isNew = new Set(
        found.flatMap((each) => (each === undefined || planned.has(each.jobId) ? [] : [each.jobId])),
      );
      for (const jobId of isNew) planned.set(jobId, new Set());
      return records.filter((_, index) => {
        const checkpoint = found[index];
        if (checkpoint === undefined) return true;
        const { jobId, partition, start } = checkpoint;
        if (isNew.has(jobId)) planned.get(jobId)?.add(placeOf(partition, start));
        return planned.get(jobId)?.has(placeOf(partition, start)) ?? true;
      });
    };
    return {
      caller: (ports, kind) =>
        kind === 'distributor'
          ? { ...ports, cluster: committing(ports.cluster, (records) => withoutChildren(ports.codec, records)) }
          : ports,
    };
  },

  'a floor is raised to what only the store knows': distributors(({ floors, store }) => ({
    floors: {
      ...floors,
      async raise(request) {
        const ranges = (await store.snapshot(request.holder))?.ranges ?? [];
        const here = ranges.filter(
          ({ partition, status }) => partition === request.place.partition && status === 'open',
        );
        const lowest = here.map(({ cursor }) => toOffset(cursor + 1n)).reduce(offsetMin, NOWHERE);
        return floors.raise({ ...request, to: lowest === NOWHERE ? request.to : lowest });
      },
    },
  })),

  'what is being worked on is not checkpointed': distributors(({ cluster, codec }) => ({
    cluster: committing(cluster, async (records) => {
      const found = await Promise.all(records.map((record) => checkpointIn(codec, record)));
      return records.filter((_, index) => found[index]?.status !== 'open' || found[index].version === 0n);
    }),
  })),

  'one settled record is not counted': distributors(({ codec }) => ({
    codec: {
      ...codec,
      encode: (schema, record) => {
        const { totals } = record as { readonly totals?: { readonly ok: bigint } | null };
        if (schema !== SchemaName.jobState || totals == null || totals.ok === 0n) return codec.encode(schema, record);
        return codec.encode(schema, { ...record, totals: { ...totals, ok: totals.ok - 1n } });
      },
    },
  })),

  'the prefix forgets to park': workers(({ store }) => ({
    store: {
      ...store,
      advance: (request) => {
        const { add } = request;
        return store.advance({ ...request, park: [], add: { ...add, ok: add.ok + add.parked, parked: 0n } });
      },
    },
  })),

  'the horizon is claimed only when the cursor moves': workers(({ store }) => {
    const ends = new Map<string, Offset>();
    return {
      store: {
        ...store,
        async lease(request) {
          const answer = await store.lease(request);
          if (answer.kind === 'granted') ends.set(keyOf(request), answer.end);
          return answer;
        },
        claim: async (request) => {
          const end = ends.get(keyOf(request)) ?? request.upTo;
          return { kind: 'claimed', horizon: offsetMin(request.upTo, end), end };
        },
        async advance(request) {
          await store.claim({ ...request, upTo: request.to });
          return store.advance(request);
        },
      },
    };
  }),

  'a restore puts tokens back as they were': () => {
    let first: Offset | undefined;
    return {
      caller: (ports, kind) =>
        kind === 'distributor'
          ? {
              ...ports,
              store: {
                ...ports.store,
                install: (job) => {
                  first ??= job.epoch;
                  return ports.store.install({ ...job, epoch: first });
                },
              },
            }
          : ports,
    };
  },

  'a mark is only in the store': () => {
    const written = new Map<string, TruncationMark>();
    return {
      marks: (marks) => ({
        ...marks,
        async load(options) {
          const durable = await marks.load(options);
          return { ...durable, marks: new Map([...durable.marks, ...written]) };
        },
        openSession: async () => ({
          write: async (more) => {
            for (const mark of more) written.set(markKey(mark), mark);
          },
          watch: () => Promise.resolve(),
          close: () => Promise.resolve(),
        }),
      }),
    };
  },

  'a job is done while records are parked': distributors(({ store }) => ({
    store: {
      ...store,
      async snapshot(jobId) {
        const look = await store.snapshot(jobId);
        return look && { ...look, ranges: look.ranges.map(withoutParked) };
      },
    },
  })),

  'a restore forgets which offsets were lost': distributors(({ store }) => ({
    store: {
      ...store,
      install: (job) => store.install({ ...job, ranges: job.ranges.map((range) => ({ ...range, passed: [] })) }),
    },
  })),

  'a lost offset is named beside its place': distributors(({ store }) => ({
    store: {
      ...store,
      async snapshot(jobId) {
        const look = await store.snapshot(jobId);
        return look && { ...look, ranges: look.ranges.map(withShiftedLoss) };
      },
    },
  })),

  'a repeated advance is counted twice': () => {
    const moved = new Set<string>();
    const extra = new Map<string, bigint>();
    return {
      service: (ports) => ({
        ...ports,
        store: {
          ...ports.store,
          advance: (request) => {
            const { slot, sequence } = request.call;
            const call = `${slot} ${sequence}`;
            if (moved.has(call)) extra.set(keyOf(request), (extra.get(keyOf(request)) ?? 0n) + request.add.ok);
            moved.add(call);
            return ports.store.advance(request);
          },
          async snapshot(jobId) {
            const look = await ports.store.snapshot(jobId);
            if (look === undefined) return undefined;
            const ranges = look.ranges.map((range) => {
              const more = extra.get(keyOf({ jobId, range })) ?? 0n;
              return { ...range, counters: { ...range.counters, ok: range.counters.ok + more } };
            });
            return { ...look, ranges };
          },
        },
      }),
    };
  },

  'a job that is halted goes on': services(({ store }) => ({
    store: { ...store, setMode: () => Promise.resolve() },
  })),

  'a range is given back as untouched whatever was handed out': workers(({ store }) => ({
    store: { ...store, release: (request) => store.release({ ...request, untouched: true }) },
  })),

  'a worker trusts its lease for ever': () => ({
    worker: { clock: { now: () => ({ monotonicMs: 0, wallMs: 0 }) } },
  }),

  'records of a key are handled at the same time': workers(({ schedule }) => ({
    schedule: {
      ...schedule,
      async propose(request) {
        const { jobs, listedCount } = await schedule.propose(request);
        return { listedCount, jobs: jobs.map((job) => ({ ...job, definition: unordered(job.definition) })) };
      },
    },
  })),

  'a dead letter counts before it is safe': workers(({ cluster }) => ({
    cluster: {
      ...cluster,
      openWriter: async () => ({
        append: async (records) => records.map(({ topic }) => ({ topic, partition: 0, offset: toOffset(0n) })),
        close: () => Promise.resolve(),
      }),
    },
  })),
};

const NOWHERE = toOffset(2n ** 40n);
const CHECKPOINTS = jobTopics(NAMESPACE).checkpoints;

function of(kind: ProcessKind, change: (ports: Ports) => Partial<Ports>): Plant {
  return () => ({ caller: (ports, process) => (process === kind ? { ...ports, ...change(ports) } : ports) });
}

function workers(change: (ports: Ports) => Partial<Ports>): Plant {
  return of('worker', change);
}

function distributors(change: (ports: Ports) => Partial<Ports>): Plant {
  return of('distributor', change);
}

function services(change: (ports: Ports) => Partial<Ports>): Plant {
  return () => ({ service: (ports) => ({ ...ports, ...change(ports) }) });
}

type RangeNamed = Pick<Parameters<CursorStore['lease']>[0], 'jobId' | 'range'>;

function keyOf({ jobId, range }: RangeNamed): string {
  return `${jobId}/${rangeIdOf(range)}`;
}

async function withPresentToken<Request extends RangeNamed>(store: CursorStore, request: Request): Promise<Request> {
  const look = await store.snapshot(request.jobId);
  const range = look?.ranges.find((each) => rangeIdOf(each) === rangeIdOf(request.range));
  return range === undefined ? request : { ...request, token: range.token };
}

function withoutParked(range: RangeState): RangeState {
  if (range.status !== 'open' || range.cursor !== range.end) return range;
  const { ok, parked } = range.counters;
  return { ...range, status: 'done', parked: [], counters: { ...range.counters, ok: ok + parked, parked: 0n } };
}

/** One offset lower, where the range has settled one. */
function withShiftedLoss(range: RangeState): RangeState {
  const [first] = range.passed;
  if (first === undefined || first.first - 1n <= range.start) return range;
  const shifted = { first: toOffset(first.first - 1n), last: toOffset(first.last - 1n) };
  return { ...range, passed: [shifted, ...range.passed.slice(1)] };
}

function unordered(definition: string): string {
  return JSON.stringify({ ...(JSON.parse(definition) as object), ordering: 'none' });
}

/** Transactions hold what is left of their records. */
function committing(
  cluster: LogCluster,
  left: (records: readonly OutgoingRecord[]) => Promise<readonly OutgoingRecord[]>,
): LogCluster {
  return {
    ...cluster,
    async openTransactionalWriter(options) {
      const writer = await cluster.openTransactionalWriter(options);
      const altered: TransactionalWriter = {
        get usable() {
          return writer.usable;
        },
        commit: async (records, behind) => writer.commit(await left(records), behind),
        close: () => writer.close(),
      };
      return altered;
    },
  };
}

async function checkpointIn(codec: Codec, record: OutgoingRecord): Promise<RangeCheckpoint | undefined> {
  if (record.topic !== CHECKPOINTS || record.value === null) return undefined;
  const decoded = codec.decodeCached(record.value) ?? (await codec.decode(record.value));
  return decoded.schema === SchemaName.rangeCheckpoint ? readRecord(decoded, SchemaName.rangeCheckpoint) : undefined;
}
