/**
 * Filling the store with a job: begin (from here on incomplete), sweep what an older topology left, the ranges in slices,
 * and the incarnation last. Whatever interrupts this leaves a job that answers `incomplete`, and the next install starts over.
 */
import { fromFixedWidth, type Offset, toFixedWidth } from '@tidemark/keyspace';
import { type InstalledRange, plannedRanges, storeChanged } from '../../installation.ts';
import type { JobKeys } from '../../keys.ts';
import { INSTALL_ATTEMPTS_MAX, INSTALL_SLICE_RANGES, PARKED_PER_RANGE } from '../../limits.ts';
import { type CursorStore, type JobInstall, JobMode } from '../../ports.ts';
import type { RedisConnection } from './connection.ts';
import { writeRange } from './range-text.ts';
import { scripts } from './scripts.ts';

type InstallAnswer = Awaited<ReturnType<CursorStore['install']>>;

export async function installJob(connection: RedisConnection, keys: JobKeys, job: JobInstall): Promise<InstallAnswer> {
  const ranges = plannedRanges(job);
  for (let attempt = 0; attempt < INSTALL_ATTEMPTS_MAX; attempt += 1) {
    const answer = await installOnce(connection, keys, job, ranges);
    if (answer !== 'gone') return answer;
  }
  throw storeChanged(job.jobId, 'it was removed again and again');
}

async function installOnce(
  connection: RedisConnection,
  keys: JobKeys,
  job: JobInstall,
  ranges: readonly InstalledRange[],
): Promise<InstallAnswer | 'gone'> {
  const epoch = toFixedWidth(job.epoch);
  const begun = await connection.run(
    scripts.installBegin,
    [keys.job],
    [
      epoch,
      job.incarnation,
      job.mode ?? JobMode.running,
      job.definition,
      String(ranges.length),
      ...job.ends.flatMap(({ partition, end }) => [partition.toString().padStart(10, '0'), toFixedWidth(end)]),
    ],
  );
  if (begun !== 'fill') return readInstallAnswer(job.jobId, begun);

  const wanted = new Set(ranges.map((range) => range.rangeId));
  const leftOver = (await listRanges(connection, keys)).filter((rangeId) => !wanted.has(rangeId));
  await dropRanges(connection, keys, leftOver, epoch);

  for (const slice of inSlicesOf(
    ranges,
    (range) => 1 + (range.parked.length + range.passed.length) / PARKED_PER_RANGE,
  )) {
    const put = await connection.run(
      scripts.installPut,
      [keys.job, keys.ranges, keys.ready, ...slice.map((range) => keys.range(range.rangeId))],
      [epoch, ...slice.flatMap(writeRange)],
    );
    if (put !== 'filled') return readInstallAnswer(job.jobId, put);
  }
  const open = ranges.filter((range) => range.status === 'open').length;
  const finished = await connection.run(
    scripts.installFinish,
    [keys.job, keys.ranges, keys.ready],
    [epoch, job.incarnation, String(open)],
  );
  return readInstallAnswer(job.jobId, finished);
}

/** The job first, so that nothing acts on its ranges any more; they follow in slices. Repeating it finishes what was cut off. */
export async function removeJob(connection: RedisConnection, keys: JobKeys, epoch?: Offset): Promise<void> {
  const answer = await connection.run(scripts.forget, [keys.job], [epoch === undefined ? '' : toFixedWidth(epoch)]);
  if (answer === 'younger') return;
  await dropRanges(connection, keys, await listRanges(connection, keys), '');
}

export async function listRanges(connection: RedisConnection, keys: JobKeys): Promise<readonly string[]> {
  return texts(await connection.command('ZRANGE', keys.ranges, '0', '-1'));
}

export function texts(answer: unknown): readonly string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

async function dropRanges(
  connection: RedisConnection,
  keys: JobKeys,
  rangeIds: readonly string[],
  epoch: string,
): Promise<void> {
  for (const slice of inSlicesOf(rangeIds, () => 1)) {
    await connection.run(
      scripts.drop,
      [keys.job, keys.ranges, keys.ready, ...slice.map((rangeId) => keys.range(rangeId))],
      [epoch, ...slice],
    );
  }
}

/** Slices that block the store for about the same time each; one item that is too heavy goes alone. */
function* inSlicesOf<T>(all: readonly T[], weightOf: (item: T) => number): Generator<readonly T[]> {
  let slice: T[] = [];
  let weight = 0;
  for (const item of all) {
    if (slice.length > 0 && weight + weightOf(item) > INSTALL_SLICE_RANGES) {
      yield slice;
      slice = [];
      weight = 0;
    }
    slice.push(item);
    weight += weightOf(item);
  }
  if (slice.length > 0) yield slice;
}

function readInstallAnswer(jobId: string, answer: unknown): InstallAnswer | 'gone' {
  const [word, epoch = ''] = String(answer).split(' ');
  if (word === 'installed') return { kind: 'installed' };
  if (word === 'stale') return { kind: 'stale epoch', epoch: fromFixedWidth(epoch) };
  if (word === 'gone') return 'gone';
  throw storeChanged(jobId, `the install got the answer ${JSON.stringify(answer)}`);
}
