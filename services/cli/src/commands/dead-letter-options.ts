/** What the commands for dead letters have in common. */
import { Option } from 'commander';

export function classOption(): Option {
  return new Option('--class <word>', 'only those of one class of faults').choices(['data', 'transient', 'timeout']);
}
