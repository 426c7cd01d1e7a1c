/**
 * From what people wrote to `(start, end]` per partition, given what the log looked like at the pin. Pure, so that a dry
 * run, the pin and a test give the same answer.
 *
 * A window by time is scanned to the pinned end and the worker filters by record timestamp (`fromMs`, `toMs` of the
 * definition), because timestamps need not be in offset order. The start is a time lookup, which is a lower bound: every
 * record before it is too old. The end is the end of the log, unless a disorder bound D is stated: then it is before the first
 * record at or after `to + D`, because behind that one no record is more than D older, so none is before `to` (ADR 0021).
 */
import type { JobState } from '@tidemark/contracts';
import {
  assertNever,
  cursorBefore,
  type Offset,
  offsetMax,
  offsetMin,
  type PartitionWindow,
  toOffset,
} from '@tidemark/keyspace';
import { OnLost } from './definition.ts';
import { isTerminal } from './job-state.ts';
import type { WindowEnd, WindowSpec, WindowStart } from './window-grammar.ts';

export interface PartitionFacts {
  readonly partition: number;
  readonly logStartOffset: Offset;
  readonly highWatermark: Offset;
  /** For a start by time: the first offset at or after it; undefined where there is none. */
  readonly firstAtFrom?: Offset | undefined;
  /** With a disorder bound: the first offset at or after the end and the bound; undefined where there is none. */
  readonly firstBeyond?: Offset | undefined;
}

export interface WindowFacts {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: readonly PartitionFacts[];
  /** For `after:JOB`: that job, if it is known. */
  readonly previous?: JobState | undefined;
  /** `skip` lets `after:JOB` begin behind a gap that somebody cut into the log. */
  readonly onLost: OnLost;
}

export interface ResolvedPartition extends PartitionWindow {
  readonly logStartOffset: Offset;
  readonly highWatermark: Offset;
  /** What was asked for and could not be had; '' if nothing. */
  readonly clamped: string;
}

export const WindowRefusal = {
  unknownPartition: 'UNKNOWN_PARTITION',
  endBeforeStart: 'END_BEFORE_START',
  afterUnknownJob: 'AFTER_UNKNOWN_JOB',
  afterUnfinishedJob: 'AFTER_UNFINISHED_JOB',
  afterOtherTopic: 'AFTER_OTHER_TOPIC',
  recordsGone: 'RECORDS_GONE',
  logWentBack: 'LOG_WENT_BACK',
} as const;
export type WindowRefusal = (typeof WindowRefusal)[keyof typeof WindowRefusal];

interface Refused {
  readonly kind: 'refused';
  readonly code: WindowRefusal;
  readonly reason: string;
}
export type Resolution = { readonly kind: 'resolved'; readonly partitions: readonly ResolvedPartition[] } | Refused;

/** The instants whose first offsets `PartitionFacts` has, in epoch milliseconds; undefined where the window asks for none. */
export function lookupsOf({ from, to, disorderMs }: WindowSpec): {
  readonly fromMs: bigint | undefined;
  readonly beyondMs: bigint | undefined;
} {
  const isBounded = to.kind === 'instant' && disorderMs !== undefined;
  return {
    fromMs: from.kind === 'instant' ? BigInt(from.ms) : undefined,
    beyondMs: isBounded ? BigInt(to.ms + disorderMs) : undefined,
  };
}

/** Partitions named on one side limit the window to them; otherwise it has all. */
export function resolveWindow(spec: WindowSpec, facts: WindowFacts): Resolution {
  const fault = unknownPartition(spec, facts) ?? unusablePrevious(spec.from, facts);
  if (fault !== undefined) return fault;
  const partitions: ResolvedPartition[] = [];
  for (const partition of facts.partitions) {
    if (!isNamed(spec.from, partition.partition) || !isNamed(spec.to, partition.partition)) continue;
    const resolved = resolvePartition(spec, partition, facts);
    if (resolved.kind === 'refused') return resolved;
    partitions.push(resolved.window);
  }
  return { kind: 'resolved', partitions };
}

type Place = { readonly kind: 'place'; readonly at: Offset; readonly clamped: string } | Refused;

function resolvePartition(
  spec: WindowSpec,
  partition: PartitionFacts,
  facts: WindowFacts,
): { readonly kind: 'window'; readonly window: ResolvedPartition } | Refused {
  const end = resolveEnd(spec.to, partition);
  const start = resolveStart(spec.from, partition, facts);
  if (start.kind === 'refused') return start;
  const logEnd = cursorBefore(partition.highWatermark);
  const explicitStart = spec.from.kind === 'now' || spec.from.kind === 'after';
  if (explicitStart && spec.to.kind === 'offsets' && end.at < start.at) {
    return refuse(
      'endBeforeStart',
      `partition ${partition.partition}: the end ${end.at} is before the start ${start.at + 1n}`,
    );
  }
  // An empty window is written as start = end, inside the log, whatever side was out of bounds.
  const startAt = offsetMin(start.at, logEnd);
  return {
    kind: 'window',
    window: {
      partition: partition.partition,
      start: startAt,
      end: offsetMax(startAt, end.at),
      logStartOffset: partition.logStartOffset,
      highWatermark: partition.highWatermark,
      clamped: [start.clamped, end.clamped].filter((text) => text !== '').join('; '),
    },
  };
}

