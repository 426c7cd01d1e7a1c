/** `tidemark topic read TOPIC`: bounded, decoded where the value is Avro, byte-exact where it is not. */

import { type Codec, jsonText } from '@tidemark/contracts';
import { planWindow, readWindow } from '@tidemark/control';
import type { LogRecord } from '@tidemark/log';
import type { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import { withLog } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { RECORDS_READ_DEFAULT } from '../limits.ts';
import { Format, instant, printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { type Shown, shownBytes, shownText, shownValue } from '../shown-record.ts';
import { FROM_HELP, orFail, TO_HELP } from './window.ts';

interface ReadOptions {
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

export function registerTopic(program: Command, { group, command, run }: Registrar): void {
  const topic = group(program, 'topic', 'look into topics');
  const read = command(topic, 'read <topic>', 'print the committed records of a window, partition by partition')
    .option('--from <place>', FROM_HELP, 'earliest')
    .option('--to <place>', TO_HELP, 'now')
    .option('--limit <count>', 'records at most', wholeNumber({ min: 1 }), RECORDS_READ_DEFAULT);
  run(read, async (context, [name]: [string], options: ReadOptions) => {
    const { terminal, format } = context;
    return withLog(context, ['kafka'], async ({ cluster, codec, jobLog }) => {
      const plan = orFail(
        await planWindow(
          { catalog: cluster.catalog, states: () => jobLog.states() },
          { topic: name, from: options.from, to: options.to },
        ),
      );
      const rows: RecordRow[] = [];
      let cutShort = false;
      let isMore = false;
      for await (const item of readWindow(cluster, plan.topic, plan.partitions, { signal: terminal.signal })) {
        if (item.kind === 'cut short') {
          cutShort = true;
          terminal.note(`partition ${item.partition} could not be read beyond ${item.at}: ${item.reason}`);
          continue;
        }
        if (rows.length === options.limit) {
          isMore = true;
          break;
        }
        const row = await rowOf(item.partition, item.record, codec);
        rows.push(row);
        if (format === Format.table) terminal.out(lineOf(row));
        else if (format === Format.jsonl) terminal.out(jsonText(row));
      }
      if (format === Format.json) printRows(terminal, format, { rows, columns: [], none: '' });
      if (format === Format.table && rows.length === 0) terminal.out('no records in this window');
      if (isMore)
        terminal.note(`there are more than ${options.limit} records; --limit shows more, --from and --to others`);
      return cutShort ? ExitCode.failed : ExitCode.ok;
    });
  });
}

interface RecordRow {
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: string;
  readonly key: Shown;
  readonly value: Shown;
  readonly headers: readonly (readonly [string, Shown])[];
}

async function rowOf(partition: number, record: LogRecord, codec: Codec): Promise<RecordRow> {
  return {
    partition,
    offset: record.offset,
    timestamp: instant(record.timestampMs),
    key: shownBytes(record.key),
    value: await shownValue(record.value, codec),
    headers: record.headers.map(([name, value]) => [name, shownBytes(value)] as const),
  };
}

function lineOf({ partition, offset, timestamp, key, value }: RecordRow): string {
  return `${partition}:${offset}  ${timestamp}  ${shownText(key)}  ${shownText(value)}`;
}
