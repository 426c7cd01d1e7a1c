/**
 * Apache's own tools, from the jars of the broker: the independent judge of what a log holds, and a second producer.
 * Each call starts a virtual machine (1.3 s alone, more when several start): ask once for many records.
 */
import { type CommandResult, ensureKafkaJars, findJavas, javaArguments, readConfig, run } from '@tidemark/stack';
import { type ConsoleRecord, parseConsoleLine } from './console-format.ts';
import { CONSOLE_IDLE_MS, TOOL_TIMEOUT_MS, WAIT_TIMEOUT_MS } from './limits.ts';
import { services, uniqueName } from './services.ts';
import type { OnBroker } from './topics.ts';

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

export interface ToolOptions {
  /** Standard input. */
  input?: string;
  timeoutMs?: number;
}

/** Runs a main class of the jars; throws with its own words when it fails. Returns standard output. */
export async function kafkaTool(
  mainClass: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<string> {
  return (await runTool(mainClass, args, options)).stdout;
}

async function runTool(mainClass: string, args: readonly string[], options: ToolOptions = {}): Promise<CommandResult> {
  const config = readConfig();
  const silent = (): void => {};
  const { kafka: java } = await findJavas(config, { registry: false }, silent);
  const jars = await ensureKafkaJars(config, silent);
  const flags = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...javaArguments(jars, mainClass)];
  const timeoutMs = options.timeoutMs ?? TOOL_TIMEOUT_MS;
  const result = await run(java.command, [...flags, ...args], {
    timeoutMs,
    ...(options.input === undefined ? {} : { input: options.input }),
  });
  if (result.code !== 0)
    throw new Error(`${mainClass} ended with ${result.code}: ${result.stderr.trim() || result.stdout.slice(-500)}`);
  return result;
}

/**
 * What Apache's console consumer prints of a partition, byte by byte. It ends after `maxMessages`, or when nothing came
 * for `timeoutMs`; records above `toOffset` are left out. Name the number where it is known: then nothing waits.
 */
export async function consoleConsumer(
  options: {
    topic: string;
    partition?: number;
    fromOffset?: bigint | 'earliest';
    toOffset?: bigint;
    isolation?: 'read_committed' | 'read_uncommitted';
    maxMessages?: number;
    timeoutMs?: number;
  } & OnBroker,
): Promise<ConsoleRecord[]> {
  const nullLiteral = uniqueName('null');
  const format = {
    'print.key': 'true',
    'print.offset': 'true',
    'print.timestamp': 'true',
    'null.literal': nullLiteral,
    'key.deserializer': BYTES,
    'value.deserializer': BYTES,
  };
  const { stdout, stderr } = await runTool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
    ...['--bootstrap-server', options.kafka ?? services().kafka, '--topic', options.topic],
    ...['--partition', String(options.partition ?? 0), '--offset', String(options.fromOffset ?? 'earliest')],
    ...['--isolation-level', options.isolation ?? 'read_committed'],
    ...[
      '--timeout-ms',
      String(options.timeoutMs ?? (options.maxMessages === undefined ? CONSOLE_IDLE_MS : WAIT_TIMEOUT_MS)),
    ],
    ...(options.maxMessages === undefined ? [] : ['--max-messages', String(options.maxMessages)]),
    ...Object.entries(format).flatMap(([key, value]) => ['--formatter-property', `${key}=${value}`]),
  ]);
  // It ends with code 0 whatever happened; only the time-out is a normal end, anything else may have cut the output short.
  if (/Error processing message/.test(stderr) && !/TimeoutException/.test(stderr))
    throw new Error(`the console consumer failed: ${stderr}`);
  const records = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseConsoleLine(line, nullLiteral));
  const { toOffset } = options;
  return toOffset === undefined ? records : records.filter((record) => record.offset <= toOffset);
}

/** Prints bytes as ASCII with \xNN for all else, the backslash included: no byte is lost and no line break slips in. */
const BYTES = 'org.apache.kafka.common.serialization.BytesDeserializer';

/** High watermark per partition, as GetOffsetShell tells it (ListOffsets, read uncommitted). */
export async function javaEndOffsets(topic: string, options: OnBroker = {}): Promise<Map<number, bigint>> {
  const args = ['--bootstrap-server', options.kafka ?? services().kafka, '--topic', topic, '--time', '-1'];
  const output = await kafkaTool('org.apache.kafka.tools.GetOffsetShell', args);
  const ends = output
    .trim()
    .split('\n')
    .map((line) => line.split(':'));
  return new Map(ends.map(([, partition, offset]) => [Number(partition), BigInt(offset ?? '-1')]));
}

/** ConsoleProducer: text records, written by the Java client with its own compression. Neither tab nor line break in them. */
export async function javaProduce(
  options: {
    topic: string;
    records: ReadonlyArray<{ key?: string | null; value: string | null }>;
    compression?: Compression;
    properties?: Readonly<Record<string, string>>;
  } & OnBroker,
): Promise<void> {
  const text = (field: string | null | undefined): string => {
    if (field && /[\t\n\r]/.test(field)) throw new Error('javaProduce takes neither tabs nor line breaks');
    return field ?? NULL_MARKER;
  };
  const input = options.records.map(({ key, value }) => `${text(key)}\t${text(value)}\n`).join('');
  const properties = { 'linger.ms': '50', ...options.properties };
  await kafkaTool(
    'org.apache.kafka.tools.ConsoleProducer',
    [
      ...['--bootstrap-server', options.kafka ?? services().kafka, '--topic', options.topic],
      ...['--compression-codec', options.compression ?? 'none'],
      ...['--reader-property', 'parse.key=true', '--reader-property', `null.marker=${NULL_MARKER}`],
      ...Object.entries(properties).flatMap(([key, value]) => ['--command-property', `${key}=${value}`]),
    ],
    { input },
  );
}

const NULL_MARKER = '~null~';

/** ProducerPerformance: many records of one size, quickly; with `transactionMs` in transactions of that length. */
export async function javaFill(
  options: {
    topic: string;
    records: number;
    recordBytes: number;
    compression?: Compression;
    transactionMs?: number;
    properties?: Readonly<Record<string, string>>;
  } & OnBroker,
): Promise<void> {
  const properties = {
    'compression.type': options.compression ?? 'none',
    'batch.size': '65536',
    'linger.ms': '5',
    ...options.properties,
  };
  await kafkaTool('org.apache.kafka.tools.ProducerPerformance', [
    ...['--bootstrap-server', options.kafka ?? services().kafka, '--topic', options.topic],
    ...['--num-records', String(options.records), '--record-size', String(options.recordBytes), '--throughput', '-1'],
    ...(options.transactionMs === undefined ? [] : ['--transaction-duration-ms', String(options.transactionMs)]),
    ...['--command-property', ...Object.entries(properties).map(([key, value]) => `${key}=${value}`)],
  ]);
}
