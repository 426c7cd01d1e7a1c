/** Runs seeds: `node infra/simulation/src/main.ts --seed N [--trace]`, or `--from N --count N`. */
import { parseArgs } from 'node:util';
import { audit } from './audit/auditor.ts';
import { simulate } from './simulate.ts';
import { printEvent, tracingLogger } from './trace.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.count) : 1;
const traced = values.trace ? { onEvent: printEvent, loggerOf: tracingLogger } : {};
let failed = 0;
for (let seed = first; seed < first + count; seed++) {
  const faults = audit(await simulate(seed, traced));
  if (faults.length === 0) continue;
  failed += 1;
  console.log(`seed ${seed}:`);
  for (const fault of faults) console.log(`  ${fault}`);
}
console.log(`${count} seeds, ${failed} with faults`);
process.exitCode = failed === 0 ? 0 : 1;
