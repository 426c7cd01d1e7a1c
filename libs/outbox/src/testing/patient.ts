import type { Patience } from '../adapters/postgres/index.ts';

/** Of a process that may stand still for longer than a relay would wait for an answer. */
export const PATIENT: Patience = {
  answerMs: 120_000,
  shortAnswerMs: 120_000,
  listenCheckMs: 5_000,
  listenAnswerMs: 120_000,
};
