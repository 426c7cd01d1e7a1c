// give-points.ts
import { defineHandler, idempotencyKey } from '@tidemark/handlers';
import { classifyPostgres, insertEachOnce, type SessionPool, underToken } from '@tidemark/handlers/postgres';

interface Purchase {
  readonly customer_id: bigint;
  readonly points: number;
}

export const createGivePoints = (pool: SessionPool) =>
  defineHandler<Purchase>({
    name: 'give-points',
    input: 'avro',
    idempotent: true,
    batchRecordsMax: 500,
    classify: classifyPostgres,
    handleBatch: (events, context) =>
      underToken(pool, {
        context,
        effect: async (sink) => {
          const rows = events.map((event) => ({
            event: idempotencyKey(event),
            customer_id: event.payload?.customer_id,
            points: event.payload?.points,
          }));
          const outcomes = await insertEachOnce(sink, { table: 'points_given', key: ['event'], rows });
          const given = rows.filter((_, place) => outcomes[place]?.kind === 'done').map(({ event }) => event);
          await sink.query(
            `update customers set points = customers.points + given.points
               from (select customer_id, sum(points) as points from points_given where event = any($1) group by 1) given
              where id = given.customer_id`,
            [given],
          );
          return outcomes;
        },
      }),
  });
