/**
 * Generated from schemas/*.avsc by `node libs/contracts/src/generate.ts`. Change the schemas and run it again.
 *
 * long is bigint, bytes are Buffer, a map is a readonly object.
 */

/** What a job may use up before it is suspended. 0 = no limit. */
export interface Budget {
  /** Seconds in state RUNNING. */
  readonly secondsMax: bigint;
  /** Chunks handled. */
  readonly chunksMax: bigint;
  /** Failed attempts: retries and dead letters. */
  readonly failuresMax: bigint;
}

/** Numbers of P10, per range or summed over a job. */
export interface Counters {
  readonly ok: bigint;
  readonly skipped: bigint;
  readonly deadLettered: bigint;
  readonly filtered: bigint;
  readonly markers: bigint;
  readonly compacted: bigint;
  readonly lost: bigint;
  /** Passed by the cursor and not settled yet; 0 at the end. */
  readonly parked: bigint;
  readonly retries: bigint;
  /** Chunks handled to their end. */
  readonly chunks: bigint;
  readonly maybeRedelivered: bigint;
}

/** How far a partition of the jobs topic has been applied; in the same transaction as what it caused. key = jobs-position/<partition>. */
export interface DistributorPosition {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly partition: number;
  readonly nextOffset: bigint;
  readonly atMs: bigint;
}

export interface GuardGroupView {
  readonly group: string;
  /** Where it goes on; null = not known, and everything is held. */
  readonly offset: bigint | null;
}

export interface GuardPartitionView {
  readonly partition: number;
  /** cut, idle, held, unread, incomplete, beyond_log, refused, yielded, failed. */
  readonly outcome: string;
  readonly reason: string;
  /** Below it the policy alone would cut; null = not known. */
  readonly target: bigint | null;
  /** When the policy will reach the lowest floor; null = it has, there is none, or it is not known. */
  readonly policyAtFloorAtMs: bigint | null;
  readonly groups: readonly GuardGroupView[];
}

export interface GuardDiskView {
  readonly broker: number;
  readonly directory: string;
  readonly totalBytes: bigint;
  readonly usableBytes: bigint;
  /** At the growth over the last cycles; null = it does not grow, or was not watched long enough. */
  readonly fullAtMs: bigint | null;
}

/** What the last cycles of a guard make of a topic, for whoever looks: nothing is decided by it. On the marks topic. key = view/topic. */
export interface GuardView {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly topic: string;
  readonly topicId: string;
  /** Who wrote it: host/process. */
  readonly guard: string;
  readonly atMs: bigint;
  readonly partitions: readonly GuardPartitionView[];
  /** Those that hold something of the topic. */
  readonly disks: readonly GuardDiskView[];
}

/** A message of the instant messenger (services/im-fanout): the row of its table as the capture trigger saw it. Registered for the topic of the messages. */
export interface ImMessage {
  readonly id: bigint;
  readonly group_id: bigint;
  readonly sender_id: bigint;
  readonly body: string;
  /** As Postgres writes it in JSON: ISO 8601 with microseconds and a zone. */
  readonly posted_at: string;
  readonly recalled_at: string | null;
}

/** An order to a job that exists. Each id is applied once. */
export interface JobCommand {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly commandId: string;
  /** * with kill = every job that has not ended. */
  readonly jobId: string;
  /** pause | resume | cancel | kill | release (the hold for an audit) */
  readonly command: string;
  readonly reason: string;
  readonly actor: string;
  /** Do not wait for chunks that are being handled. */
  readonly force: boolean;
  /** How long they may take before force applies; 0 = the default of the distributor. */
  readonly deadlineMs: bigint;
  /** With resume: the new budget, counted from the start of the job; null = as before. */
  readonly budget: Budget | null;
  /** With resume: the new cap; -1 = as before. */
  readonly deadLettersMax: bigint;
}

/** One transition of a job, or of a series under the id series:NAME: the audit trail. key = jobId. */
export interface JobEvent {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly jobId: string;
  /** JobRequested JobPinned JobStarted JobPausing JobPaused JobSuspended JobResumed JobCancelling JobCompleted JobCancelled JobUnrecoverable JobRefused JobDuplicateRefused JobCommandRefused JobAuditHoldReleased JobAuditHoldEnded JobFloorReleased JobRemoved; of a series SeriesCreated SeriesRefused SeriesRunOrdered SeriesRunBegun SeriesRunCompleted SeriesRecordsSkipped SeriesRescheduled SeriesStopped SeriesResumed SeriesDeleted SeriesOrderRefused */
  readonly kind: string;
  readonly atMs: bigint;
  readonly actor: string;
  readonly reason: string;
  readonly pin: Pin | null;
  readonly totals: Counters | null;
}

/** A wish for one traversal: which records of a topic go through which handler. Same jobId and same content is the same job. */
export interface JobRequested {
  /** Version of this stored format; a reader refuses a newer one by name. 2 = a hold for an audit or a disorder bound is asked for, which a program that knows only 1 would forget. */
  readonly formatVersion: number;
  readonly jobId: string;
  readonly topic: string;
  readonly handler: string;
  /** Handed to the handler as they are. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Where the window starts: earliest | now | ISO instant with zone | epoch milliseconds | p:offset,... (first offset, included) | after:JOB */
  readonly from: string;
  /** Where it ends: now | ISO instant with zone | epoch milliseconds | p:offset,... (last offset, included) */
  readonly to: string;
  /** With an instant as `to`: no record of a partition is more than this older than one before it, so the window ends before the first one that is that much later than `to`. -1 = nobody says so, and it goes to the end of the log. */
  readonly disorderMs: bigint;
  /** none | partition | key: what must not run at the same time within a chunk. */
  readonly ordering: string;
  /** Records one cursor move may cover. */
  readonly chunkRecords: number;
  readonly chunkBytes: number;
  /** Ranges worked on at the same time, over all workers; 0 = as many as there are. */
  readonly concurrency: number;
  /** Records a second, over all workers; 0 = no limit. */
  readonly rate: number;
  /** Under ordering none a partition may be cut into this many ranges. */
  readonly rangesPerPartition: number;
  /** Handler attempts per record before it is dead-lettered. */
  readonly attempts: number;
  /** dead letter | suspend: what becomes of a record whose attempts are used up. */
  readonly onExhausted: string;
  /** Records of one range that may wait for a later attempt while the cursor goes on. 0 = every attempt in place. */
  readonly parkedMax: number;
  /** More dead letters than this suspend the job. */
  readonly deadLettersMax: bigint;
  /** What the job may use up before it is suspended. */
  readonly budget: Budget;
  /** stop | skip: what to do about records that somebody removed under the job. */
  readonly onLost: string;
  /** How long after its end the log keeps the whole window for an audit; 0 = not. */
  readonly holdForAuditMs: bigint;
  /** Consent to run a handler that is not idempotent. */
  readonly acceptDuplicates: boolean;
  /** Larger goes first. */
  readonly priority: number;
  readonly note: string;
  readonly requestedBy: string;
  /** The series whose run it is; only the distributor says so. */
  readonly series: string;
}

export interface ReleasedFloor {
  readonly partition: number;
  /** It was the hold for the audit, not what the job itself still needed. */
  readonly ofAudit: boolean;
  /** What was still needed from here on may be gone. */
  readonly fromOffset: bigint;
  readonly atMs: bigint;
}

