import { redactSettings } from '@tidemark/observability';
import type { Command } from 'commander';
import { printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';

export function registerConfig(program: Command, { command, run }: Registrar): void {
  const config = command(program, 'config', 'show the settings that are in effect, without their secrets');
  run(config, async ({ terminal, effective, format }) => {
    const rows = Object.entries(redactSettings(effective.config)).map(([name, value]) => ({
      name,
      value: Array.isArray(value) ? value.join(',') : String(value),
      source: effective.sources[name] ?? 'default',
    }));
    printRows(terminal, format, {
      rows,
      columns: [
        { title: 'SETTING', of: ({ name }) => name },
        { title: 'VALUE', of: ({ value }) => value },
        { title: 'FROM', of: ({ source }) => source },
      ],
      none: 'no settings',
    });
  });
}
