/**
 * Every metric there is. Labels are closed lists, so the number of series is known beforehand: no job id, topic, key or
 * error text is ever a label. Numbers per job are asked of the CLI, which reads the store.
 */
export interface MetricDefinition {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** At most one label. */
  readonly label?: { readonly name: string; readonly values: readonly string[] };
  /** Upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

/** From a handler that only counts to one that waits for a slow service up to the default timeout of 30 s. */
const HANDLER_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30] as const;

export const metricTable = {
  recordsSettled: {
    name: 'tidemark_records_settled_total',
    kind: 'counter',
    help: 'Records whose cursor has passed, by what came of them.',
    label: { name: 'outcome', values: ['ok', 'skipped', 'dead_lettered', 'filtered'] },
  },
  offsetsPassed: {
    name: 'tidemark_offsets_without_record_total',
    kind: 'counter',
    help: 'Offsets passed at which no record was delivered.',
    label: { name: 'cause', values: ['marker', 'compacted', 'lost'] },
  },
  chunksAdvanced: {
    name: 'tidemark_chunks_advanced_total',
    kind: 'counter',
    help: 'Cursor moves that the store accepted.',
  },
  handlerSeconds: {
    name: 'tidemark_handler_seconds',
    kind: 'histogram',
    help: 'Time of one handler attempt.',
    buckets: HANDLER_SECONDS,
  },
  handlerRetries: {
    name: 'tidemark_handler_retries_total',
    kind: 'counter',
    help: 'Handler attempts beyond the first.',
  },
  leasesLost: {
    name: 'tidemark_leases_lost_total',
    kind: 'counter',
    help: 'Leases that ended before their work did.',
    label: { name: 'cause', values: ['fenced', 'untrusted'] },
  },
  slotsBusy: { name: 'tidemark_slots_busy', kind: 'gauge', help: 'Slots of this worker that hold a lease.' },
  relayEvents: { name: 'tidemark_relay_events_total', kind: 'counter', help: 'Outbox rows published.' },
  relayTransactions: {
    name: 'tidemark_relay_transactions_total',
    kind: 'counter',
    help: 'Kafka transactions of the relay by how they ended.',
    label: { name: 'outcome', values: ['committed', 'failed'] },
  },
  relayTransactionsEnded: {
    name: 'tidemark_relay_transactions_ended_total',
    kind: 'counter',
    help: 'Partitions in which a transaction of the relay hung and was ended, by how.',
    label: { name: 'outcome', values: ['committed', 'aborted'] },
  },
  relayLagSeconds: {
    name: 'tidemark_relay_lag_seconds',
    kind: 'gauge',
    help: 'Age of the oldest committed outbox row that is not published; absent while unknown.',
  },
  relayLagRows: {
    name: 'tidemark_relay_lag_rows',
    kind: 'gauge',
    help: 'Committed outbox rows that are not published and do not wait behind a parked key; absent while unknown, and counted up to a million.',
  },
  relayParkedRows: {
    name: 'tidemark_relay_parked_rows',
    kind: 'gauge',
    help: 'Outbox rows that wait with a parked key, its first row counted; absent while unknown.',
  },
  relayParkedKeys: {
    name: 'tidemark_relay_parked_keys',
    kind: 'gauge',
    help: 'Keys of which nothing is sent, because their first waiting row cannot be; absent while this relay does not publish.',
  },
  jobs: {
    name: 'tidemark_jobs',
    kind: 'gauge',
    help: 'Jobs by state, as the distributor knows them.',
    label: {
      name: 'state',
      values: [
        'REQUESTED',
        'PINNING',
        'RUNNING',
        'PAUSING',
        'PAUSED',
        'SUSPENDED',
        'CANCELLING',
        'COMPLETED',
        'CANCELLED',
        'UNRECOVERABLE',
        'REFUSED',
      ],
    },
  },
  checkpointAgeSeconds: {
    name: 'tidemark_checkpoint_age_seconds',
    kind: 'gauge',
    help: 'Age of the last checkpoint round; what a lost store would cost. Absent before the first one.',
  },
  guardPartitions: {
    name: 'tidemark_guard_partitions',
    kind: 'gauge',
    help: 'Guarded partitions (or whole topics) by what the last cycle of the retention guard did.',
    label: {
      name: 'outcome',
      values: ['cut', 'idle', 'held', 'unread', 'incomplete', 'beyond_log', 'refused', 'yielded', 'failed'],
    },
  },
  guardOffsetsCut: {
    name: 'tidemark_guard_offsets_cut_total',
    kind: 'counter',
    help: 'Offsets that the retention guard removed.',
  },
  guardOffsetsHeld: {
    name: 'tidemark_guard_offsets_held',
    kind: 'gauge',
    help: 'Offsets that the policies would remove and that a floor keeps.',
  },
  guardOffsetsRemovedByOthers: {
    name: 'tidemark_guard_offsets_removed_by_others_total',
    kind: 'counter',
    help: 'Offsets that went from guarded topics without the guard, by whether a job or a named group still needed some of them.',
    label: { name: 'needed', values: ['yes', 'no'] },
  },
  guardCycleTimestampSeconds: {
    name: 'tidemark_guard_cycle_timestamp_seconds',
    kind: 'gauge',
    help: 'When the last cycle that could be run had ended. Absent before the first one.',
  },
  guardDiskFullSeconds: {
    name: 'tidemark_guard_disk_full_seconds',
    kind: 'gauge',
    help: 'Until the first disk under a guarded topic is full, as fast as it filled over the last cycles; absent when none fills or it is not known.',
  },
  guardHoldersOverdue: {
    name: 'tidemark_guard_holders_overdue',
    kind: 'gauge',
    help: 'Jobs that hold what the policies would remove for longer than they may.',
  },
  guardFloorsReleased: {
    name: 'tidemark_guard_floors_released_total',
    kind: 'counter',
    help: 'Floors of jobs in a partition that were released because they held for too long.',
  },
  guardDriftingTopics: {
    name: 'tidemark_guard_drifting_topics',
    kind: 'gauge',
    help: 'Guarded topics whose settings let the broker remove records by itself.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricTable = typeof metricTable;