/** The newest durable state of one job; key = jobId. Written and acknowledged before the store acts on it. */
export interface JobState {
  /** Version of this stored format; a reader refuses a newer one by name. 2 = its request asks for a hold or a disorder bound, and it may be written again, which a program that knows only 1 would forget. */
  readonly formatVersion: number;
  readonly jobId: string;
  readonly request: JobRequested;
  /** REQUESTED PINNING RUNNING PAUSING PAUSED SUSPENDED COMPLETED CANCELLING CANCELLED UNRECOVERABLE REFUSED */
  readonly state: string;
  /** Outcome or cause: clean, dead letters, loss, open transaction, ... */
  readonly reason: string;
  readonly pin: Pin | null;
  /** Sum over the ranges, at the end of the job. */
  readonly totals: Counters | null;
  /** Exact intervals that could not be read: where ranges stopped, and what they passed. Fewer offsets than totals.lost when some were only counted. */
  readonly lost: readonly LostOffsets[];
  readonly requestedAtMs: bigint;
  readonly updatedAtMs: bigint;
  /** Place in the jobs topic of the newest request or command applied to this job. */
  readonly lastCommandPartition: number;
  readonly lastCommandOffset: bigint;
  /** As raised by a command; null = as requested. */
  readonly budget: Budget | null;
  /** As raised by a command; -1 = as requested. */
  readonly deadLettersMax: bigint;
  /** Time in RUNNING before updatedAtMs. */
  readonly ranMs: bigint;
  /** When it entered RUNNING last; 0 = it is not in it. */
  readonly runningSinceMs: bigint;
  /** PAUSING, CANCELLING: when chunks that are still being handled are no longer waited for. */
  readonly deadlineAtMs: bigint;
  /** The ids of the newest commands applied to it. */
  readonly commandIds: readonly string[];
  /** Until when the log keeps the whole window for an audit. -1 = the job has not ended; the time of its request begins when it does. 0 = not, or not any more. */
  readonly heldForAuditUntilMs: bigint;
  /** Floors that a guard released because they held the log for too long. */
  readonly releasedFloors: readonly ReleasedFloor[];
}

/** A row or event without a schema of its own: the exact JSON text that the database printed. */
export interface JsonValue {
  readonly json: string;
}

export interface NeededOffsets {
  /** A job, or `group name`. */
  readonly holder: string;
  readonly fromOffset: bigint;
  /** The offset after the last one that is missing. */
  readonly toOffset: bigint;
}

export interface LogRemoval {
  /** The first offset that went. */
  readonly fromOffset: bigint;
  /** Where the log began afterwards. */
  readonly toOffset: bigint;
  /** When a guard noticed. */
  readonly seenAtMs: bigint;
  /** Who still needed some of it, and which; empty when nobody did. */
  readonly needed: readonly NeededOffsets[];
}

export interface FloorRelease {
  /** The job whose floor holds nothing here any more, whatever the store says. */
  readonly holder: string;
  /** Its floor when it was released: what it still needed from here on may go. */
  readonly fromOffset: bigint;
  readonly atMs: bigint;
}

/** What guards have seen of a partition that they do not do themselves: where its log began at their first look, and what others removed since. On the marks topic. key = watch/topic/partition. */
export interface LogWatch {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly topic: string;
  /** Of the incarnation that was looked at. */
  readonly topicId: string;
  readonly partition: number;
  /** Where the log began when a guard looked first; what had gone before is nobody's concern. */
  readonly firstLogStart: bigint;
  /** The newest ones, oldest first. */
  readonly removals: readonly LogRemoval[];
  /** The highest mark beyond which the log once ended: it went back, and nothing is cut by that mark any more. -1 = never. */
  readonly wentBackMark: bigint;
  /** Of jobs that have not ended. */
  readonly releases: readonly FloorRelease[];
  /** Who wrote it: host/process. */
  readonly guard: string;
  readonly atMs: bigint;
}

export interface LostOffsets {
  readonly partition: number;
  readonly first: bigint;
  readonly last: bigint;
}

/** A record that the cursor has passed and that is not settled: it waits for its next attempt. */
export interface ParkedRecord {
  readonly offset: bigint;
  /** Attempts made; 0 = it waits behind an earlier record of its key. */
  readonly attempt: number;
  /** On the store's clock. */
  readonly dueAtMs: bigint;
  /** transient | timeout | queued */
  readonly faultClass: string;
  /** First 64 bits of a hash of the key, as hex, under ordering key; else empty. */
  readonly keyHash: string;
}

export interface PinnedPartition {
  readonly partition: number;
  /** Excluded; -1 = before the first record. */
  readonly start: bigint;
  /** Included. */
  readonly end: bigint;
  readonly logStartOffset: bigint;
  readonly highWatermark: bigint;
  /** What was asked for and could not be had; empty if nothing. */
  readonly clamped: string;
}

export interface UnsentKey {
  readonly key: string;
  /** Of its first row in the outbox that waits. */
  readonly position: bigint;
  readonly reason: string;
}

/** The window, fixed: start < offset <= end per partition. */
export interface Pin {
  readonly pinnedAtMs: bigint;
  readonly topicId: string;
  readonly partitions: readonly PinnedPartition[];
  /** Keys of the topic that waited unsent in the outbox at the pin: their rows are not in the window. */
  readonly unsentKeys: bigint;
  /** The first of them. */
  readonly unsent: readonly UnsentKey[];
}

/** A whole range as the store had it. key = jobId/partition/start. */
export interface RangeCheckpoint {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly jobId: string;
  readonly partition: number;
  readonly start: bigint;
  readonly cursor: bigint;
  readonly horizon: bigint;
  /** open | done | stopped */
  readonly status: string;
  readonly note: string;
  readonly counters: Counters;
  /** What a worker named when it stopped the range; in no counter. */
  readonly lost: readonly LostOffsets[];
  /** Lost offsets that the cursor passed or that were parked, in offset order: the places of counters.lost, as far as they were kept. */
  readonly passed: readonly LostOffsets[];
  /** In offset order. */
  readonly parked: readonly ParkedRecord[];
  readonly token: string;
  readonly version: bigint;
  readonly atMs: bigint;
}

/** The row at the position cannot be sent: it and the later rows of its key wait in the outbox. */
export interface ParkedKey {
  readonly topic: string;
  readonly key: string;
  /** Of the first row that waits; those of the key below it are published. */
  readonly position: bigint;
  /** That the row is of; empty when it was published by hand. */
  readonly table: string;
  readonly type: string;
  /** Of key and payload in the outbox. */
  readonly bytes: bigint;
  readonly reason: string;
  readonly parkedAtMs: bigint;
  /** When it was last tried in vain. */
  readonly triedAtMs: bigint;
}

/** How far the outbox has been projected; in the same transaction as the events. key = relay name. */
export interface RelayPosition {
  /** Version of this stored format; a reader refuses a newer one by name. 2 = keys are parked, which a program that knows only 1 would forget. */
  readonly formatVersion: number;
  readonly relay: string;
  /** pg_snapshot text: everything visible in it is published. */
  readonly snapshot: string;
  /** pg_snapshot text of a window begun but not finished; empty between windows. */
  readonly nextSnapshot: string;
  /** Highest outbox position of that window which is published; 0 between windows. */
  readonly place: bigint;
  readonly walInsertLsn: string;
  readonly systemIdentifier: string;
  readonly timeline: number;
  /** Topics published to, with the partition count that keys were spread over. */
  readonly partitionCounts: Readonly<Record<string, number>>;
  readonly partitioner: string;
  /** Keys of which nothing is sent for now. Their rows count as passed by the snapshot and are not published. */
  readonly parked: readonly ParkedKey[];
  readonly atMs: bigint;
}

