/** What the commands for dead letters have in common. */
import { Option } from 'commander';
import { ExitCode, fail } from '../exit-code.ts';

export interface Place {
  readonly partition: number;
  readonly offset: bigint;
}

export function placeOf(text: string): Place {
  const match = /^(\d{1,9}):(\d{1,18})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined)
    fail(ExitCode.usage, `a place is PARTITION:OFFSET, not ${JSON.stringify(text)}`);
  return { partition: Number(match[1]), offset: BigInt(match[2]) };
}

export function classOption(): Option {
  return new Option('--class <word>', 'only those of one class of faults').choices(['data', 'transient', 'timeout']);
}
