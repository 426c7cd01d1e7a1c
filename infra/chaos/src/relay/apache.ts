/** What a topic holds, as Apache's console consumer prints it, read-committed. */
import { kafkaTool } from '@tidemark/testkit';
import { CONSOLE_MS_MAX } from './limits.ts';

export interface PrintedRecord {
  readonly partition: number;
  readonly offset: bigint;
  readonly id: string;
  readonly key: string;
  /** Null is a tombstone. */
  readonly value: Buffer | null;
}

/** A word that is no value of ours, because the consumer prints null and the value of the same bytes alike. */
const NULL_WORD = '~no value~';

/** It knows no end: it ends when nothing came for `idleMs`. */
export async function readByApache(kafka: string, topic: string, idleMs: number): Promise<readonly PrintedRecord[]> {
  const format = {
    'print.partition': 'true',
    'print.offset': 'true',
    'print.headers': 'true',
    'print.key': 'true',
    'null.literal': NULL_WORD,
    'value.deserializer': 'org.apache.kafka.common.serialization.BytesDeserializer',
  };
  const args = [
    ...['--bootstrap-server', kafka, '--topic', topic, '--from-beginning', '--isolation-level', 'read_committed'],
    ...['--timeout-ms', String(idleMs)],
    ...Object.entries(format).flatMap(([name, value]) => ['--formatter-property', `${name}=${value}`]),
  ];
  const output = await kafkaTool('org.apache.kafka.tools.consumer.ConsoleConsumer', args, {
    timeoutMs: CONSOLE_MS_MAX,
  });
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map(parsePrinted);
}

/** `Partition:2\tOffset:7\tce_id:…,ce_type:…\tkey\tvalue`; of the value what is not printable, or a backslash, is `\xNN`. */
export function parsePrinted(line: string): PrintedRecord {
  const match = /^Partition:(\d+)\tOffset:(\d+)\t([^\t]*)\t([^\t]*)\t([^\t]*)$/.exec(line);
  const id = /(?:^|,)ce_id:([^,]*)/.exec(match?.[3] ?? '')?.[1];
  if (match === null || id === undefined)
    throw new Error(`the console consumer printed an unexpected line: ${line.slice(0, 300)}`);
  const [, partition, offset, , key = '', value = ''] = match;
  return { partition: Number(partition), offset: BigInt(offset ?? '-1'), id, key, value: bytesOf(value) };
}

function bytesOf(printed: string): Buffer | null {
  if (printed === NULL_WORD) return null;
  const text = printed.replaceAll(/\\x([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(text, 'latin1');
}
