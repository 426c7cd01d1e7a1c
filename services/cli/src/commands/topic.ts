/** `tidemark topic read TOPIC`: bounded, decoded for people, byte by byte for files. */
import type { Codec } from '@tidemark/contracts';
import {
  type PlannedWindow,
  planWindow,
  readWindow,
  type Shown,
  shownBytes,
  shownText,
  shownValue,
} from '@tidemark/control';
import type { LogConnections } from '@tidemark/control/connect';
import type { LogRecord } from '@tidemark/log';
import { type Command, Option } from 'commander';
import { recordPlace, wholeNumber } from '../arguments.ts';
import { type Context, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { RECORDS_READ_DEFAULT } from '../limits.ts';
import { Format, instant, lineOfJson, printOne } from '../output.ts';
import { exportRecords, exportValue } from '../record-export.ts';
import { hexBytes, type SelectionOptions, selectRecords } from '../record-selection.ts';
import type { Registrar } from '../registrar.ts';
import { FROM_HELP, neededFor, orFail, TO_HELP } from './window.ts';

interface ReadOptions extends SelectionOptions {
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  readonly raw: boolean;
  readonly export?: string;
  readonly valueOnly: boolean;
}

export function registerTopic(program: Command, { group, command, run }: Registrar): void {
  const topic = group(program, 'topic', 'look into topics');
  const read = command(topic, 'read <topic>', 'print the committed records of a window, partition by partition')
    .option('--from <place>', FROM_HELP, 'earliest')
    .option('--to <place>', TO_HELP, 'now')
    .option('--partition <number>', 'only this one', wholeNumber({ min: 0 }))
    .option('--key <text>', 'only records with this key')
    .option('--key-hex <digits>', 'the same, for keys that are no text', hexBytes)
    .addOption(
      new Option(
        '--partitioner <name>',
        'scan only the partition of the key; murmur2 is that of the Java client and of Tidemark. Not for topics that got more partitions',
      ).choices(['murmur2']),
    )
    .option('--limit <count>', 'records at most', wholeNumber({ min: 1 }), RECORDS_READ_DEFAULT)
    .option(
      '--continue <place>',
      'go on at PARTITION:OFFSET of the window, as an answer that was cut short says',
      recordPlace,
    )
    .option('--raw', 'decode nothing: text where it is text, else base64', false)
    .option('--export <file>', 'write a JSON document a line with every byte in base64, instead of printing')
    .option('--value-only', 'with --export: the bytes of the value of the one record that is asked for', false);
  run(read, async (context, [name]: [string], options: ReadOptions) => {
    if (options.valueOnly && options.export === undefined)
      fail(ExitCode.usage, '--value-only says what is exported: it needs --export FILE');
    return withLog(context, ['kafka', ...neededFor(options)], async (connections) => {
      const { cluster, jobLog } = connections;
      const question = { topic: name, from: options.from, to: options.to };
      const plan = orFail(await planWindow({ catalog: cluster.catalog, states: () => jobLog.states() }, question));
      const reading = { context, connections, plan, options };
      if (options.export === undefined) return print(reading);
      return options.valueOnly ? exportOne(reading, options.export) : exportAll(reading, options.export);
    });
  });
}

interface Reading {
  readonly context: Context;
  readonly connections: LogConnections;
  readonly plan: PlannedWindow;
  readonly options: ReadOptions;
}

interface Visited {
  readonly count: number;
  /** Where to go on when the limit was reached. */
  readonly next: string | null;
  readonly wasCutShort: boolean;
}

async function visit(
  { context: { terminal }, connections: { cluster }, plan, options }: Reading,
  onRecord: (partition: number, record: LogRecord) => Promise<void>,
): Promise<Visited> {
  const { windows, wants } = selectRecords(plan, options);
  let count = 0;
  let wasCutShort = false;
  for await (const item of readWindow(cluster, plan.topic, windows, { signal: terminal.signal })) {
    const { partition } = item;
    if (item.kind === 'cut short') {
      wasCutShort = true;
      terminal.note(`partition ${partition} could not be read beyond ${item.at}: ${item.reason}`);
    } else if (wants(item.record)) {
      if (count === options.limit) return { count, next: `${partition}:${item.record.offset}`, wasCutShort };
      count += 1;
      await onRecord(partition, item.record);
    }
  }
  return { count, next: null, wasCutShort };
}

async function print(reading: Reading): Promise<ExitCode> {
  const { terminal, format } = reading.context;
  const { raw } = reading.options;
  const documents: string[] = [];
  const visited = await visit(reading, async (partition, record) => {
    const row = await rowOf(partition, record, raw ? undefined : reading.connections.codec);
    if (format === Format.table) terminal.out(lineOf(row));
    else if (format === Format.jsonl) terminal.out(lineOfJson(row));
    else documents.push(lineOfJson(row));
  });
  if (format === Format.json) terminal.out(`[${documents.join(',')}]`);
  if (format === Format.table && visited.count === 0) terminal.out('no records in this window');
  return ended(reading, visited);
}

async function exportAll(reading: Reading, path: string): Promise<ExitCode> {
  const { context, plan } = reading;
  const visited = await exportRecords(path, plan.topic, (file) => visit(reading, (...where) => file.write(...where)));
  const { count, next } = visited;
  printOne(context.terminal, context.format, { file: path, records: count, next }, () => [
    `${count} records of ${plan.topic.topic} in ${path}`,
  ]);
  return ended(reading, visited);
}

async function exportOne(reading: Reading, path: string): Promise<ExitCode> {
  const { context, plan, options } = reading;
  const found: LogRecord[] = [];
  const narrowed = { ...reading, options: { ...options, limit: 1 } };
  const { next, wasCutShort } = await visit(narrowed, async (_, record) => {
    found.push(record);
  });
  const [record] = found;
  if (wasCutShort) return ExitCode.failed;
  if (record === undefined)
    fail(
      ExitCode.notFound,
      `no record of ${plan.topic.topic} is asked for; --value-only wants one, as --from 0:7 --to 0:7`,
    );
  if (next !== null)
    fail(
      ExitCode.usage,
      `more than one record of ${plan.topic.topic} is asked for; --value-only wants one, as --from 0:7 --to 0:7`,
    );
  if (record.value === null)
    fail(
      ExitCode.conflict,
      `record ${record.offset} of ${plan.topic.topic} is a tombstone, and no file tells null from nothing`,
    );
  await exportValue(path, record.value);
  printOne(context.terminal, context.format, { file: path, bytes: record.value.length, offset: record.offset }, () => [
    `${record.value?.length} bytes in ${path}`,
  ]);
  return ExitCode.ok;
}

function ended({ context: { terminal }, options }: Reading, { next, wasCutShort }: Visited): ExitCode {
  if (next !== null)
    terminal.note(
      `there are more than ${options.limit} records; the same command with --continue ${next} goes on, --limit shows more`,
    );
  return wasCutShort ? ExitCode.failed : ExitCode.ok;
}

interface RecordRow {
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: string;
  readonly key: Shown;
  readonly value: Shown;
  readonly headers: readonly (readonly [string, Shown])[];
}

async function rowOf(partition: number, record: LogRecord, codec: Codec | undefined): Promise<RecordRow> {
  return {
    partition,
    offset: record.offset,
    timestamp: instant(record.timestampMs),
    key: shownBytes(record.key),
    value: codec === undefined ? shownBytes(record.value) : await shownValue(record.value, codec),
    headers: record.headers.map(([name, value]) => [name, shownBytes(value)] as const),
  };
}

function lineOf({ partition, offset, timestamp, key, value }: RecordRow): string {
  return `${partition}:${offset}  ${timestamp}  ${shownText(key)}  ${shownText(value)}`;
}
