/** The worker's rows of the metric table. Everything is counted where the store has accepted it. */
import { monotonicNowMs } from '@tidemark/keyspace';
import type { Metrics } from '@tidemark/observability';
import type { LetGo } from './lease/grant.ts';
import type { PrefixMove, SettleStep } from './lease/moves.ts';

export type WorkerMetrics = Pick<
  Metrics,
  | 'recordsSettled'
  | 'offsetsPassed'
  | 'chunksAdvanced'
  | 'handlerSeconds'
  | 'handlerRetries'
  | 'leasesLost'
  | 'slotsBusy'
>;

export function countMove(metrics: WorkerMetrics | undefined, move: PrefixMove): void {
  metrics?.chunksAdvanced.add(1);
  countSettled(metrics, move);
}

export function countSettled(metrics: WorkerMetrics | undefined, { add }: Pick<SettleStep, 'add'>): void {
  if (metrics === undefined) return;
  const { recordsSettled, offsetsPassed } = metrics;
  metrics.handlerRetries.add(add.retries);
  recordsSettled.add(add.ok, 'ok');
  recordsSettled.add(add.skipped, 'skipped');
  recordsSettled.add(add.deadLettered, 'dead_lettered');
  recordsSettled.add(add.filtered, 'filtered');
  offsetsPassed.add(add.markers, 'marker');
  offsetsPassed.add(add.compacted, 'compacted');
  offsetsPassed.add(add.lost, 'lost');
}

/** A job that was halted, or a store that is being rebuilt, is no lost lease. */
export function countLetGo(metrics: WorkerMetrics | undefined, { reason }: LetGo): void {
  if (reason === 'not trusted') metrics?.leasesLost.add(1, 'untrusted');
  if (reason === 'fenced' || reason === 'cursor moved') metrics?.leasesLost.add(1, 'fenced');
}

/** Call it when the attempt is over. */
export function timeAttempt(metrics: WorkerMetrics | undefined): () => void {
  if (metrics === undefined) return () => undefined;
  const beganMs = monotonicNowMs();
  return () => metrics.handlerSeconds.observe((monotonicNowMs() - beganMs) / 1_000);
}
