// give-points-check.ts
import { eventsOf, interruptEverywhere } from '@tidemark/handlers/testing';
import type { Pool } from 'pg';
import { createGivePoints } from './give-points.ts';

export const checkGivePoints = (pool: Pool) =>
  interruptEverywhere((probe) => createGivePoints(probe.pool(pool)), {
    events: eventsOf([1n, 2n, 1n].map((customer_id) => ({ customer_id, points: 10 }))),
    reset: () => pool.query('delete from points_given; delete from tidemark_tokens; update customers set points = 0'),
    snapshot: async () => (await pool.query('select id, points from customers order by id')).rows,
    fences: true,
  });
