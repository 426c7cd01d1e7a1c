/** What this room needs of a logger; pino is one. */
export interface KafkaLogger {
  debug(fields: object, event: string): void;
  warn(fields: object, event: string): void;
}

export const silentLogger: KafkaLogger = { debug: () => undefined, warn: () => undefined };
