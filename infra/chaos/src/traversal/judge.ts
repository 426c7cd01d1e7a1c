/** Waits until all jobs have ended, counts in the sink and in the dead letters, and puts it into the line of the run. */
import { setTimeout as delay } from 'node:timers/promises';
import { deadLetterTopic } from '@tidemark/jobs';
import { kafkaClient } from '@tidemark/testkit';
import type { Pool } from 'pg';
import { lossComplaint } from '../losses.ts';
import type { Judgement } from '../system.ts';
import { jobComplaints, numberComplaints, pinnedWindows } from './audit-jobs.ts';
import { repeatBound, uncheckpointedSpan } from './bound.ts';
import { countSink, deliveriesWithin, foundByJob, lostByJob, type SinkCounts, someMissing } from './counts.ts';
import { type DeadLetterSeen, readDeadLetters } from './dead-letters.ts';
import { CHECKPOINT_COMMIT_MS, CHECKPOINT_EVERY_MS, DRAIN_MAX_MS, MISBEHAVED_RECORDS } from './limits.ts';
import { isDoomed } from './misbehaviour.ts';
import type { Scene } from './scene.ts';
import { type TraversalReport, violationsOf } from './verdict.ts';

const MISSING_SHOWN = 5;

export async function judgeTraversal(scene: Scene, faults: Readonly<Record<string, number>>): Promise<Judgement> {
  const { pool, desk, notes, fleet, progress } = scene;
  await drain(scene);
  await writeWindows(scene);
  const letters = await readDeadLetters(scene.kafka, [...scene.filledTopics, scene.cutTopic].map(deadLetterTopic));
  await writeDeadLetters(pool, letters);
  const counts = await countSink(pool);
  const sinceCheckpoint = await sinceCheckpoints(scene);
  const report = reportOf(scene, { faults, counts, sinceCheckpoint });
  const promised = desk.asked.reduce((sum, { jobId }) => sum + (desk.state(jobId)?.totals?.maybeRedelivered ?? 0n), 0n);
  progress(
    `${desk.asked.length} jobs, ${letters.length} dead letters, ${await cutByGuard(scene)} records cut by the guard`,
  );
  progress(
    `repeated at most: ${notes.inHand.length} ranges hit and ${sinceCheckpoint} deliveries since checkpoints; the jobs say ${promised}`,
  );
  const violations = [
    ...violationsOf(report, Object.keys(faults)),
    ...notes.complaints,
    ...fleet.unexpectedEnds.map(
      ({ name, exit, lastLines }) => `${name} ended by itself (${exit.signal ?? exit.code}): ${lastLines.at(-1) ?? ''}`,
    ),
    ...desk.asked.flatMap((asked) => jobComplaints(asked, desk.state(asked.jobId))),
    ...(await numbersOf(scene)),
    ...foreignLetters(scene, letters),
  ];
  if (counts.outOfOrder > 0)
    violations.push(`${counts.outOfOrder} records of ordered jobs had their effect before an earlier one of their key`);
  if (counts.missing > 0)
    violations.push(`some of the missing records: ${(await someMissing(pool, MISSING_SHOWN)).join(', ')}`);
  return { report, violations };
}

/** No more load; what is asked for gets its time. */
async function drain({ desk, streams, progress }: Scene): Promise<void> {
  await desk.stopAsking();
  await streams.stop();
  const deadline = performance.now() + DRAIN_MAX_MS;
  progress(`the load is over, ${desk.openJobs().length} jobs are open`);
  while (desk.openJobs().length > 0 && performance.now() < deadline) await delay(200);
  if (desk.openJobs().length > 0) progress(`still open: ${desk.openJobs().join(', ')}`);
}

/** It must have had something to do, else nothing was shown about floors. */
async function cutByGuard({ kafka, filledTopics }: Scene): Promise<number> {
  const admin = kafkaClient({ kafka }).admin();
  await admin.connect();
  try {
    const offsets = await Promise.all(filledTopics.map((topic) => admin.fetchTopicOffsets(topic)));
    return offsets.flat().reduce((sum, { low }) => sum + Number(low), 0);
  } finally {
    await admin.disconnect();
  }
}

