/** The effects that a sink table holds, asked by a statement of its owner and read in pages, in the order of the log. */
import type { Effect } from '@tidemark/control';
import { isDeadLetterTopic } from '@tidemark/jobs';
import type { Client } from 'pg';
import { ExitCode, fail } from './exit-code.ts';
import { EFFECTS_PAGE_ROWS } from './limits.ts';

/**
 * `sql` selects one row for each effect: columns `partition` and `offset`, or one column with the idempotency key
 * (`topic/partition/offset`). It runs in a transaction that can only read, and sees one snapshot.
 */
export async function* sinkEffects(
  client: Client,
  sql: string,
  topic: string,
): AsyncGenerator<Effect, void, undefined> {
  if (isDeadLetterTopic(topic))
    fail(
      ExitCode.conflict,
      `a job over ${topic} leaves its effects under the records that the dead letters are of, which --sink-sql cannot tell: use --handlers, with a handler that has a verify`,
    );
  await client.query('begin transaction isolation level repeatable read read only');
  try {
    const inner = sql.trim().replace(/;$/, '');
    const { fields } = await client.query(`select * from (${inner}\n) as effects limit 0`);
    const columns = columnsOf(fields.map(({ name }) => name));
    const where = columns.isKey ? `where left(${columns.key}, ${[...topic].length + 1}) = $1` : '';
    await client.query(
      `declare effects no scroll cursor for
       select ${columns.partition} as "partition", ${columns.offset} as "offset", count(*) as "count"
       from (${inner}\n) as effects ${where} group by 1, 2 order by 1, 2`,
      columns.isKey ? [`${topic}/`] : [],
    );
    for (;;) {
      const { rows } = await client.query<{ partition: number | null; offset: string | null; count: string }>(
        `fetch ${EFFECTS_PAGE_ROWS} from effects`,
      );
      if (rows.length === 0) return;
      for (const { partition, offset, count } of rows) {
        if (partition === null || offset === null) failUnplaced(count);
        yield { partition, offset: BigInt(offset), count: BigInt(count) };
      }
    }
  } finally {
    await client.query('rollback').catch(() => {});
  }
}

function failUnplaced(count: string): never {
  fail(
    ExitCode.conflict,
    `${count} rows of --sink-sql have no partition or no offset (an idempotency key is topic/partition/offset): leave them out with a where`,
  );
}

interface SinkColumns {
  readonly partition: string;
  readonly offset: string;
  readonly key: string;
  readonly isKey: boolean;
}

function columnsOf(names: readonly string[]): SinkColumns {
  const [first] = names;
  if (names.includes('partition') && names.includes('offset'))
    return { partition: 'effects."partition"::int', offset: 'effects."offset"::bigint', key: '', isKey: false };
  if (names.length !== 1 || first === undefined) {
    fail(
      ExitCode.usage,
      `--sink-sql must select the columns "partition" and "offset", or one column with the idempotency key; it selects ${names.join(', ') || 'nothing'}`,
    );
  }
  const key = `effects."${first.replaceAll('"', '""')}"::text`;
  const part = (pattern: string): string => `substring(${key} from '${pattern}')`;
  return { partition: `${part('/([0-9]+)/[0-9]+$')}::int`, offset: `${part('/([0-9]+)$')}::bigint`, key, isKey: true };
}
