/** For `classify` of a handler whose sink is Postgres: what the SDK does not know by itself. The codes of broken connections, it does. */
import { codeOf } from '@tidemark/keyspace';
import type { FaultClass } from '../../handler.ts';

/** By SQLSTATE (appendix A of the manual of Postgres) and, where node-postgres gives none, by its text. */
export function classifyPostgres(error: unknown): FaultClass | undefined {
  if (!(error instanceof Error)) return undefined;
  const state = codeOf(error) ?? '';
  // Values that the tables refuse: no other attempt will change that.
  if (/^2[23]...$/.test(state)) return 'data';
  // A table or a right that is missing is no fault of the record: somebody has to mend the database.
  if (/^42...$/.test(state)) return 'unavailable';
  if (/connection terminated|timeout exceeded when trying to connect|connection error/i.test(error.message))
    return 'unavailable';
  return undefined;
}
