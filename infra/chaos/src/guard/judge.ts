/** Ends the load, waits until all is quiet, and holds what was seen against what was promised. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JobState } from '@tidemark/contracts';
import { isTerminal } from '@tidemark/jobs';
import { waitFor } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import { lossComplaint } from '../losses.ts';
import type { Judgement } from '../system.ts';
import { pinnedWindows } from '../traversal/audit-jobs.ts';
import { countSink, lostByJob, someMissing } from '../traversal/counts.ts';
import { accountFaults, releaseFault, saidCuts } from './account.ts';
import { endFault, quietLowWatermark, seriesFaults } from './audit.ts';
import { truncateUnderSkipping, truncateUnderStopping } from './foreign.ts';
import {
  DRAIN_MAX_MS,
  POLICY_PASSED_MS,
  QUIET_CYCLES,
  RELEASE_AFTER_MS,
  SERIES,
  STOP_MAX_MS,
  TOLD_MAX,
} from './limits.ts';
import { askWhole } from './load.ts';
import { holdTooLong } from './overdue.ts';
import { guardOnce } from './programs.ts';
import { lowWatermarks } from './sampler.ts';
import type { GuardScene } from './scene.ts';
import { type GuardReport, violationsOf } from './verdict.ts';

export async function judgeGuard(
  scene: GuardScene,
  { faults, chance }: { readonly faults: Readonly<Record<string, number>>; readonly chance: Chance },
): Promise<Judgement> {
  const { sampler, fleet, notes, pool } = scene;
  await scene.load.stop();
  await scene.group.stop(); // what is produced from now on it has not committed
  const skip = await truncateUnderSkipping(scene, chance);
  const stop = await truncateUnderStopping(scene, chance);
  const released = await holdTooLong(scene);
  const quiet = await becomeQuiet(scene);
  const account = await auditAccount(scene);
  await sampler.stop();
  const states = [...sampler.durable.states.values()];
  const judged = states.filter(({ jobId }) => jobId !== stop.jobId && jobId !== released.jobId);
  await writeWindows(scene, judged);
  const counts = await countSink(pool);
  const lost = await lostByJob(pool);
  const series = sampler.durable.series.get(SERIES);
  const breaks = series === undefined ? ['there is no series'] : seriesFaults(series, sampler.durable.states);
  const report: GuardReport = {
    faults,
    jobs: states.length,
    refused: states.filter(({ state }) => state === 'REFUSED').length,
    records: counts.records,
    needed_and_deleted: counts.missing,
    lost: Number(judged.reduce((sum, { totals }) => sum + (totals?.lost ?? 0n), 0n)),
    lost_injected: counts.lostInjected,
    cut: quiet.cut,
    samples: sampler.samples,
    above_floor: sampler.breaches.length,
    at_floor: sampler.atFloor,
    series_runs: Number(series?.runs ?? 0n),
    series_breaks: breaks.length,
    quiet_partitions: quiet.partitions,
    quiet_held: quiet.held,
    quiet_off: quiet.off.length,
    truncated: { skip: skip.lost, stop: stop.lost },
    released: released.lost,
    account_looks: sampler.accountLooks,
    account_cuts: account.cuts,
    account_off: account.faults.length,
  };
  const violations = [
    ...violationsOf(report, Object.keys(faults)),
    ...sampler.breaches.slice(0, TOLD_MAX),
    ...breaks.slice(0, TOLD_MAX),
    ...quiet.off,
    ...account.faults.slice(0, TOLD_MAX),
    ...notes.complaints,
    ...judged.flatMap((state) => endFault(state) ?? []),
    ...judged.flatMap(({ jobId, lost: said }) => lossComplaint(jobId, { said, expected: lost.get(jobId) ?? [] }) ?? []),
    ...scene.desk.asked
      .filter(({ jobId }) => !sampler.durable.states.has(jobId))
      .map(({ jobId }) => `${jobId} was never answered`),
    ...(series?.status === 'ACTIVE' ? [] : [`the series is ${series?.status}: ${series?.reason}`]),
    ...fleet.unexpectedEnds.map(
      ({ name, exit, lastLines }) => `${name} ended by itself (${exit.signal ?? exit.code}): ${lastLines.at(-1) ?? ''}`,
    ),
  ];
  if (counts.missing > 0)
    violations.push(`some of the records that were not delivered: ${(await someMissing(pool, TOLD_MAX)).join(', ')}`);
  return { report, violations };
}

/**
 * No load, every job over, the series at the end of the log, every record older than its policy allows. Then
 * the guards are asked to stop, and two cycles decide where the log begins.
 */