/** What a series does, and when. Same name and same content is the same series. */
export interface SeriesDefinition {
  /** What every run asks for; its jobId is the name of the series, its from is where the first run starts. */
  readonly request: JobRequested;
  /** When runs are due, as five cron fields; empty = by everyMs. */
  readonly cron: string;
  /** IANA time zone of the cron fields. */
  readonly zone: string;
  /** Without cron: a run is due each so many milliseconds, counted from the creation. */
  readonly everyMs: bigint;
}

/** A wish about a series, on the jobs topic; key = series/NAME. Each id is applied once. */
export interface SeriesOrder {
  /** Version of this stored format; a reader refuses a newer one by name. 2 = runs with a hold for an audit or a disorder bound are asked for, which a program that knows only 1 would forget. */
  readonly formatVersion: number;
  readonly orderId: string;
  /** Its name. */
  readonly series: string;
  /** create | run | resume | delete */
  readonly order: string;
  /** With create. */
  readonly definition: SeriesDefinition | null;
  readonly reason: string;
  readonly actor: string;
}

/** How far a series has come in one partition. */
export interface SeriesPartition {
  readonly partition: number;
  /** The last offset of the newest window: the next one begins right after it. */
  readonly end: bigint;
}

/** The newest durable state of one series, beside the states of jobs; key = series/NAME, which no job id can be. */
export interface SeriesState {
  /** Version of this stored format; a reader refuses a newer one by name. 2 = its runs ask for a hold for an audit or a disorder bound, which a program that knows only 1 would forget. */
  readonly formatVersion: number;
  readonly series: string;
  readonly definition: SeriesDefinition;
  /** ACTIVE STOPPED DELETED REFUSED */
  readonly status: string;
  /** Why it is stopped, refused or deleted. */
  readonly reason: string;
  readonly topicId: string;
  /** Those seen so far; a partition that is missing is covered from its beginning by the next run. */
  readonly partitions: readonly SeriesPartition[];
  /** The number of the newest run: its job id is NAME-number. */
  readonly runs: bigint;
  /** Job id of the run that has not ended; empty = none. */
  readonly liveRun: string;
  /** When the next run is due. */
  readonly dueAtMs: bigint;
  /** When the newest window was fixed, also one that was empty and made no run; 0 = never. */
  readonly lookedAtMs: bigint;
  readonly createdAtMs: bigint;
  readonly updatedAtMs: bigint;
  /** The ids of the newest orders that were answered. */
  readonly orderIds: readonly string[];
}

/** Written before the cursor store is filled; its offset is the leading part of every token granted after. key = epoch. */
export interface StoreEpoch {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly incarnation: string;
  readonly distributor: string;
  readonly atMs: bigint;
}

/** Nothing below the offset is promised to anybody any more; durable before records are deleted. key = topic/partition. */
export interface TruncationMark {
  /** Version of this stored format; a reader refuses a newer one by name. */
  readonly formatVersion: number;
  readonly topic: string;
  /** Of the incarnation that the mark is about; it means nothing for a recreated topic. */
  readonly topicId: string;
  readonly partition: number;
  /** The lowest offset that may still be needed. */
  readonly offset: bigint;
  /** Who wrote it: host/process. */
  readonly guard: string;
  readonly atMs: bigint;
}

/** Full name -> record. */
export interface RecordsByName {
  'dev.tidemark.Budget': Budget;
  'dev.tidemark.Counters': Counters;
  'dev.tidemark.DistributorPosition': DistributorPosition;
  'dev.tidemark.GuardView': GuardView;
  'dev.tidemark.ImMessage': ImMessage;
  'dev.tidemark.JobCommand': JobCommand;
  'dev.tidemark.JobEvent': JobEvent;
  'dev.tidemark.JobRequested': JobRequested;
  'dev.tidemark.JobState': JobState;
  'dev.tidemark.JsonValue': JsonValue;
  'dev.tidemark.LogWatch': LogWatch;
  'dev.tidemark.LostOffsets': LostOffsets;
  'dev.tidemark.ParkedRecord': ParkedRecord;
  'dev.tidemark.Pin': Pin;
  'dev.tidemark.RangeCheckpoint': RangeCheckpoint;
  'dev.tidemark.RelayPosition': RelayPosition;
  'dev.tidemark.SeriesDefinition': SeriesDefinition;
  'dev.tidemark.SeriesOrder': SeriesOrder;
  'dev.tidemark.SeriesPartition': SeriesPartition;
  'dev.tidemark.SeriesState': SeriesState;
  'dev.tidemark.StoreEpoch': StoreEpoch;
  'dev.tidemark.TruncationMark': TruncationMark;
}

