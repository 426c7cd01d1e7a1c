// welcome-check.ts
import type { Queryable } from '@tidemark/handlers/postgres';
import { checkVerify, eventsOf } from '@tidemark/handlers/testing';
import { createWelcome } from './welcome.ts';

export const checkWelcome = (sink: Queryable) =>
  checkVerify(createWelcome(sink), {
    events: eventsOf([{ user_id: 1n, email: 'one@example.org' }, { user_id: 2n, email: null }, null]),
    reset: () => sink.query('delete from welcome_mails'),
  });
