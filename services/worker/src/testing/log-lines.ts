/** A logger that keeps its lines. For tests. */
import { createLogger, type Logger } from '@tidemark/observability';

export interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

export interface KeptLog {
  readonly logger: Logger;
  /** From `info` up, as an installation keeps them. */
  readonly lines: readonly LogLine[];
  said(event: string): readonly LogLine[];
}

export function keptLog(): KeptLog {
  const lines: LogLine[] = [];
  const write = (text: string): void => {
    lines.push(JSON.parse(text) as LogLine);
  };
  const logger = createLogger({ program: 'worker', level: 'info', destination: { write } });
  return { logger, lines, said: (event) => lines.filter(({ msg }) => msg === event) };
}
