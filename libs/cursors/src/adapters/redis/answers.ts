/** The one table from what a range script returns to what the port says. A script answers with one line: status, then fields. */
import { ErrorClass, fromFixedWidth, TidemarkError } from '@tidemark/keyspace';

const ANSWERS = {
  incomplete: () => ({ kind: 'incomplete' }) as const,
  'not-running': () => ({ kind: 'not running' }) as const,
  fenced: () => ({ kind: 'fenced' }) as const,
  granted: ([cursor = '', horizon = '', end = '', token = '', parkedCount]: readonly string[]) =>
    ({
      kind: 'granted',
      cursor: fromFixedWidth(cursor),
      horizon: fromFixedWidth(horizon),
      end: fromFixedWidth(end),
      token,
      parkedCount: Number(parkedCount),
    }) as const,
  busy: ([readyAtMs]: readonly string[]) => ({ kind: 'busy', readyAtMs: Number(readyAtMs) }) as const,
  closed: ([status]: readonly string[]) =>
    ({ kind: 'closed', status: status === 'done' ? 'done' : 'stopped' }) as const,
  renewed: () => ({ kind: 'renewed' }) as const,
  claimed: ([horizon = '', end = '']: readonly string[]) =>
    ({ kind: 'claimed', horizon: fromFixedWidth(horizon), end: fromFixedWidth(end) }) as const,
  advanced: ([end = '', done]: readonly string[]) =>
    ({ kind: 'advanced', end: fromFixedWidth(end), done: done === '1' }) as const,
  moved: ([cursor = '']: readonly string[]) => ({ kind: 'cursor moved', cursor: fromFixedWidth(cursor) }) as const,
  bounds: ([horizon = '', end = '']: readonly string[]) =>
    ({ kind: 'out of bounds', horizon: fromFixedWidth(horizon), end: fromFixedWidth(end) }) as const,
  settled: ([done]: readonly string[]) => ({ kind: 'settled', done: done === '1' }) as const,
  'not-parked': ([offset = '']: readonly string[]) => ({ kind: 'not parked', offset: fromFixedWidth(offset) }) as const,
  split: () => ({ kind: 'split' }) as const,
  'refused-closed': () => ({ kind: 'refused', why: 'closed' }) as const,
  'refused-outside': () => ({ kind: 'refused', why: 'outside' }) as const,
  'refused-claimed': () => ({ kind: 'refused', why: 'claimed' }) as const,
  'refused-full': () => ({ kind: 'refused', why: 'full' }) as const,
  released: () => ({ kind: 'released' }) as const,
  stopped: () => ({ kind: 'stopped' }) as const,
};

type Status = keyof typeof ANSWERS;
type AnswerTo<S extends Status> = ReturnType<(typeof ANSWERS)[S]>;

/** What each operation may answer. */
const REFUSALS = ['incomplete', 'not-running', 'fenced'] as const;
export const Expected = {
  lease: ['granted', 'busy', 'closed', 'incomplete', 'not-running'],
  renew: ['renewed', ...REFUSALS],
  claim: ['claimed', ...REFUSALS],
  advance: ['advanced', 'moved', 'bounds', ...REFUSALS],
  settle: ['settled', 'not-parked', ...REFUSALS],
  split: ['split', 'refused-closed', 'refused-outside', 'refused-claimed', 'refused-full', 'incomplete', 'not-running'],
  release: ['released', ...REFUSALS],
  stop: ['stopped', ...REFUSALS],
} as const satisfies Record<string, readonly Status[]>;

export function readAnswer<S extends Status>(text: unknown, expected: readonly S[]): AnswerTo<S> {
  const [word, ...fields] = String(text).split(' ');
  const status = expected.find((candidate) => candidate === word);
  if (status === undefined)
    throw new TidemarkError({
      code: 'UNEXPECTED_SCRIPT_ANSWER',
      class: ErrorClass.bug,
      message: `a script answered ${JSON.stringify(text)}, expected one of ${expected.join(', ')}`,
    });
  // The table is indexed by one S, which the compiler sees as all of them at once.
  const read = ANSWERS[status] as (fields: readonly string[]) => AnswerTo<S>;
  return read(fields);
}