/** Full name -> Avro schema, everything it refers to written out. */
export const schemaTexts: Readonly<Record<keyof RecordsByName, string>> = {
  'dev.tidemark.Budget':
    '{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]}',
  'dev.tidemark.Counters':
    '{"type":"record","name":"Counters","namespace":"dev.tidemark","doc":"Numbers of P10, per range or summed over a job.","fields":[{"name":"ok","type":"long","default":0},{"name":"skipped","type":"long","default":0},{"name":"deadLettered","type":"long","default":0},{"name":"filtered","type":"long","default":0},{"name":"markers","type":"long","default":0},{"name":"compacted","type":"long","default":0},{"name":"lost","type":"long","default":0},{"name":"parked","type":"long","doc":"Passed by the cursor and not settled yet; 0 at the end.","default":0},{"name":"retries","type":"long","default":0},{"name":"chunks","type":"long","doc":"Chunks handled to their end.","default":0},{"name":"maybeRedelivered","type":"long","default":0}]}',
  'dev.tidemark.DistributorPosition':
    '{"type":"record","name":"DistributorPosition","namespace":"dev.tidemark","doc":"How far a partition of the jobs topic has been applied; in the same transaction as what it caused. key = jobs-position/<partition>.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"partition","type":"int"},{"name":"nextOffset","type":"long"},{"name":"atMs","type":"long"}]}',
  'dev.tidemark.GuardView':
    '{"type":"record","name":"GuardView","namespace":"dev.tidemark","doc":"What the last cycles of a guard make of a topic, for whoever looks: nothing is decided by it. On the marks topic. key = view/topic.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"topic","type":"string"},{"name":"topicId","type":"string"},{"name":"guard","type":"string","doc":"Who wrote it: host/process."},{"name":"atMs","type":"long"},{"name":"partitions","type":{"type":"array","items":{"type":"record","name":"GuardPartitionView","fields":[{"name":"partition","type":"int"},{"name":"outcome","type":"string","doc":"cut, idle, held, unread, incomplete, beyond_log, refused, yielded, failed."},{"name":"reason","type":"string"},{"name":"target","type":["null","long"],"doc":"Below it the policy alone would cut; null = not known.","default":null},{"name":"policyAtFloorAtMs","type":["null","long"],"doc":"When the policy will reach the lowest floor; null = it has, there is none, or it is not known.","default":null},{"name":"groups","type":{"type":"array","items":{"type":"record","name":"GuardGroupView","fields":[{"name":"group","type":"string"},{"name":"offset","type":["null","long"],"doc":"Where it goes on; null = not known, and everything is held.","default":null}]}},"default":[]}]}}},{"name":"disks","type":{"type":"array","items":{"type":"record","name":"GuardDiskView","fields":[{"name":"broker","type":"int"},{"name":"directory","type":"string"},{"name":"totalBytes","type":"long"},{"name":"usableBytes","type":"long"},{"name":"fullAtMs","type":["null","long"],"doc":"At the growth over the last cycles; null = it does not grow, or was not watched long enough.","default":null}]}},"doc":"Those that hold something of the topic.","default":[]}]}',
  'dev.tidemark.ImMessage':
    '{"type":"record","name":"ImMessage","namespace":"dev.tidemark","doc":"A message of the instant messenger (services/im-fanout): the row of its table as the capture trigger saw it. Registered for the topic of the messages.","fields":[{"name":"id","type":"long"},{"name":"group_id","type":"long"},{"name":"sender_id","type":"long"},{"name":"body","type":"string"},{"name":"posted_at","type":"string","doc":"As Postgres writes it in JSON: ISO 8601 with microseconds and a zone."},{"name":"recalled_at","type":["null","string"],"default":null}]}',
  'dev.tidemark.JobCommand':
    '{"type":"record","name":"JobCommand","namespace":"dev.tidemark","doc":"An order to a job that exists. Each id is applied once.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"commandId","type":"string"},{"name":"jobId","type":"string","doc":"* with kill = every job that has not ended."},{"name":"command","type":"string","doc":"pause | resume | cancel | kill | release (the hold for an audit)"},{"name":"reason","type":"string","default":""},{"name":"actor","type":"string","default":""},{"name":"force","type":"boolean","doc":"Do not wait for chunks that are being handled.","default":false},{"name":"deadlineMs","type":"long","doc":"How long they may take before force applies; 0 = the default of the distributor.","default":0},{"name":"budget","type":["null",{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]}],"doc":"With resume: the new budget, counted from the start of the job; null = as before.","default":null},{"name":"deadLettersMax","type":"long","doc":"With resume: the new cap; -1 = as before.","default":-1}]}',
  'dev.tidemark.JobEvent':
    '{"type":"record","name":"JobEvent","namespace":"dev.tidemark","doc":"One transition of a job, or of a series under the id series:NAME: the audit trail. key = jobId.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"jobId","type":"string"},{"name":"kind","type":"string","doc":"JobRequested JobPinned JobStarted JobPausing JobPaused JobSuspended JobResumed JobCancelling JobCompleted JobCancelled JobUnrecoverable JobRefused JobDuplicateRefused JobCommandRefused JobAuditHoldReleased JobAuditHoldEnded JobFloorReleased JobRemoved; of a series SeriesCreated SeriesRefused SeriesRunOrdered SeriesRunBegun SeriesRunCompleted SeriesRecordsSkipped SeriesRescheduled SeriesStopped SeriesResumed SeriesDeleted SeriesOrderRefused"},{"name":"atMs","type":"long"},{"name":"actor","type":"string","default":""},{"name":"reason","type":"string","default":""},{"name":"pin","type":["null",{"type":"record","name":"Pin","namespace":"dev.tidemark","doc":"The window, fixed: start < offset <= end per partition.","fields":[{"name":"pinnedAtMs","type":"long"},{"name":"topicId","type":"string"},{"name":"partitions","type":{"type":"array","items":{"type":"record","name":"PinnedPartition","fields":[{"name":"partition","type":"int"},{"name":"start","type":"long","doc":"Excluded; -1 = before the first record."},{"name":"end","type":"long","doc":"Included."},{"name":"logStartOffset","type":"long"},{"name":"highWatermark","type":"long"},{"name":"clamped","type":"string","doc":"What was asked for and could not be had; empty if nothing.","default":""}]}}},{"name":"unsentKeys","type":"long","doc":"Keys of the topic that waited unsent in the outbox at the pin: their rows are not in the window.","default":0},{"name":"unsent","type":{"type":"array","items":{"type":"record","name":"UnsentKey","fields":[{"name":"key","type":"string"},{"name":"position","type":"long","doc":"Of its first row in the outbox that waits."},{"name":"reason","type":"string"}]}},"doc":"The first of them.","default":[]}]}],"default":null},{"name":"totals","type":["null",{"type":"record","name":"Counters","namespace":"dev.tidemark","doc":"Numbers of P10, per range or summed over a job.","fields":[{"name":"ok","type":"long","default":0},{"name":"skipped","type":"long","default":0},{"name":"deadLettered","type":"long","default":0},{"name":"filtered","type":"long","default":0},{"name":"markers","type":"long","default":0},{"name":"compacted","type":"long","default":0},{"name":"lost","type":"long","default":0},{"name":"parked","type":"long","doc":"Passed by the cursor and not settled yet; 0 at the end.","default":0},{"name":"retries","type":"long","default":0},{"name":"chunks","type":"long","doc":"Chunks handled to their end.","default":0},{"name":"maybeRedelivered","type":"long","default":0}]}],"default":null}]}',
  'dev.tidemark.JobRequested':
    '{"type":"record","name":"JobRequested","namespace":"dev.tidemark","doc":"A wish for one traversal: which records of a topic go through which handler. Same jobId and same content is the same job.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = a hold for an audit or a disorder bound is asked for, which a program that knows only 1 would forget.","default":1},{"name":"jobId","type":"string"},{"name":"topic","type":"string"},{"name":"handler","type":"string"},{"name":"parameters","type":{"type":"map","values":"string"},"doc":"Handed to the handler as they are.","default":{}},{"name":"from","type":"string","doc":"Where the window starts: earliest | now | ISO instant with zone | epoch milliseconds | p:offset,... (first offset, included) | after:JOB","default":"earliest"},{"name":"to","type":"string","doc":"Where it ends: now | ISO instant with zone | epoch milliseconds | p:offset,... (last offset, included)","default":"now"},{"name":"disorderMs","type":"long","doc":"With an instant as `to`: no record of a partition is more than this older than one before it, so the window ends before the first one that is that much later than `to`. -1 = nobody says so, and it goes to the end of the log.","default":-1},{"name":"ordering","type":"string","doc":"none | partition | key: what must not run at the same time within a chunk.","default":"none"},{"name":"chunkRecords","type":"int","doc":"Records one cursor move may cover.","default":1000},{"name":"chunkBytes","type":"int","default":1048576},{"name":"concurrency","type":"int","doc":"Ranges worked on at the same time, over all workers; 0 = as many as there are.","default":0},{"name":"rate","type":"int","doc":"Records a second, over all workers; 0 = no limit.","default":0},{"name":"rangesPerPartition","type":"int","doc":"Under ordering none a partition may be cut into this many ranges.","default":1},{"name":"attempts","type":"int","doc":"Handler attempts per record before it is dead-lettered.","default":5},{"name":"onExhausted","type":"string","doc":"dead letter | suspend: what becomes of a record whose attempts are used up.","default":"dead letter"},{"name":"parkedMax","type":"int","doc":"Records of one range that may wait for a later attempt while the cursor goes on. 0 = every attempt in place.","default":1000},{"name":"deadLettersMax","type":"long","doc":"More dead letters than this suspend the job.","default":10000},{"name":"budget","type":{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]},"doc":"What the job may use up before it is suspended.","default":{}},{"name":"onLost","type":"string","doc":"stop | skip: what to do about records that somebody removed under the job.","default":"stop"},{"name":"holdForAuditMs","type":"long","doc":"How long after its end the log keeps the whole window for an audit; 0 = not.","default":0},{"name":"acceptDuplicates","type":"boolean","doc":"Consent to run a handler that is not idempotent.","default":false},{"name":"priority","type":"int","doc":"Larger goes first.","default":0},{"name":"note","type":"string","default":""},{"name":"requestedBy","type":"string","default":""},{"name":"series","type":"string","doc":"The series whose run it is; only the distributor says so.","default":""}]}',
  'dev.tidemark.JobState':
    '{"type":"record","name":"JobState","namespace":"dev.tidemark","doc":"The newest durable state of one job; key = jobId. Written and acknowledged before the store acts on it.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = its request asks for a hold or a disorder bound, and it may be written again, which a program that knows only 1 would forget.","default":1},{"name":"jobId","type":"string"},{"name":"request","type":{"type":"record","name":"JobRequested","namespace":"dev.tidemark","doc":"A wish for one traversal: which records of a topic go through which handler. Same jobId and same content is the same job.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = a hold for an audit or a disorder bound is asked for, which a program that knows only 1 would forget.","default":1},{"name":"jobId","type":"string"},{"name":"topic","type":"string"},{"name":"handler","type":"string"},{"name":"parameters","type":{"type":"map","values":"string"},"doc":"Handed to the handler as they are.","default":{}},{"name":"from","type":"string","doc":"Where the window starts: earliest | now | ISO instant with zone | epoch milliseconds | p:offset,... (first offset, included) | after:JOB","default":"earliest"},{"name":"to","type":"string","doc":"Where it ends: now | ISO instant with zone | epoch milliseconds | p:offset,... (last offset, included)","default":"now"},{"name":"disorderMs","type":"long","doc":"With an instant as `to`: no record of a partition is more than this older than one before it, so the window ends before the first one that is that much later than `to`. -1 = nobody says so, and it goes to the end of the log.","default":-1},{"name":"ordering","type":"string","doc":"none | partition | key: what must not run at the same time within a chunk.","default":"none"},{"name":"chunkRecords","type":"int","doc":"Records one cursor move may cover.","default":1000},{"name":"chunkBytes","type":"int","default":1048576},{"name":"concurrency","type":"int","doc":"Ranges worked on at the same time, over all workers; 0 = as many as there are.","default":0},{"name":"rate","type":"int","doc":"Records a second, over all workers; 0 = no limit.","default":0},{"name":"rangesPerPartition","type":"int","doc":"Under ordering none a partition may be cut into this many ranges.","default":1},{"name":"attempts","type":"int","doc":"Handler attempts per record before it is dead-lettered.","default":5},{"name":"onExhausted","type":"string","doc":"dead letter | suspend: what becomes of a record whose attempts are used up.","default":"dead letter"},{"name":"parkedMax","type":"int","doc":"Records of one range that may wait for a later attempt while the cursor goes on. 0 = every attempt in place.","default":1000},{"name":"deadLettersMax","type":"long","doc":"More dead letters than this suspend the job.","default":10000},{"name":"budget","type":{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]},"doc":"What the job may use up before it is suspended.","default":{}},{"name":"onLost","type":"string","doc":"stop | skip: what to do about records that somebody removed under the job.","default":"stop"},{"name":"holdForAuditMs","type":"long","doc":"How long after its end the log keeps the whole window for an audit; 0 = not.","default":0},{"name":"acceptDuplicates","type":"boolean","doc":"Consent to run a handler that is not idempotent.","default":false},{"name":"priority","type":"int","doc":"Larger goes first.","default":0},{"name":"note","type":"string","default":""},{"name":"requestedBy","type":"string","default":""},{"name":"series","type":"string","doc":"The series whose run it is; only the distributor says so.","default":""}]}},{"name":"state","type":"string","doc":"REQUESTED PINNING RUNNING PAUSING PAUSED SUSPENDED COMPLETED CANCELLING CANCELLED UNRECOVERABLE REFUSED"},{"name":"reason","type":"string","doc":"Outcome or cause: clean, dead letters, loss, open transaction, ...","default":""},{"name":"pin","type":["null",{"type":"record","name":"Pin","namespace":"dev.tidemark","doc":"The window, fixed: start < offset <= end per partition.","fields":[{"name":"pinnedAtMs","type":"long"},{"name":"topicId","type":"string"},{"name":"partitions","type":{"type":"array","items":{"type":"record","name":"PinnedPartition","fields":[{"name":"partition","type":"int"},{"name":"start","type":"long","doc":"Excluded; -1 = before the first record."},{"name":"end","type":"long","doc":"Included."},{"name":"logStartOffset","type":"long"},{"name":"highWatermark","type":"long"},{"name":"clamped","type":"string","doc":"What was asked for and could not be had; empty if nothing.","default":""}]}}},{"name":"unsentKeys","type":"long","doc":"Keys of the topic that waited unsent in the outbox at the pin: their rows are not in the window.","default":0},{"name":"unsent","type":{"type":"array","items":{"type":"record","name":"UnsentKey","fields":[{"name":"key","type":"string"},{"name":"position","type":"long","doc":"Of its first row in the outbox that waits."},{"name":"reason","type":"string"}]}},"doc":"The first of them.","default":[]}]}],"default":null},{"name":"totals","type":["null",{"type":"record","name":"Counters","namespace":"dev.tidemark","doc":"Numbers of P10, per range or summed over a job.","fields":[{"name":"ok","type":"long","default":0},{"name":"skipped","type":"long","default":0},{"name":"deadLettered","type":"long","default":0},{"name":"filtered","type":"long","default":0},{"name":"markers","type":"long","default":0},{"name":"compacted","type":"long","default":0},{"name":"lost","type":"long","default":0},{"name":"parked","type":"long","doc":"Passed by the cursor and not settled yet; 0 at the end.","default":0},{"name":"retries","type":"long","default":0},{"name":"chunks","type":"long","doc":"Chunks handled to their end.","default":0},{"name":"maybeRedelivered","type":"long","default":0}]}],"doc":"Sum over the ranges, at the end of the job.","default":null},{"name":"lost","type":{"type":"array","items":{"type":"record","name":"LostOffsets","namespace":"dev.tidemark","fields":[{"name":"partition","type":"int"},{"name":"first","type":"long"},{"name":"last","type":"long"}]}},"doc":"Exact intervals that could not be read: where ranges stopped, and what they passed. Fewer offsets than totals.lost when some were only counted.","default":[]},{"name":"requestedAtMs","type":"long"},{"name":"updatedAtMs","type":"long"},{"name":"lastCommandPartition","type":"int","doc":"Place in the jobs topic of the newest request or command applied to this job."},{"name":"lastCommandOffset","type":"long"},{"name":"budget","type":["null","dev.tidemark.Budget"],"doc":"As raised by a command; null = as requested.","default":null},{"name":"deadLettersMax","type":"long","doc":"As raised by a command; -1 = as requested.","default":-1},{"name":"ranMs","type":"long","doc":"Time in RUNNING before updatedAtMs.","default":0},{"name":"runningSinceMs","type":"long","doc":"When it entered RUNNING last; 0 = it is not in it.","default":0},{"name":"deadlineAtMs","type":"long","doc":"PAUSING, CANCELLING: when chunks that are still being handled are no longer waited for.","default":0},{"name":"commandIds","type":{"type":"array","items":"string"},"doc":"The ids of the newest commands applied to it.","default":[]},{"name":"heldForAuditUntilMs","type":"long","doc":"Until when the log keeps the whole window for an audit. -1 = the job has not ended; the time of its request begins when it does. 0 = not, or not any more.","default":0},{"name":"releasedFloors","type":{"type":"array","items":{"type":"record","name":"ReleasedFloor","fields":[{"name":"partition","type":"int"},{"name":"ofAudit","type":"boolean","doc":"It was the hold for the audit, not what the job itself still needed.","default":false},{"name":"fromOffset","type":"long","doc":"What was still needed from here on may be gone."},{"name":"atMs","type":"long"}]}},"doc":"Floors that a guard released because they held the log for too long.","default":[]}]}',
  'dev.tidemark.JsonValue':
    '{"type":"record","name":"JsonValue","namespace":"dev.tidemark","doc":"A row or event without a schema of its own: the exact JSON text that the database printed.","fields":[{"name":"json","type":"string"}]}',
  'dev.tidemark.LogWatch':
    '{"type":"record","name":"LogWatch","namespace":"dev.tidemark","doc":"What guards have seen of a partition that they do not do themselves: where its log began at their first look, and what others removed since. On the marks topic. key = watch/topic/partition.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"topic","type":"string"},{"name":"topicId","type":"string","doc":"Of the incarnation that was looked at."},{"name":"partition","type":"int"},{"name":"firstLogStart","type":"long","doc":"Where the log began when a guard looked first; what had gone before is nobody\'s concern."},{"name":"removals","type":{"type":"array","items":{"type":"record","name":"LogRemoval","fields":[{"name":"fromOffset","type":"long","doc":"The first offset that went."},{"name":"toOffset","type":"long","doc":"Where the log began afterwards."},{"name":"seenAtMs","type":"long","doc":"When a guard noticed."},{"name":"needed","type":{"type":"array","items":{"type":"record","name":"NeededOffsets","fields":[{"name":"holder","type":"string","doc":"A job, or `group name`."},{"name":"fromOffset","type":"long"},{"name":"toOffset","type":"long","doc":"The offset after the last one that is missing."}]}},"doc":"Who still needed some of it, and which; empty when nobody did."}]}},"doc":"The newest ones, oldest first."},{"name":"wentBackMark","type":"long","doc":"The highest mark beyond which the log once ended: it went back, and nothing is cut by that mark any more. -1 = never.","default":-1},{"name":"releases","type":{"type":"array","items":{"type":"record","name":"FloorRelease","fields":[{"name":"holder","type":"string","doc":"The job whose floor holds nothing here any more, whatever the store says."},{"name":"fromOffset","type":"long","doc":"Its floor when it was released: what it still needed from here on may go."},{"name":"atMs","type":"long"}]}},"doc":"Of jobs that have not ended.","default":[]},{"name":"guard","type":"string","doc":"Who wrote it: host/process."},{"name":"atMs","type":"long"}]}',
  'dev.tidemark.LostOffsets':
    '{"type":"record","name":"LostOffsets","namespace":"dev.tidemark","fields":[{"name":"partition","type":"int"},{"name":"first","type":"long"},{"name":"last","type":"long"}]}',
  'dev.tidemark.ParkedRecord':
    '{"type":"record","name":"ParkedRecord","namespace":"dev.tidemark","doc":"A record that the cursor has passed and that is not settled: it waits for its next attempt.","fields":[{"name":"offset","type":"long"},{"name":"attempt","type":"int","doc":"Attempts made; 0 = it waits behind an earlier record of its key."},{"name":"dueAtMs","type":"long","doc":"On the store\'s clock."},{"name":"faultClass","type":"string","doc":"transient | timeout | queued"},{"name":"keyHash","type":"string","doc":"First 64 bits of a hash of the key, as hex, under ordering key; else empty.","default":""}]}',
  'dev.tidemark.Pin':
    '{"type":"record","name":"Pin","namespace":"dev.tidemark","doc":"The window, fixed: start < offset <= end per partition.","fields":[{"name":"pinnedAtMs","type":"long"},{"name":"topicId","type":"string"},{"name":"partitions","type":{"type":"array","items":{"type":"record","name":"PinnedPartition","fields":[{"name":"partition","type":"int"},{"name":"start","type":"long","doc":"Excluded; -1 = before the first record."},{"name":"end","type":"long","doc":"Included."},{"name":"logStartOffset","type":"long"},{"name":"highWatermark","type":"long"},{"name":"clamped","type":"string","doc":"What was asked for and could not be had; empty if nothing.","default":""}]}}},{"name":"unsentKeys","type":"long","doc":"Keys of the topic that waited unsent in the outbox at the pin: their rows are not in the window.","default":0},{"name":"unsent","type":{"type":"array","items":{"type":"record","name":"UnsentKey","fields":[{"name":"key","type":"string"},{"name":"position","type":"long","doc":"Of its first row in the outbox that waits."},{"name":"reason","type":"string"}]}},"doc":"The first of them.","default":[]}]}',
  'dev.tidemark.RangeCheckpoint':
    '{"type":"record","name":"RangeCheckpoint","namespace":"dev.tidemark","doc":"A whole range as the store had it. key = jobId/partition/start.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"jobId","type":"string"},{"name":"partition","type":"int"},{"name":"start","type":"long"},{"name":"cursor","type":"long"},{"name":"horizon","type":"long"},{"name":"status","type":"string","doc":"open | done | stopped"},{"name":"note","type":"string","default":""},{"name":"counters","type":{"type":"record","name":"Counters","namespace":"dev.tidemark","doc":"Numbers of P10, per range or summed over a job.","fields":[{"name":"ok","type":"long","default":0},{"name":"skipped","type":"long","default":0},{"name":"deadLettered","type":"long","default":0},{"name":"filtered","type":"long","default":0},{"name":"markers","type":"long","default":0},{"name":"compacted","type":"long","default":0},{"name":"lost","type":"long","default":0},{"name":"parked","type":"long","doc":"Passed by the cursor and not settled yet; 0 at the end.","default":0},{"name":"retries","type":"long","default":0},{"name":"chunks","type":"long","doc":"Chunks handled to their end.","default":0},{"name":"maybeRedelivered","type":"long","default":0}]}},{"name":"lost","type":{"type":"array","items":{"type":"record","name":"LostOffsets","namespace":"dev.tidemark","fields":[{"name":"partition","type":"int"},{"name":"first","type":"long"},{"name":"last","type":"long"}]}},"doc":"What a worker named when it stopped the range; in no counter.","default":[]},{"name":"passed","type":{"type":"array","items":"dev.tidemark.LostOffsets"},"doc":"Lost offsets that the cursor passed or that were parked, in offset order: the places of counters.lost, as far as they were kept.","default":[]},{"name":"parked","type":{"type":"array","items":{"type":"record","name":"ParkedRecord","namespace":"dev.tidemark","doc":"A record that the cursor has passed and that is not settled: it waits for its next attempt.","fields":[{"name":"offset","type":"long"},{"name":"attempt","type":"int","doc":"Attempts made; 0 = it waits behind an earlier record of its key."},{"name":"dueAtMs","type":"long","doc":"On the store\'s clock."},{"name":"faultClass","type":"string","doc":"transient | timeout | queued"},{"name":"keyHash","type":"string","doc":"First 64 bits of a hash of the key, as hex, under ordering key; else empty.","default":""}]}},"doc":"In offset order.","default":[]},{"name":"token","type":"string","default":""},{"name":"version","type":"long"},{"name":"atMs","type":"long"}]}',
  'dev.tidemark.RelayPosition':
    '{"type":"record","name":"RelayPosition","namespace":"dev.tidemark","doc":"How far the outbox has been projected; in the same transaction as the events. key = relay name.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = keys are parked, which a program that knows only 1 would forget.","default":1},{"name":"relay","type":"string"},{"name":"snapshot","type":"string","doc":"pg_snapshot text: everything visible in it is published."},{"name":"nextSnapshot","type":"string","doc":"pg_snapshot text of a window begun but not finished; empty between windows.","default":""},{"name":"place","type":"long","doc":"Highest outbox position of that window which is published; 0 between windows.","default":0},{"name":"walInsertLsn","type":"string"},{"name":"systemIdentifier","type":"string"},{"name":"timeline","type":"int"},{"name":"partitionCounts","type":{"type":"map","values":"int"},"doc":"Topics published to, with the partition count that keys were spread over.","default":{}},{"name":"partitioner","type":"string","default":"murmur2"},{"name":"parked","type":{"type":"array","items":{"type":"record","name":"ParkedKey","doc":"The row at the position cannot be sent: it and the later rows of its key wait in the outbox.","fields":[{"name":"topic","type":"string"},{"name":"key","type":"string"},{"name":"position","type":"long","doc":"Of the first row that waits; those of the key below it are published."},{"name":"table","type":"string","doc":"That the row is of; empty when it was published by hand."},{"name":"type","type":"string"},{"name":"bytes","type":"long","doc":"Of key and payload in the outbox."},{"name":"reason","type":"string"},{"name":"parkedAtMs","type":"long"},{"name":"triedAtMs","type":"long","doc":"When it was last tried in vain."}]}},"doc":"Keys of which nothing is sent for now. Their rows count as passed by the snapshot and are not published.","default":[]},{"name":"atMs","type":"long"}]}',
  'dev.tidemark.SeriesDefinition':
    '{"type":"record","name":"SeriesDefinition","namespace":"dev.tidemark","doc":"What a series does, and when. Same name and same content is the same series.","fields":[{"name":"request","type":{"type":"record","name":"JobRequested","namespace":"dev.tidemark","doc":"A wish for one traversal: which records of a topic go through which handler. Same jobId and same content is the same job.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = a hold for an audit or a disorder bound is asked for, which a program that knows only 1 would forget.","default":1},{"name":"jobId","type":"string"},{"name":"topic","type":"string"},{"name":"handler","type":"string"},{"name":"parameters","type":{"type":"map","values":"string"},"doc":"Handed to the handler as they are.","default":{}},{"name":"from","type":"string","doc":"Where the window starts: earliest | now | ISO instant with zone | epoch milliseconds | p:offset,... (first offset, included) | after:JOB","default":"earliest"},{"name":"to","type":"string","doc":"Where it ends: now | ISO instant with zone | epoch milliseconds | p:offset,... (last offset, included)","default":"now"},{"name":"disorderMs","type":"long","doc":"With an instant as `to`: no record of a partition is more than this older than one before it, so the window ends before the first one that is that much later than `to`. -1 = nobody says so, and it goes to the end of the log.","default":-1},{"name":"ordering","type":"string","doc":"none | partition | key: what must not run at the same time within a chunk.","default":"none"},{"name":"chunkRecords","type":"int","doc":"Records one cursor move may cover.","default":1000},{"name":"chunkBytes","type":"int","default":1048576},{"name":"concurrency","type":"int","doc":"Ranges worked on at the same time, over all workers; 0 = as many as there are.","default":0},{"name":"rate","type":"int","doc":"Records a second, over all workers; 0 = no limit.","default":0},{"name":"rangesPerPartition","type":"int","doc":"Under ordering none a partition may be cut into this many ranges.","default":1},{"name":"attempts","type":"int","doc":"Handler attempts per record before it is dead-lettered.","default":5},{"name":"onExhausted","type":"string","doc":"dead letter | suspend: what becomes of a record whose attempts are used up.","default":"dead letter"},{"name":"parkedMax","type":"int","doc":"Records of one range that may wait for a later attempt while the cursor goes on. 0 = every attempt in place.","default":1000},{"name":"deadLettersMax","type":"long","doc":"More dead letters than this suspend the job.","default":10000},{"name":"budget","type":{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]},"doc":"What the job may use up before it is suspended.","default":{}},{"name":"onLost","type":"string","doc":"stop | skip: what to do about records that somebody removed under the job.","default":"stop"},{"name":"holdForAuditMs","type":"long","doc":"How long after its end the log keeps the whole window for an audit; 0 = not.","default":0},{"name":"acceptDuplicates","type":"boolean","doc":"Consent to run a handler that is not idempotent.","default":false},{"name":"priority","type":"int","doc":"Larger goes first.","default":0},{"name":"note","type":"string","default":""},{"name":"requestedBy","type":"string","default":""},{"name":"series","type":"string","doc":"The series whose run it is; only the distributor says so.","default":""}]},"doc":"What every run asks for; its jobId is the name of the series, its from is where the first run starts."},{"name":"cron","type":"string","doc":"When runs are due, as five cron fields; empty = by everyMs.","default":""},{"name":"zone","type":"string","doc":"IANA time zone of the cron fields.","default":"UTC"},{"name":"everyMs","type":"long","doc":"Without cron: a run is due each so many milliseconds, counted from the creation.","default":0}]}',
  'dev.tidemark.SeriesOrder':
    '{"type":"record","name":"SeriesOrder","namespace":"dev.tidemark","doc":"A wish about a series, on the jobs topic; key = series/NAME. Each id is applied once.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = runs with a hold for an audit or a disorder bound are asked for, which a program that knows only 1 would forget.","default":1},{"name":"orderId","type":"string"},{"name":"series","type":"string","doc":"Its name."},{"name":"order","type":"string","doc":"create | run | resume | delete"},{"name":"definition","type":["null",{"type":"record","name":"SeriesDefinition","namespace":"dev.tidemark","doc":"What a series does, and when. Same name and same content is the same series.","fields":[{"name":"request","type":{"type":"record","name":"JobRequested","namespace":"dev.tidemark","doc":"A wish for one traversal: which records of a topic go through which handler. Same jobId and same content is the same job.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = a hold for an audit or a disorder bound is asked for, which a program that knows only 1 would forget.","default":1},{"name":"jobId","type":"string"},{"name":"topic","type":"string"},{"name":"handler","type":"string"},{"name":"parameters","type":{"type":"map","values":"string"},"doc":"Handed to the handler as they are.","default":{}},{"name":"from","type":"string","doc":"Where the window starts: earliest | now | ISO instant with zone | epoch milliseconds | p:offset,... (first offset, included) | after:JOB","default":"earliest"},{"name":"to","type":"string","doc":"Where it ends: now | ISO instant with zone | epoch milliseconds | p:offset,... (last offset, included)","default":"now"},{"name":"disorderMs","type":"long","doc":"With an instant as `to`: no record of a partition is more than this older than one before it, so the window ends before the first one that is that much later than `to`. -1 = nobody says so, and it goes to the end of the log.","default":-1},{"name":"ordering","type":"string","doc":"none | partition | key: what must not run at the same time within a chunk.","default":"none"},{"name":"chunkRecords","type":"int","doc":"Records one cursor move may cover.","default":1000},{"name":"chunkBytes","type":"int","default":1048576},{"name":"concurrency","type":"int","doc":"Ranges worked on at the same time, over all workers; 0 = as many as there are.","default":0},{"name":"rate","type":"int","doc":"Records a second, over all workers; 0 = no limit.","default":0},{"name":"rangesPerPartition","type":"int","doc":"Under ordering none a partition may be cut into this many ranges.","default":1},{"name":"attempts","type":"int","doc":"Handler attempts per record before it is dead-lettered.","default":5},{"name":"onExhausted","type":"string","doc":"dead letter | suspend: what becomes of a record whose attempts are used up.","default":"dead letter"},{"name":"parkedMax","type":"int","doc":"Records of one range that may wait for a later attempt while the cursor goes on. 0 = every attempt in place.","default":1000},{"name":"deadLettersMax","type":"long","doc":"More dead letters than this suspend the job.","default":10000},{"name":"budget","type":{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]},"doc":"What the job may use up before it is suspended.","default":{}},{"name":"onLost","type":"string","doc":"stop | skip: what to do about records that somebody removed under the job.","default":"stop"},{"name":"holdForAuditMs","type":"long","doc":"How long after its end the log keeps the whole window for an audit; 0 = not.","default":0},{"name":"acceptDuplicates","type":"boolean","doc":"Consent to run a handler that is not idempotent.","default":false},{"name":"priority","type":"int","doc":"Larger goes first.","default":0},{"name":"note","type":"string","default":""},{"name":"requestedBy","type":"string","default":""},{"name":"series","type":"string","doc":"The series whose run it is; only the distributor says so.","default":""}]},"doc":"What every run asks for; its jobId is the name of the series, its from is where the first run starts."},{"name":"cron","type":"string","doc":"When runs are due, as five cron fields; empty = by everyMs.","default":""},{"name":"zone","type":"string","doc":"IANA time zone of the cron fields.","default":"UTC"},{"name":"everyMs","type":"long","doc":"Without cron: a run is due each so many milliseconds, counted from the creation.","default":0}]}],"doc":"With create.","default":null},{"name":"reason","type":"string","default":""},{"name":"actor","type":"string","default":""}]}',
  'dev.tidemark.SeriesPartition':
    '{"type":"record","name":"SeriesPartition","namespace":"dev.tidemark","doc":"How far a series has come in one partition.","fields":[{"name":"partition","type":"int"},{"name":"end","type":"long","doc":"The last offset of the newest window: the next one begins right after it."}]}',
  'dev.tidemark.SeriesState':
    '{"type":"record","name":"SeriesState","namespace":"dev.tidemark","doc":"The newest durable state of one series, beside the states of jobs; key = series/NAME, which no job id can be.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = its runs ask for a hold for an audit or a disorder bound, which a program that knows only 1 would forget.","default":1},{"name":"series","type":"string"},{"name":"definition","type":{"type":"record","name":"SeriesDefinition","namespace":"dev.tidemark","doc":"What a series does, and when. Same name and same content is the same series.","fields":[{"name":"request","type":{"type":"record","name":"JobRequested","namespace":"dev.tidemark","doc":"A wish for one traversal: which records of a topic go through which handler. Same jobId and same content is the same job.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name. 2 = a hold for an audit or a disorder bound is asked for, which a program that knows only 1 would forget.","default":1},{"name":"jobId","type":"string"},{"name":"topic","type":"string"},{"name":"handler","type":"string"},{"name":"parameters","type":{"type":"map","values":"string"},"doc":"Handed to the handler as they are.","default":{}},{"name":"from","type":"string","doc":"Where the window starts: earliest | now | ISO instant with zone | epoch milliseconds | p:offset,... (first offset, included) | after:JOB","default":"earliest"},{"name":"to","type":"string","doc":"Where it ends: now | ISO instant with zone | epoch milliseconds | p:offset,... (last offset, included)","default":"now"},{"name":"disorderMs","type":"long","doc":"With an instant as `to`: no record of a partition is more than this older than one before it, so the window ends before the first one that is that much later than `to`. -1 = nobody says so, and it goes to the end of the log.","default":-1},{"name":"ordering","type":"string","doc":"none | partition | key: what must not run at the same time within a chunk.","default":"none"},{"name":"chunkRecords","type":"int","doc":"Records one cursor move may cover.","default":1000},{"name":"chunkBytes","type":"int","default":1048576},{"name":"concurrency","type":"int","doc":"Ranges worked on at the same time, over all workers; 0 = as many as there are.","default":0},{"name":"rate","type":"int","doc":"Records a second, over all workers; 0 = no limit.","default":0},{"name":"rangesPerPartition","type":"int","doc":"Under ordering none a partition may be cut into this many ranges.","default":1},{"name":"attempts","type":"int","doc":"Handler attempts per record before it is dead-lettered.","default":5},{"name":"onExhausted","type":"string","doc":"dead letter | suspend: what becomes of a record whose attempts are used up.","default":"dead letter"},{"name":"parkedMax","type":"int","doc":"Records of one range that may wait for a later attempt while the cursor goes on. 0 = every attempt in place.","default":1000},{"name":"deadLettersMax","type":"long","doc":"More dead letters than this suspend the job.","default":10000},{"name":"budget","type":{"type":"record","name":"Budget","namespace":"dev.tidemark","doc":"What a job may use up before it is suspended. 0 = no limit.","fields":[{"name":"secondsMax","type":"long","doc":"Seconds in state RUNNING.","default":0},{"name":"chunksMax","type":"long","doc":"Chunks handled.","default":0},{"name":"failuresMax","type":"long","doc":"Failed attempts: retries and dead letters.","default":0}]},"doc":"What the job may use up before it is suspended.","default":{}},{"name":"onLost","type":"string","doc":"stop | skip: what to do about records that somebody removed under the job.","default":"stop"},{"name":"holdForAuditMs","type":"long","doc":"How long after its end the log keeps the whole window for an audit; 0 = not.","default":0},{"name":"acceptDuplicates","type":"boolean","doc":"Consent to run a handler that is not idempotent.","default":false},{"name":"priority","type":"int","doc":"Larger goes first.","default":0},{"name":"note","type":"string","default":""},{"name":"requestedBy","type":"string","default":""},{"name":"series","type":"string","doc":"The series whose run it is; only the distributor says so.","default":""}]},"doc":"What every run asks for; its jobId is the name of the series, its from is where the first run starts."},{"name":"cron","type":"string","doc":"When runs are due, as five cron fields; empty = by everyMs.","default":""},{"name":"zone","type":"string","doc":"IANA time zone of the cron fields.","default":"UTC"},{"name":"everyMs","type":"long","doc":"Without cron: a run is due each so many milliseconds, counted from the creation.","default":0}]}},{"name":"status","type":"string","doc":"ACTIVE STOPPED DELETED REFUSED"},{"name":"reason","type":"string","doc":"Why it is stopped, refused or deleted.","default":""},{"name":"topicId","type":"string","default":""},{"name":"partitions","type":{"type":"array","items":{"type":"record","name":"SeriesPartition","namespace":"dev.tidemark","doc":"How far a series has come in one partition.","fields":[{"name":"partition","type":"int"},{"name":"end","type":"long","doc":"The last offset of the newest window: the next one begins right after it."}]}},"doc":"Those seen so far; a partition that is missing is covered from its beginning by the next run.","default":[]},{"name":"runs","type":"long","doc":"The number of the newest run: its job id is NAME-number.","default":0},{"name":"liveRun","type":"string","doc":"Job id of the run that has not ended; empty = none.","default":""},{"name":"dueAtMs","type":"long","doc":"When the next run is due."},{"name":"lookedAtMs","type":"long","doc":"When the newest window was fixed, also one that was empty and made no run; 0 = never.","default":0},{"name":"createdAtMs","type":"long"},{"name":"updatedAtMs","type":"long"},{"name":"orderIds","type":{"type":"array","items":"string"},"doc":"The ids of the newest orders that were answered.","default":[]}]}',
  'dev.tidemark.StoreEpoch':
    '{"type":"record","name":"StoreEpoch","namespace":"dev.tidemark","doc":"Written before the cursor store is filled; its offset is the leading part of every token granted after. key = epoch.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"incarnation","type":"string"},{"name":"distributor","type":"string"},{"name":"atMs","type":"long"}]}',
  'dev.tidemark.TruncationMark':
    '{"type":"record","name":"TruncationMark","namespace":"dev.tidemark","doc":"Nothing below the offset is promised to anybody any more; durable before records are deleted. key = topic/partition.","fields":[{"name":"formatVersion","type":"int","doc":"Version of this stored format; a reader refuses a newer one by name.","default":1},{"name":"topic","type":"string"},{"name":"topicId","type":"string","doc":"Of the incarnation that the mark is about; it means nothing for a recreated topic."},{"name":"partition","type":"int"},{"name":"offset","type":"long","doc":"The lowest offset that may still be needed."},{"name":"guard","type":"string","doc":"Who wrote it: host/process."},{"name":"atMs","type":"long"}]}',
};
