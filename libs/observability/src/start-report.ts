import type { z } from 'zod';
import type { Logger } from './logger.ts';
import { redactSettings } from './redact.ts';
import { type Environment, unknownVariables } from './settings.ts';

export interface ConfigReport {
  readonly logger: Logger;
  readonly config: Readonly<Record<string, unknown>>;
  readonly settings: z.ZodObject;
  readonly env: Environment;
}

/** At start: the effective configuration without its secrets, and a warning for variables that nothing reads. */
export function reportConfig(report: ConfigReport): void {
  report.logger.info({ config: redactSettings(report.config) }, 'config.effective');
  const names = unknownVariables(report);
  if (names.length > 0) report.logger.warn({ names }, 'config.unknown_variables');
}
