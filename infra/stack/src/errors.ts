/** What the launcher cannot provide. `exitCode` is the one that the command line promises for it (6: unavailable). */
export class StackError extends Error {
  readonly code = 'STACK_UNAVAILABLE';
  readonly exitCode = 6;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StackError';
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
