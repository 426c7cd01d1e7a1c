/** What a seed stands for: logs, jobs, who works on them, and what goes wrong when. */

export interface PartitionPlan {
  readonly batches: readonly BatchPlan[];
  /** One in so many records is compacted away; 0 = none. */
  readonly compactOneIn: number;
}

export interface BatchPlan {
  readonly records: number;
  readonly how: 'plain' | 'committed' | 'aborted';
}

export interface OpenTransactionPlan {
  readonly topic: string;
  readonly partition: number;
  readonly records: number;
  readonly beginMs: number;
  readonly endMs: number;
  readonly commits: boolean;
}

export interface TopicPlan {
  readonly name: string;
  readonly partitions: readonly PartitionPlan[];
  /** More records while jobs run. */
  readonly appends: readonly { readonly atMs: number; readonly partition: number; readonly records: number }[];
  readonly guarded: boolean;
}

export type RecordPlan =
  | { readonly kind: 'done' | 'skip' | 'data' }
  /** Fails, or hangs until its time is over, while the attempt is at most this. */
  | { readonly kind: 'transient' | 'hang'; readonly attempts: number };

export interface JobPlan {
  readonly jobId: string;
  readonly topic: string;
  readonly handler: 'each' | 'batch';
  /** Or when the storm comes, if that is earlier. */
  readonly submitMs: number;
  readonly submitAtStorm: boolean;
  readonly ordering: 'none' | 'partition' | 'key';
  readonly chunkRecords: number;
  readonly rangesPerPartition: number;
  readonly attempts: number;
  readonly parkedMax: number;
  readonly onExhausted: 'dead letter' | 'suspend';
  readonly onLost: 'stop' | 'skip';
  readonly concurrency: number;
  readonly rate: number;
  readonly deadLettersMax: bigint;
  /** Records with other timestamps are filtered; undefined = no bound. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  /** One in so many records is not simply done; 0 = all are. */
  readonly troubleOneIn: number;
  readonly commands: readonly { readonly atMs: number; readonly command: string; readonly force: boolean }[];
  readonly recordPlanOf: (partition: number, offset: bigint) => RecordPlan;
  /** How long the handler takes; 0 = it answers at once. */
  readonly handlerMs: number;
}

export type Calamity =
  | {
      readonly kind: 'kill' | 'terminate';
      readonly atMs: number;
      readonly who: 'worker' | 'distributor' | 'guard';
      readonly backAfterMs: number;
    }
  /** The process stands still and goes on, knowing nothing. */
  | {
      readonly kind: 'freeze';
      readonly atMs: number;
      readonly who: 'worker' | 'distributor' | 'guard';
      readonly forMs: number;
    }
  | { readonly kind: 'empty store' | 'restart store'; readonly atMs: number }
  /** Back to what it was so long ago, in another life. */
  | { readonly kind: 'roll back'; readonly atMs: number; readonly backMs: number }
  | { readonly kind: 'lose schedule'; readonly atMs: number }
  | {
      readonly kind: 'foreign cut';
      readonly atMs: number;
      readonly topic: string;
      readonly partition: number;
      readonly part: number;
    }
  | { readonly kind: 'sink down'; readonly atMs: number; readonly forMs: number }
  /** Somebody cuts a range of a job, at a place between its cursor and its end; the store decides whether it may be cut there. */
  | { readonly kind: 'split'; readonly atMs: number; readonly part: number };

/** Per call of a port, one in so many. */
export interface FaultRates {
  readonly refuseOneIn: number;
  readonly loseReplyOneIn: number;
  readonly duplicateOneIn: number;
  /** Delivered so late that a lease may be over. */
  readonly lateOneIn: number;
  /** Otherwise up to this. */
  readonly latencyMsMax: number;
}

export interface Scenario {
  readonly seed: number;
  readonly topics: readonly TopicPlan[];
  readonly openTransactions: readonly OpenTransactionPlan[];
  readonly jobs: readonly JobPlan[];
  readonly workers: number;
  readonly slots: number;
  readonly leaseTtlMs: number;
  readonly distributors: number;
  /** Distributors that wait for their turn; else they fence each other. */
  readonly standbys: boolean;
  readonly guardEveryMs: number;
  readonly faults: FaultRates;
  readonly calamities: readonly Calamity[];
  /** The guard stands still right before it cuts for the n-th time, and the store is emptied meanwhile; undefined = no such thing. */
  readonly cutStorm: { readonly nth: number; readonly forMs: number } | undefined;
  /** From here on nothing goes wrong. */
  readonly calmMs: number;
}
