/** How fast a job goes and how a person reads it: pure, and never NaN, for an empty job as for a stalled one. */

import type { Progress } from '@tidemark/jobs';
import { PACE_WINDOW_MS } from './limits.ts';

export interface Pace {
  readonly perSecond: number;
  /** Undefined when nothing moves: nobody knows then. */
  readonly etaMs: number | undefined;
}

export const STILL: Pace = { perSecond: 0, etaMs: undefined };

/** Remembers the last seconds of a job; `nowMs` is the caller's clock, monotonic. */
export function createPaceMeter(): { observe(nowMs: number, progress: Progress): Pace } {
  const seen: { readonly nowMs: number; readonly done: bigint }[] = [];
  return {
    observe(nowMs, { offsetsDone, offsetsTotal }) {
      seen.push({ nowMs, done: offsetsDone });
      while (seen.length > 2 && (seen[1]?.nowMs ?? nowMs) <= nowMs - PACE_WINDOW_MS) seen.shift();
      const first = seen[0] ?? { nowMs, done: offsetsDone };
      const elapsedMs = nowMs - first.nowMs;
      const moved = Number(offsetsDone - first.done);
      if (elapsedMs <= 0 || moved <= 0) return STILL;
      const perMs = moved / elapsedMs;
      return { perSecond: perMs * 1000, etaMs: Number(offsetsTotal - offsetsDone) / perMs };
    },
  };
}

/** `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`, `7 d`. */
export function describeDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair([minutes, 'min'], [seconds % 60, 's']);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair([hours, 'h'], [minutes % 60, 'min']);
  return pair([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
}

function pair(large: readonly [number, string], small: readonly [number, string]): string {
  return small[0] === 0 ? large.join(' ') : [...large, ...small].join(' ');
}

/** Digits in groups of three. */
export function describeCount(count: bigint | number): string {
  return (typeof count === 'bigint' ? count : Math.round(count)).toLocaleString('en-US');
}

const BAR_WIDTH = 24;

/** The live line of a terminal, and without the bar the plain one of a log. */
export function describeProgress(progress: Progress, pace: Pace, options: { readonly bar: boolean }): string {
  const percent = `${Math.floor(progress.percent)} %`.padStart(5);
  const filled = Math.floor((progress.percent / 100) * BAR_WIDTH);
  const bar = options.bar ? `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ` : '';
  const rate = pace.perSecond > 0 ? `  ${describeCount(pace.perSecond)}/s` : '';
  const eta = pace.etaMs === undefined || progress.percent >= 100 ? '' : `  about ${describeDuration(pace.etaMs)} left`;
  return `${bar}${percent}  ${describeCount(progress.offsetsDone)} of ${describeCount(progress.offsetsTotal)} offsets${rate}${eta}`;
}
