/** Which records of a planned window `topic read` is about. */
import { inTime, type PlannedWindow } from '@tidemark/control';
import { cursorBefore, offsetMax, type PartitionWindow, partitionOfKey, toOffset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { InvalidArgumentError } from 'commander';
import type { Place } from './arguments.ts';
import { ExitCode, fail } from './exit-code.ts';

export interface SelectionOptions {
  readonly partition?: number;
  readonly key?: string;
  readonly keyHex?: Buffer;
  readonly partitioner?: 'murmur2';
  readonly continue?: Place;
}

export interface Selection {
  /** What is scanned, in this order. */
  readonly windows: readonly PartitionWindow[];
  /** By bytes, before anything is decoded. */
  readonly wants: (record: LogRecord) => boolean;
}

/** Or the command ends with what is wrong with the options. */
export function selectRecords(plan: PlannedWindow, options: SelectionOptions): Selection {
  const { key: text, keyHex, partitioner } = options;
  const key = keyHex ?? (text === undefined ? undefined : Buffer.from(text));
  if (text !== undefined && keyHex !== undefined) fail(ExitCode.usage, 'a record has one key: give --key or --key-hex');
  if (partitioner !== undefined && key === undefined)
    fail(ExitCode.usage, '--partitioner tells the partition of a key: it needs --key or --key-hex');
  const { partitionCount } = plan.topic;
  const own = key !== undefined && partitioner !== undefined ? partitionOfKey(key, partitionCount) : undefined;
  const isInTime = inTime(plan);
  return {
    windows: from(options.continue, named(own, named(options.partition, plan.partitions, plan), plan)),
    wants: (record) => isInTime(record) && (key === undefined || record.key?.equals(key) === true),
  };
}

function named(
  partition: number | undefined,
  windows: readonly PartitionWindow[],
  { topic: { topic, partitionCount } }: PlannedWindow,
): readonly PartitionWindow[] {
  if (partition === undefined) return windows;
  if (partition >= partitionCount)
    fail(ExitCode.notFound, `topic ${topic} has no partition ${partition}: it has ${partitionCount}, counted from 0`);
  const found = windows.filter((window) => window.partition === partition);
  if (found.length === 0) {
    const asked = windows.map((window) => window.partition).join(', ');
    fail(ExitCode.usage, `partition ${partition} is not among those that were asked for: ${asked}`);
  }
  return found;
}

function from(place: SelectionOptions['continue'], windows: readonly PartitionWindow[]): readonly PartitionWindow[] {
  if (place === undefined) return windows;
  const { partition, offset } = place;
  if (!windows.some((window) => window.partition === partition))
    fail(
      ExitCode.usage,
      `--continue ${partition}:${offset} is no place of this window: its partitions are ${windows.map((window) => window.partition).join(', ')}`,
    );
  return windows
    .filter((window) => window.partition >= partition)
    .map((window) =>
      window.partition === partition
        ? { ...window, start: offsetMax(window.start, cursorBefore(toOffset(offset))) }
        : window,
    );
}

/** Parses `--key-hex`. */
export function hexBytes(text: string): Buffer {
  if (!/^([0-9a-f]{2})*$/i.test(text)) throw new InvalidArgumentError('It must be pairs of hexadecimal digits.');
  return Buffer.from(text, 'hex');
}
