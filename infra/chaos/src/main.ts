/** `npm run chaos -- [options]`: one JSON line on stdout, progress on stderr, exit code 1 when a promise was broken. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { errorLine, exitCodeOf } from '@tidemark/observability';
import { readConfig, up } from '@tidemark/stack';
import { guard } from './guard/guard.ts';
import { MINUTES_DEFAULT, MINUTES_MAX, SEED_MAX } from './limits.ts';
import { relay } from './relay/relay.ts';
import { runChaos } from './run.ts';
import type { SystemUnderTest } from './system.ts';
import { traversal } from './traversal/traversal.ts';

const SYSTEMS: readonly SystemUnderTest[] = [traversal, relay, guard];

const USAGE = `usage: npm run chaos -- [--minutes M] [--seed N] [--only ${SYSTEMS.map(({ name }) => name).join(' | ')}] [--faults KIND,KIND,…]`;

const progress = (line: string): void => console.error(line);

interface Arguments {
  readonly system: SystemUnderTest;
  readonly minutes: number;
  readonly seed: number;
  readonly kinds: readonly string[];
}

async function main(args: readonly string[]): Promise<number> {
  const { system, minutes, seed, kinds } = readArguments(args);
  const { postgres, registry } = await up({ onProgress: progress });
  progress(`${system.name} under faults for ${minutes} minutes, seed ${seed}`);
  const logsFolder = join(readConfig().folder, 'logs', `chaos-${system.name}-${seed}`);
  const { report, violations } = await runChaos(system, {
    interrupted: interruption(),
    minutes,
    seed,
    kinds,
    postgres,
    registry,
    logsFolder,
    progress,
  });
  console.log(JSON.stringify(report));
  if (violations.length === 0) return 0;
  progress(`BROKEN, seed ${seed}:`);
  for (const violation of violations) progress(`  - ${violation}`);
  progress(`the logs of all programs are in ${logsFolder}`);
  return 1;
}

/** Ctrl-C ends the run as a failure of its own does: whatever it started is ended in order. The second one does not wait. */
function interruption(): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    process.once('SIGINT', () => {
      process.once('SIGINT', () => process.exit(130));
      const message = 'the run was interrupted';
      reject(new TidemarkError({ code: 'INTERRUPTED', class: ErrorClass.transient, message }));
    });
  });
  interrupted.catch(() => undefined); // it may come before anybody listens
  return interrupted;
}

function readArguments(args: readonly string[]): Arguments {
  const values = parsed(args);
  const system = SYSTEMS.find(({ name }) => name === values.only);
  if (system === undefined) throw usage(`unknown system ${JSON.stringify(values.only)}`);
  const known = system.kinds.map(({ kind }) => kind);
  const usual = system.kinds.filter(({ isPlanted = false }) => !isPlanted).map(({ kind }) => kind);
  const kinds = values.faults === undefined ? usual : values.faults.split(',').filter((kind) => kind !== '');
  const unknown = kinds.filter((kind) => !known.includes(kind));
  if (unknown.length > 0) throw usage(`unknown faults ${unknown.join(', ')} (known: ${known.join(', ')})`);
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= MINUTES_MAX)) throw usage(`--minutes must be above 0 and at most ${MINUTES_MAX}`);
  const seed = Number(values.seed ?? Math.floor(Math.random() * SEED_MAX));
  if (!Number.isInteger(seed) || seed < 0 || seed > SEED_MAX)
    throw usage(`--seed must be a whole number to ${SEED_MAX}`);
  return { system, minutes, seed, kinds };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: String(MINUTES_DEFAULT) },
        seed: { type: 'string' },
        only: { type: 'string', default: traversal.name },
        faults: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}

function usage(reason: string): TidemarkError {
  return new TidemarkError({ code: 'USAGE', class: ErrorClass.config, message: `${reason}; ${USAGE}` });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(errorLine('chaos', error));
  process.exit(exitCodeOf(error)); // faults that were under way would wait for minutes for what is gone
}
