/** What an error of the client or the server means to us: SQLSTATE classes, and the client's own ways of losing a connection. */
import { CONNECTION_FAULTS, codeOf, describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { POOLER_ADVICE } from './own-session.ts';

interface Meaning {
  readonly code: string;
  readonly class: ErrorClass;
  readonly hint?: string;
}

const UNAVAILABLE: Meaning = { code: 'POSTGRES_UNAVAILABLE', class: ErrorClass.unavailable };
const BUSY: Meaning = { code: 'POSTGRES_BUSY', class: ErrorClass.transient };
const NOT_INSTALLED: Meaning = {
  code: 'OUTBOX_NOT_INSTALLED',
  class: ErrorClass.config,
  hint: 'Run "tidemark outbox install".',
};
/** The next start tells what exactly (installed.ts). */
const ALTERED: Meaning = {
  code: 'OUTBOX_UNFIT',
  class: ErrorClass.config,
  hint: 'Was the outbox altered by hand? Every start of the relay checks it.',
};
const NO_ENCODING: Meaning = {
  code: 'OUTBOX_UNFIT',
  class: ErrorClass.config,
  hint: 'A database with encoding SQL_ASCII takes any bytes for text. Mend the row that holds them; it and what follows is kept.',
};
const REFUSED: Meaning = { code: 'POSTGRES_REFUSED', class: ErrorClass.config };

const POOLED: Meaning = {
  code: 'POOLED_CONNECTION',
  class: ErrorClass.config,
  hint: `That is a pooler, and the relay needs a session of its own. ${POOLER_ADVICE}.`,
};

/** Exact states first, then classes (their first two characters). */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '57014': BUSY, // statement timeout
  '55P03': BUSY, // lock timeout
  '25006': { code: 'POSTGRES_READ_ONLY', class: ErrorClass.unavailable }, // not promoted yet, or closed by its keeper
  '25P03': UNAVAILABLE, // idle in transaction too long
  '3F000': NOT_INSTALLED,
  '42P01': NOT_INSTALLED,
  '42883': NOT_INSTALLED,
  '42703': ALTERED, // no such column
  '42804': ALTERED, // another type
  '22021': NO_ENCODING, // not valid in UTF-8
  '42501': REFUSED, // privilege
  '3D000': REFUSED, // no such database
  '08': UNAVAILABLE,
  '28': REFUSED, // login
  '40': BUSY, // serialization, deadlock
  '53': UNAVAILABLE, // out of connections, memory, disk
  '57': UNAVAILABLE, // shutdown, crash, starting up
  '58': UNAVAILABLE, // system error
};

/** Messages of the client without a code. */
const LOST_CONNECTION =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection ended|not queryable|pool after calling end/i;

export function toTidemarkError(thrown: unknown, address: string): TidemarkError {
  if (thrown instanceof TidemarkError) return thrown;
  // Node groups the failures to reach several addresses of one name, with an empty message.
  const fault: unknown = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors[0] : thrown;
  const meaning = meaningOf(fault);
  const hint = meaning.hint === undefined ? '' : ` ${meaning.hint}`;
  return new TidemarkError({
    code: meaning.code,
    class: meaning.class,
    message: `Postgres at ${address}: ${describeError(fault)}.${hint}`,
    context: { sqlState: codeOf(fault) },
    cause: thrown,
  });
}

/** PgBouncer does not know what a session is asked to begin with; a server names what it does not know otherwise. */
const POOLER_SAYS = /unsupported startup parameter/i;

function meaningOf(thrown: unknown): Meaning {
  if (POOLER_SAYS.test(describeError(thrown))) return POOLED;
  const code = codeOf(thrown) ?? '';
  const known = MEANINGS[code] ?? MEANINGS[code.slice(0, 2)];
  if (known !== undefined) return known;
  if (CONNECTION_FAULTS.has(code) || LOST_CONNECTION.test(describeError(thrown))) return UNAVAILABLE;
  return { code: 'POSTGRES_ERROR', class: ErrorClass.bug };
}