async function becomeQuiet(scene: GuardScene) {
  const { streams, sampler, filledTopics, notes, progress, env } = scene;
  for (const topic of filledTopics) await askWhole(scene, topic, 'none');
  await streams.stop();
  progress('the load is over');
  await waitFor('every job to end and the series to reach the end of the log', () => isDrained(scene), {
    timeoutMs: DRAIN_MAX_MS,
    intervalMs: 500,
  }).catch((error: unknown) => void notes.complaints.push(String(error)));
  await delay(POLICY_PASSED_MS);
  await stopGuards(scene);
  for (let cycle = 0; cycle < QUIET_CYCLES; cycle++) {
    const { code, out, notes: said } = await guardOnce(env);
    if (code !== 0) progress(`a cycle of the guard ended with ${code}: ${out}${said}`);
  }
  const ageLimited = new Set(filledTopics);
  const looks = (await waitFor('the last look', () => sampler.look())).filter(({ topic }) => ageLimited.has(topic));
  const expected = looks.map((look) => ({ ...look, expected: quietLowWatermark(look.needs, look.highWatermark) }));
  return {
    partitions: looks.length,
    cut: Number(looks.reduce((sum, { lowWatermark }) => sum + lowWatermark, 0n)),
    held: expected.filter((look) => look.expected < look.highWatermark).length,
    off: expected
      .filter((look) => look.lowWatermark !== look.expected)
      .map(
        ({ topic, partition, lowWatermark, ...look }) =>
          `${topic}/${partition} begins at ${lowWatermark} and not at ${look.expected}, when all is quiet`,
      ),
  };
}

/** When the guards are gone: what they say that they removed, and whom they released, against what the broker shows. */
async function auditAccount({ sampler, fleet, kafka, cutTopic, releasedTopic, keptTopic, filledTopics }: GuardScene) {
  const topics = [...filledTopics, releasedTopic, keptTopic, cutTopic];
  const looks = await waitFor('the last low watermarks', () => lowWatermarks({ kafka, topics }));
  const accounts = await waitFor("the guards' account", () => sampler.accounts());
  const said = fleet.all
    .filter(({ role }) => role === 'guard')
    .flatMap(({ name, program }) => saidCuts(name, program.log()));
  const watermarks = looks.map(({ topic, partition, low }) => ({ topic, partition, lowWatermark: low }));
  const isCutByOthers = (topic: string): boolean => topic === cutTopic;
  const releases = sampler.releases.flatMap((release) => {
    const releaseMs = release.topic === releasedTopic ? RELEASE_AFTER_MS : undefined;
    const pinnedAtMs = sampler.durable.states.get(release.holder)?.pin?.pinnedAtMs;
    return releaseFault(release, { releaseMs, pinnedAtMs }) ?? [];
  });
  const faults = [
    ...releases, // few, so that none is left out when not all is told
    ...sampler.accountBreaches,
    ...accountFaults(watermarks, accounts, { said, isCutByOthers }),
  ];
  return { cuts: said.length, faults };
}

async function isDrained({ sampler, desk, seriesTopic }: GuardScene): Promise<boolean> {
  const looks = await sampler.look();
  const { states, series } = sampler.durable;
  const steady = series.get(SERIES);
  const ends = new Map(steady?.partitions.map(({ partition, end }) => [partition, end]));
  return (
    desk.asked.every(({ jobId }) => states.has(jobId)) &&
    [...states.values()].every(({ state }) => isTerminal(state)) &&
    // One that has stopped is a complaint already.
    (steady?.status !== 'ACTIVE' ||
      looks.every(
        ({ topic, partition, highWatermark }) => topic !== seriesTopic || ends.get(partition) === highWatermark - 1n,
      ))
  );
}

async function stopGuards({ fleet, notes }: GuardScene): Promise<void> {
  for (const member of fleet.members('guard')) {
    const exit = await Promise.race([fleet.end(member, 'SIGTERM'), delay(STOP_MAX_MS)]);
    if (exit?.code !== 0)
      notes.complaints.push(`${member.name} did not stop as asked: ${exit?.signal ?? exit?.code ?? 'still there'}`);
  }
}

/** As pinned, of all jobs that were accepted, the runs of the series among them. */
async function writeWindows({ pool }: GuardScene, states: readonly JobState[]): Promise<void> {
  for (const state of states) {
    if (state.state === 'REFUSED') continue;
    for (const { partition, first, last } of pinnedWindows(state))
      await pool.query('insert into windows values ($1, $2, $3, $4, $5, false)', [
        state.jobId,
        state.request.topic,
        partition,
        first,
        last,
      ]);
  }
}
