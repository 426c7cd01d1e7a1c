/**
 * When the runs of a series are due: five cron fields in a time zone, or each so many milliseconds.
 *
 * The calendar is croner's, which does as Vixie cron does where clocks change: an instant that the change skips comes
 * right after it, one that it repeats comes once, and `*` goes on through the repeated hour. The time is always an argument.
 */
import type { SeriesDefinition, SeriesState } from '@tidemark/contracts';
import { Cron } from 'croner';
import { CLOCK_SET_BACK_MS_MIN, SERIES_EVERY_MS_MAX, SERIES_EVERY_MS_MIN } from './limits.ts';

export type Schedule = Pick<SeriesDefinition, 'cron' | 'zone' | 'everyMs'>;

const FIELDS = ['minute', 'hour', 'day of month', 'month', 'day of week'] as const;

/** All faults as sentences, each with the field that it is in. */
export function scheduleFaults(schedule: Schedule): readonly string[] {
  const { cron, zone, everyMs } = schedule;
  if (cron === '') {
    const isBetween = everyMs >= SERIES_EVERY_MS_MIN && everyMs <= SERIES_EVERY_MS_MAX;
    return isBetween
      ? []
      : [`every ${everyMs} ms is not between ${SERIES_EVERY_MS_MIN} and ${SERIES_EVERY_MS_MAX}, and there is no cron`];
  }
  const faults = everyMs === 0n ? [] : ['cron and every exclude each other'];
  if (!isZone(zone)) faults.push(`zone ${JSON.stringify(zone)} is not a time zone such as Europe/Berlin or UTC`);
  faults.push(...cronFaults(cron));
  if (faults.length === 0 && cronAfter(schedule, 0) === undefined)
    faults.push(`cron ${JSON.stringify(cron)} names a day that never comes`);
  return faults;
}

/**
 * The first due instant after `afterMs`, both in milliseconds since 1970. What lies between is not caught up with: missed
 * runs are one. `anchorMs` is where periods are counted from. Only for a schedule without faults.
 */
export function nextDueMs(
  schedule: Schedule,
  { afterMs, anchorMs }: { readonly afterMs: bigint; readonly anchorMs: bigint },
): bigint {
  if (schedule.cron === '') {
    const periods = floorOf(afterMs - anchorMs, schedule.everyMs);
    return anchorMs + (periods + 1n) * schedule.everyMs;
  }
  // After the last year that the calendar knows nothing is due any more.
  return cronAfter(schedule, Number(afterMs)) ?? 2n ** 62n;
}

/**
 * When a series is due whose state was written by a clock that was ahead, or undefined when it was not, or the series comes
 * no later by it. A run that was due already by that clock is due now.
 */
export function dueAfterSetBack(
  { definition, dueAtMs, createdAtMs, updatedAtMs }: SeriesState,
  nowMs: bigint,
): bigint | undefined {
  if (updatedAtMs <= nowMs + CLOCK_SET_BACK_MS_MIN) return undefined;
  const dueMs = dueAtMs <= updatedAtMs ? nowMs : nextDueMs(definition, { afterMs: nowMs, anchorMs: createdAtMs });
  return dueMs < dueAtMs ? dueMs : undefined;
}

/** The anchor may lie ahead: a clock that was set back. */
function floorOf(passedMs: bigint, everyMs: bigint): bigint {
  const periods = passedMs / everyMs;
  return passedMs % everyMs < 0n ? periods - 1n : periods;
}

function cronAfter({ cron, zone }: Schedule, afterMs: number): bigint | undefined {
  const next = new Cron(cron, { timezone: zone, paused: true }).nextRun(new Date(afterMs));
  return next === null ? undefined : BigInt(next.getTime());
}

/** Each field is tried beside stars, so that the fault is known by its field. */
function cronFaults(cron: string): readonly string[] {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== FIELDS.length)
    return [
      `cron ${JSON.stringify(cron)} has ${fields.length} fields, expected ${FIELDS.length}: ${FIELDS.join(', ')}`,
    ];
  const faults: string[] = [];
  for (const [index, name] of FIELDS.entries()) {
    const alone = FIELDS.map((_, other) => (other === index ? fields[index] : '*')).join(' ');
    try {
      new Cron(alone, { paused: true });
    } catch (error) {
      const why = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
      faults.push(`cron field ${index + 1} (${name}) ${JSON.stringify(fields[index])}: ${why}`);
    }
  }
  return faults;
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
