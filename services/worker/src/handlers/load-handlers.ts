/** Loads the modules that `TIDEMARK_HANDLERS` names. A mistake ends the start with the file and the reason. */
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Handler, shapeFaults } from '@tidemark/handlers';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';

/** Every handler that the modules export, by name or in an array `handlers`. Throws TidemarkError `config` (BAD_HANDLER_MODULE). */
export async function loadHandlers(modulePaths: readonly string[]): Promise<readonly Handler[]> {
  const handlers: Handler[] = [];
  for (const path of modulePaths) handlers.push(...(await loadModule(path)));
  return handlers;
}

async function loadModule(path: string): Promise<readonly Handler[]> {
  const file = resolve(path);
  // Node would speak of a module and of the one that imports it, which is ours.
  if (!existsSync(file))
    throw badModule(path, isAbsolute(path) ? 'no such file' : `no such file, looked for from ${process.cwd()}`);
  let exports: Readonly<Record<string, unknown>>;
  try {
    exports = await import(pathToFileURL(file).href);
  } catch (error) {
    throw badModule(path, `it does not load: ${describeError(error)}`, error);
  }
  const found = new Map<unknown, string>();
  for (const [name, value] of Object.entries(exports)) {
    if (name === 'handlers')
      for (const [place, item] of listOf(path, value).entries()) found.set(item, `handlers[${place}]`);
    else if (looksLikeHandler(value)) found.set(value, name);
  }
  if (found.size === 0)
    throw badModule(path, 'it exports no handler (made by defineHandler, as a named export or in an array `handlers`)');
  return [...found].map(([candidate, name]) => checked(path, name, candidate));
}

function listOf(path: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw badModule(path, '`handlers` must be an array');
}

/** Modules export other things, too: only what has a part of a handler's shape is held to all of it. */
function looksLikeHandler(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['handle', 'handleBatch', 'input', 'idempotent'].some((field) => field in value)
  );
}

function checked(path: string, name: string, candidate: unknown): Handler {
  const faults = shapeFaults(candidate);
  if (faults.length > 0) throw badModule(path, `${name} is not a usable handler: ${faults.join('; ')}`);
  return candidate as Handler;
}

function badModule(path: string, reason: string, cause?: unknown): TidemarkError {
  return new TidemarkError({
    code: 'BAD_HANDLER_MODULE',
    class: ErrorClass.config,
    message: `handler module ${path}: ${reason}`,
    context: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
