/** The handlers of one worker process: found by name, opened at the first need, closed at the end. */
import { classifyFault, type Handler } from '@tidemark/handlers';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';

export class HandlerSet {
  readonly #handlers = new Map<string, Handler>();
  readonly #opened = new Map<string, Promise<void>>();

  /** Throws TidemarkError `config` (DUPLICATE_HANDLER) when two have one name. */
  constructor(handlers: Iterable<Handler>) {
    for (const handler of handlers) {
      if (this.#handlers.has(handler.name)) {
        throw new TidemarkError({
          code: 'DUPLICATE_HANDLER',
          class: ErrorClass.config,
          message: `two handlers are named ${handler.name}: jobs could not tell them apart`,
          context: { handler: handler.name },
        });
      }
      this.#handlers.set(handler.name, handler);
    }
  }

  get(name: string): Handler | undefined {
    return this.#handlers.get(name);
  }

  all(): readonly Handler[] {
    return [...this.#handlers.values()];
  }

  /** Once per process. A failure is an outage of what the handler needs: TidemarkError `unavailable`, and the next call tries anew. */
  async open(handler: Handler): Promise<void> {
    if (handler.open === undefined) return;
    const opened = this.#opened.get(handler.name) ?? handler.open();
    this.#opened.set(handler.name, opened);
    try {
      await opened;
    } catch (error) {
      this.#opened.delete(handler.name);
      throw notOpened(handler, error);
    }
  }

  async close(logger: Logger): Promise<void> {
    for (const name of this.#opened.keys()) {
      try {
        await this.#handlers.get(name)?.close?.();
      } catch (error) {
        logger.warn({ handler: name, error }, 'handler.close_failed');
      }
    }
    this.#opened.clear();
  }
}

function notOpened(handler: Handler, cause: unknown): TidemarkError {
  const fault = classifyFault(cause, handler.classify);
  const dependency = fault.kind === 'unavailable' ? fault.dependency : `handler ${handler.name}`;
  return new TidemarkError({
    code: 'HANDLER_NOT_OPEN',
    class: ErrorClass.unavailable,
    message: `handler ${handler.name} could not be opened: ${describeError(cause)}`,
    context: { dependency, handler: handler.name },
    cause,
  });
}