/** As pinned, or where there is no pin, as asked for: a job that never ran must not hide its records. */
async function writeWindows({ desk, pool }: Scene): Promise<void> {
  for (const asked of desk.asked) {
    const state = desk.state(asked.jobId);
    const windows = state?.pin == null ? asked.windows : pinnedWindows(state);
    for (const { partition, first, last } of windows)
      await pool.query('insert into windows values ($1, $2, $3, $4, $5, $6)', [
        ...[asked.jobId, asked.topic, partition, first, last],
        asked.ordering !== 'none',
      ]);
  }
}

async function writeDeadLetters(pool: Pool, letters: readonly DeadLetterSeen[]): Promise<void> {
  await pool.query('insert into dead_letters select * from unnest($1::text[], $2::int[], $3::bigint[], $4::text[])', [
    letters.map(({ jobId }) => jobId),
    letters.map(({ partition }) => partition),
    letters.map(({ offset }) => offset.toString()),
    letters.map(({ faultClass }) => faultClass),
  ]);
}

async function sinceCheckpoints({ pool, notes }: Scene): Promise<number> {
  let deliveries = 0;
  for (const lostAtMs of notes.lossesAtMs) {
    const ageMs = CHECKPOINT_EVERY_MS + CHECKPOINT_COMMIT_MS;
    deliveries += await deliveriesWithin(pool, uncheckpointedSpan({ lostAtMs, ageMs, outages: notes.outages }));
  }
  return deliveries;
}

function reportOf(
  { desk, notes }: Scene,
  {
    faults,
    counts,
    sinceCheckpoint,
  }: { faults: Readonly<Record<string, number>>; counts: SinkCounts; sinceCheckpoint: number },
): TraversalReport {
  const bound = repeatBound({
    inHand: notes.inHand,
    parkedBatchRecords: MISBEHAVED_RECORDS,
    sinceCheckpoint,
  });
  return {
    faults,
    records: counts.records,
    missing: counts.missing,
    lost: Number(desk.asked.reduce((sum, { jobId }) => sum + (desk.state(jobId)?.totals?.lost ?? 0n), 0n)),
    lost_injected: counts.lostInjected,
    duplicate_effects: counts.duplicateEffects,
    repeated: counts.repeated,
    repeat_bound: bound,
    stale_writes_attempted: counts.staleAttempted,
    stale_writes_accepted: counts.staleAccepted,
    takeover_max_ms: Math.max(0, ...notes.takeoversMs),
  };
}

/** The numbers of the jobs themselves against what was found. */
async function numbersOf({ desk, pool, notes }: Scene): Promise<readonly string[]> {
  const found = await foundByJob(pool);
  const lost = await lostByJob(pool);
  return desk.asked.flatMap(({ jobId }) => {
    const state = desk.state(jobId);
    const own = found.get(jobId);
    if (state?.state !== 'COMPLETED' || own === undefined) return [];
    const isStoreLost = notes.lossesAtMs.some(
      (atMs) => atMs >= Number(state.requestedAtMs) && atMs <= Number(state.updatedAtMs),
    );
    const loss = lossComplaint(jobId, { said: state.lost, expected: lost.get(jobId) ?? [] });
    return [...numberComplaints(state, own, isStoreLost), ...(loss === undefined ? [] : [loss])];
  });
}

/** Dead letters of records that any handler would have brought through: an outage must spend no attempt. */
function foreignLetters({ desk }: Scene, letters: readonly DeadLetterSeen[]): readonly string[] {
  const jobs = new Map(desk.asked.map((asked) => [asked.jobId, asked]));
  const foreign = letters.filter(({ jobId, partition, offset }) => {
    const job = jobs.get(jobId);
    return job?.mode === undefined || !isDoomed(job.mode, { salt: job.salt, partition, offset });
  });
  const shown = foreign
    .slice(0, MISSING_SHOWN)
    .map(({ jobId, partition, offset }) => `${jobId} ${partition}/${offset}`);
  return foreign.length === 0
    ? []
    : [`${foreign.length} dead letters of records that were to come through: ${shown.join(', ')}`];
}
