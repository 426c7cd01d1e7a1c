// handlers.ts
import { Pool } from 'pg';
import { createGivePoints } from './give-points.ts';
import { createShipOrders } from './ship-orders.ts';
import { createWelcome } from './welcome.ts';

const pool = new Pool(); // where to is in PGHOST, PGDATABASE, …
pool.on('error', () => {}); // an idle connection that breaks is replaced; unheard, it would end the worker

export const handlers = [createWelcome(pool), createShipOrders(pool), createGivePoints(pool)];
