// ship-orders.ts
import { defineHandler, skip } from '@tidemark/handlers';
import { classifyPostgres, type Queryable, whenState } from '@tidemark/handlers/postgres';

export const createShipOrders = (sink: Queryable) =>
  defineHandler<{ readonly id: bigint }>({
    name: 'ship-orders',
    input: 'avro',
    idempotent: true,
    concurrency: 8,
    classify: classifyPostgres,
    handle: async ({ payload: order }) => {
      if (order === null) return skip('deleted');
      return await whenState(sink, {
        table: 'orders',
        key: { id: order.id },
        column: 'state',
        is: 'PAID',
        becomes: 'SHIPPED',
      });
    },
  });
