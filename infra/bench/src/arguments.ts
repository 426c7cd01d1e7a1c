/** What the command line asks for. */
import { parseArgs } from 'node:util';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { BLOAT_DAYS, BLOAT_ROWS_PER_DAY, BLOAT_VALUE_BYTES, RELAY_ROWS } from './limits.ts';
import { BLOCKING_PEERS, RELAY_PEERS, TRAVERSE_PEERS, unknownPeers } from './peer-names.ts';

const USAGE =
  'usage: npm run bench -- traverse [--peers [NAME,…]] [--peers-dir DIR] | traverse --sizes | blocking [--peers [NAME,…]] [--peers-dir DIR] | fairness | audit | relay [--rows N] [--peers [NAME,…]] [--peers-dir DIR] | bloat [--rows N] [--days N] [--bytes N] [--storage NAME=VALUE,…]';

export interface PeersAsked {
  readonly peers: readonly string[];
  readonly peersDir: string | undefined;
}

export type Order =
  | ({ readonly work: 'traverse' | 'blocking' } & PeersAsked)
  | { readonly work: 'sizes' | 'fairness' | 'audit' }
  | ({ readonly work: 'relay'; readonly rows: number } & PeersAsked)
  | {
      readonly work: 'bloat';
      readonly rowsPerDay: number;
      readonly days: number;
      readonly valueBytes: number;
      readonly storage: string | undefined;
    };

/** Throws TidemarkError `config` (USAGE). */
export function readArguments(args: readonly string[]): Order {
  const { values, positionals } = parse(
    args.map((argument, place) => (isBarePeers(args, place) ? '--peers=' : argument)),
  );
  const work = positionals[0] ?? '';
  switch (work) {
    case 'traverse':
      if (values.sizes === true) return { work: 'sizes' };
      return { work: 'traverse', ...peersOf(values, TRAVERSE_PEERS) };
    case 'blocking':
      return { work: 'blocking', ...peersOf(values, BLOCKING_PEERS) };
    case 'fairness':
    case 'audit':
      return { work };
    case 'relay':
      return { work: 'relay', rows: numberOf(values, 'rows', RELAY_ROWS), ...peersOf(values, RELAY_PEERS) };
    case 'bloat':
      return {
        work: 'bloat',
        rowsPerDay: numberOf(values, 'rows', BLOAT_ROWS_PER_DAY),
        days: numberOf(values, 'days', BLOAT_DAYS, BLOAT_DAYS),
        valueBytes: numberOf(values, 'bytes', BLOAT_VALUE_BYTES),
        storage: values.storage,
      };
    default:
      throw usage(`unknown work "${work}"`);
  }
}

export function usage(reason: string): TidemarkError {
  return new TidemarkError({ code: 'USAGE', class: ErrorClass.config, message: `${reason}; ${USAGE}` });
}

type Values = ReturnType<typeof parse>['values'];

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        peers: { type: 'string' },
        'peers-dir': { type: 'string' },
        sizes: { type: 'boolean' },
        rows: { type: 'string' },
        days: { type: 'string' },
        bytes: { type: 'string' },
        storage: { type: 'string' },
      },
    });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}

function numberOf(values: Values, name: 'rows' | 'days' | 'bytes', usual: number, least = 1): number {
  const number = Number(values[name] ?? usual);
  if (!Number.isSafeInteger(number) || number < least) throw usage(`--${name} must be a whole number from ${least}`);
  return number;
}

/** `--peers` without names means the usual ones; the parser knows no option whose value may be left out. */
function isBarePeers(args: readonly string[], place: number): boolean {
  return args[place] === '--peers' && (args[place + 1]?.startsWith('--') ?? true);
}

function peersOf(values: Values, usual: readonly string[]): PeersAsked {
  const named = values.peers?.split(',').filter((name) => name !== '');
  const peers = named?.length === 0 ? usual : (named ?? []);
  const unknown = unknownPeers(peers, usual);
  if (unknown.length > 0) throw usage(`unknown peers ${unknown.join(', ')}`);
  return { peers, peersDir: values['peers-dir'] };
}
