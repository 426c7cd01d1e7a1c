/** `node infra/stack/src/main.ts up|down|status`: the launcher by itself, without the programs that `tidemark up` starts on it. */
import { parseArgs } from 'node:util';
import { messageOf, StackError } from './errors.ts';
import { down, status, up } from './stack.ts';

const USAGE = 'usage: main.ts up | down | status [--json]';

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  });
  const onProgress = (line: string): void => console.error(line);
  const command: string = positionals[0] ?? 'help';
  switch (command) {
    case 'up': {
      const { mode, ...addresses } = await up({ onProgress });
      console.log(
        values.json ? JSON.stringify({ mode, ...addresses }) : `${mode}: ${Object.values(addresses).join('  ')}`,
      );
      return 0;
    }
    case 'down':
      await down({ onProgress });
      return 0;
    case 'status':
      return printStatus(values.json);
    default:
      console.error(USAGE);
      return 2;
  }
}

async function printStatus(json: boolean): Promise<number> {
  const services = await status();
  if (json) console.log(JSON.stringify(services));
  else {
    for (const { name, mode, address, healthy, pid, fault } of services) {
      const state = healthy ? 'healthy' : `DOWN: ${fault ?? 'unknown'}`;
      console.log(
        `${name.padEnd(9)} ${mode.padEnd(7)} ${(address ?? '-').padEnd(58)} ${state}${pid === undefined ? '' : ` (pid ${pid})`}`,
      );
    }
  }
  return services.every((service) => service.healthy) ? 0 : 6;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode =
    error instanceof StackError ? error.exitCode : error instanceof TypeError && 'code' in error ? 2 : 1;
}
