/** The effects of a job as its handler tells them: the `verify` of a handler module, loaded and opened as a worker does. */
import type { Codec, JobState } from '@tidemark/contracts';
import { askedEffects, type EffectSource, plainText, type RecordEffect } from '@tidemark/control';
import { checkedVerdicts, type Handler, handlerDefaults, type Verdict } from '@tidemark/handlers';
import { assertNever, describeError } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { ExitCode, fail } from './exit-code.ts';
import type { Terminal } from './terminal.ts';

export interface HandlerAudit {
  readonly terminal: Pick<Terminal, 'note' | 'signal'>;
  readonly codec: Codec;
  readonly state: JobState;
  /** Modules, as `tidemark worker --handlers` takes them. */
  readonly files: readonly string[];
}

/** What the handler is, and what it says. `open` and `close` are called once. */
export async function withHandlerEffects<T>(
  audit: HandlerAudit,
  work: (effects: EffectSource, handler: Pick<Handler, 'idempotent'>) => Promise<T>,
): Promise<T> {
  // Loaded when needed, for a worker is most of what there is.
  const worker = await import('@tidemark/worker');
  const handler = handlerOf(audit, await worker.loadHandlers(audit.files));
  try {
    await handler.open?.();
  } catch (error) {
    fail(ExitCode.unavailable, `handler ${handler.name} could not be opened: ${describeError(error)}`);
  }
  try {
    return await work(effectsOf(audit, handler, worker), handler);
  } finally {
    await Promise.resolve(handler.close?.()).catch((error: unknown) =>
      audit.terminal.note(`handler ${handler.name} could not be closed: ${describeError(error)}`),
    );
  }
}

type Verifying = Handler & { readonly verify: NonNullable<Handler['verify']> };

function handlerOf({ state, files }: HandlerAudit, handlers: readonly Handler[]): Verifying {
  const { jobId, request } = state;
  const where = files.join(', ');
  const names = handlers.map(({ name }) => name).toSorted();
  const handler =
    handlers.find(({ name }) => name === request.handler) ??
    fail(
      ExitCode.notFound,
      `job ${jobId} is of handler ${request.handler}, and ${where} exports ${names.join(', ')}: name the file that exports it`,
    );
  if (hasVerify(handler)) return handler;
  fail(
    ExitCode.conflict,
    `handler ${handler.name} of ${where} has no verify, so it cannot say which effects are there: give it one (libs/handlers/README.md), or name its table with --sink-sql`,
  );
}

function hasVerify(handler: Handler): handler is Verifying {
  return handler.verify !== undefined;
}

type Worker = Pick<typeof import('@tidemark/worker'), 'decodeRecords' | 'eventOfRecord'>;

function effectsOf({ terminal, codec, state }: HandlerAudit, handler: Verifying, worker: Worker): EffectSource {
  const { topic, parameters } = state.request;
  const { name, input, verify, batchRecordsMax } = handler;
  const tell = (message: string, fields?: object): void =>
    terminal.note(plainText(`${name}: ${message}${fields === undefined ? '' : ` ${JSON.stringify(fields)}`}`));
  const log = { info: tell, warn: tell };

  async function payloadsOf(records: readonly LogRecord[]): Promise<ReturnType<Worker['decodeRecords']>> {
    if (input === 'raw') return { kind: 'decoded', payloads: records.map(({ value }) => value), undecodable: [] };
    return await worker.decodeRecords(codec, records, [...records.keys()]);
  }

  async function ask(partition: number, records: readonly LogRecord[], signal: AbortSignal): Promise<RecordEffect[]> {
    const decoding = await payloadsOf(records);
    if (decoding.kind === 'unavailable') throw new Error(`${decoding.dependency}: ${decoding.message}`);
    const bad = new Map(decoding.undecodable.map(({ index, error }) => [index, error]));
    const good = records.flatMap((record, index) => (bad.has(index) ? [] : [{ record, index }]));
    const effects: RecordEffect[] = records.map((_, index) => unknownEffect(`not decodable: ${bad.get(index)}`));
    if (good.length === 0) return effects;
    const events = good.map(({ record, index }) =>
      worker.eventOfRecord({ topic, topicId: state.pin?.topicId, partition }, record, decoding.payloads[index]),
    );
    const answer = await verify(events, { jobId: state.jobId, parameters, signal, log });
    for (const [place, verdict] of checkedVerdicts(answer, events.length).entries())
      effects[good[place]?.index ?? 0] = effectOf(verdict);
    return effects;
  }

  const asked = askedEffects(ask, { timeoutMs: handlerDefaults(handler).timeoutMs, signal: terminal.signal });
  return {
    isOrdered: asked.isOrdered,
    async effectsOf(partition, records) {
      const effects: RecordEffect[] = [];
      const size = batchRecordsMax ?? Math.max(1, records.length);
      for (let first = 0; first < records.length; first += size)
        effects.push(...(await asked.effectsOf(partition, records.slice(first, first + size))));
      return effects;
    },
  };
}

function effectOf(verdict: Verdict): RecordEffect {
  switch (verdict.kind) {
    case 'present':
      return { kind: 'found', count: 1n };
    case 'duplicate':
      return { kind: 'found', count: BigInt(verdict.count) };
    case 'missing':
    case 'none due':
      return { kind: verdict.kind };
    case 'unknown':
      return unknownEffect(verdict.reason);
    default:
      return assertNever(verdict);
  }
}

function unknownEffect(reason: string): RecordEffect {
  return { kind: 'unknown', reason };
}