function resolveEnd(to: WindowEnd, partition: PartitionFacts): { readonly at: Offset; readonly clamped: string } {
  const logEnd = cursorBefore(partition.highWatermark);
  if (partition.firstBeyond !== undefined && partition.firstBeyond <= logEnd)
    return { at: cursorBefore(partition.firstBeyond), clamped: '' };
  const asked = to.kind === 'offsets' ? to.offsets.get(partition.partition) : undefined;
  if (asked === undefined) return { at: logEnd, clamped: '' };
  if (asked > logEnd) return { at: logEnd, clamped: `end ${asked} is beyond the log, which ends at ${logEnd}` };
  const gone =
    asked < partition.logStartOffset
      ? `everything up to ${asked} was removed, the log starts at ${partition.logStartOffset}`
      : '';
  return { at: asked, clamped: gone };
}

function resolveStart(from: WindowStart, partition: PartitionFacts, facts: WindowFacts): Place {
  const beforeLog = cursorBefore(partition.logStartOffset);
  const logEnd = cursorBefore(partition.highWatermark);
  switch (from.kind) {
    case 'earliest':
      return { kind: 'place', at: beforeLog, clamped: '' };
    case 'now':
      return { kind: 'place', at: logEnd, clamped: '' };
    case 'instant':
      return {
        kind: 'place',
        at:
          partition.firstAtFrom === undefined
            ? logEnd
            : cursorBefore(offsetMax(partition.firstAtFrom, partition.logStartOffset)),
        clamped: '',
      };
    case 'offsets': {
      const asked = from.offsets.get(partition.partition) ?? partition.logStartOffset;
      if (asked < partition.logStartOffset) {
        return {
          kind: 'place',
          at: beforeLog,
          clamped: `start ${asked} was removed, the log starts at ${partition.logStartOffset}`,
        };
      }
      return {
        kind: 'place',
        at: cursorBefore(asked),
        clamped: asked > partition.highWatermark ? `start ${asked} is beyond the log, which ends at ${logEnd}` : '',
      };
    }
    case 'after':
      return resolveAfter(from.jobId, partition, facts);
    default:
      return assertNever(from);
  }
}

function resolveAfter(jobId: string, partition: PartitionFacts, facts: WindowFacts): Place {
  const beforeLog = cursorBefore(partition.logStartOffset);
  const pinned = facts.previous?.pin?.partitions.find((covered) => covered.partition === partition.partition);
  // A partition that was added since, or that the former job left out: nothing of it was ever covered.
  if (pinned === undefined)
    return { kind: 'place', at: beforeLog, clamped: `job ${jobId} did not cover this partition: from its beginning` };
  const previousEnd = toOffset(pinned.end);
  if (previousEnd > cursorBefore(partition.highWatermark)) {
    return refuse(
      'logWentBack',
      `partition ${partition.partition} ends at ${partition.highWatermark - 1n}, but job ${jobId} went up to ${previousEnd}`,
    );
  }
  if (previousEnd >= beforeLog) return { kind: 'place', at: previousEnd, clamped: '' };
  const gap = `offsets ${previousEnd + 1n} to ${beforeLog} of partition ${partition.partition}, next after job ${jobId}, were removed`;
  if (facts.onLost === OnLost.stop) return refuse('recordsGone', `${gap}; ask for earliest, or for on-lost skip`);
  return { kind: 'place', at: beforeLog, clamped: gap };
}

function isNamed(place: WindowStart, partition: number): boolean {
  return place.kind !== 'offsets' || place.offsets.has(partition);
}

function unknownPartition(spec: WindowSpec, facts: WindowFacts): Refused | undefined {
  const known = new Set(facts.partitions.map(({ partition }) => partition));
  for (const place of [spec.from, spec.to]) {
    if (place.kind !== 'offsets') continue;
    const unknown = [...place.offsets.keys()].filter((partition) => !known.has(partition));
    if (unknown.length > 0) {
      return refuse(
        'unknownPartition',
        `topic ${facts.topic} has no partition ${unknown.join(', ')}: it has ${known.size}, counted from 0`,
      );
    }
  }
  return undefined;
}

const OTHERWISE = 'name the offset or the instant to begin at';

function unusablePrevious(from: WindowStart, facts: WindowFacts): Refused | undefined {
  if (from.kind !== 'after') return undefined;
  const { previous } = facts;
  if (previous === undefined)
    return refuse(
      'afterUnknownJob',
      `no job ${from.jobId} is known (one that ended long ago may have been removed); ${OTHERWISE}`,
    );
  if (previous.state !== 'COMPLETED' || previous.pin === null) {
    const reason = previous.reason === '' ? '' : ` (${previous.reason})`;
    return refuse(
      'afterUnfinishedJob',
      `job ${from.jobId} is ${previous.state}${reason}; a window may follow only a COMPLETED one: ${isTerminal(previous.state) ? '' : 'wait for that, or '}${OTHERWISE}`,
    );
  }
  if (previous.request.topic !== facts.topic) {
    return refuse(
      'afterOtherTopic',
      `job ${from.jobId} read topic ${previous.request.topic}, not ${facts.topic}; ${OTHERWISE}`,
    );
  }
  if (previous.pin.topicId !== facts.topicId) {
    return refuse(
      'afterOtherTopic',
      `topic ${facts.topic} was deleted and created again since job ${from.jobId}; ${OTHERWISE}`,
    );
  }
  return undefined;
}

function refuse(code: keyof typeof WindowRefusal, reason: string): Refused {
  return { kind: 'refused', code: WindowRefusal[code], reason };
}
