/** The end of the main job, for people: what was covered, what came of it, and whether everything adds up. */

import { describeCount, type JobView, rangeLines, tableLines, windowLines } from '@tidemark/control';
import { identityOf } from '@tidemark/jobs';
import { explainedOffsets, IDENTITY_TERMS, sumCounters } from '@tidemark/keyspace';
import { consolePort } from '@tidemark/stack';
import type { Repeats } from './crash.ts';
import type { Check, Reconciliation } from './reconcile.ts';
import type { RunNames } from './run-names.ts';
import type { Screen } from './screen.ts';

const SHORT_ID_LENGTH = 8;

/** True when every number is as it must be. */
export function report(
  screen: Screen,
  options: {
    readonly names: RunNames;
    readonly view: JobView;
    readonly reconciliation: Reconciliation;
    readonly repeats: Repeats | undefined;
  },
): boolean {
  const { names, view, reconciliation, repeats } = options;
  const { state, ranges } = view;
  if (state.pin === null) return false;

  screen.heading(
    `Window of ${names.jobId}: topic ${names.topic}, id ${state.pin.topicId.slice(0, SHORT_ID_LENGTH)}, pinned ${instant(state.pin.pinnedAtMs)}, start < offset <= end`,
  );
  print(screen, windowLines(state.pin.partitions));

  screen.heading('Ranges, and where every offset of them went');
  print(screen, rangeLines(view));

  const totals = sumCounters(ranges.map(({ counters }) => counters));
  const span = ranges.reduce((sum, { start, end }) => sum + (end - start), 0n);
  const window = state.pin.partitions.reduce((sum, { start, end }) => sum + (end - start), 0n);
  const counted = explainedOffsets(totals);
  const terms = IDENTITY_TERMS.map((term) => `${describeCount(totals[term])} ${TERM_WORDS[term]}`).join(' + ');
  screen.heading(`${terms} = ${describeCount(counted)} = end - start`);
  if (totals.retries > 0n || totals.maybeRedelivered > 0n) {
    screen.line(
      `beside them: ${describeCount(totals.retries)} retries, at most ${describeCount(totals.maybeRedelivered)} offsets delivered again by takeovers`,
    );
  }

  const checks: readonly Check[] = [
    { what: 'ranges tile the window: offsets', expected: window, found: span },
    {
      what: 'ranges whose numbers add up',
      expected: ranges.length,
      found: ranges.filter((range) => range.cursor === range.end && identityOf(range).kind === 'holds').length,
    },
    {
      what: 'records in the window = ok + skipped + dead + filtered',
      expected: reconciliation.recordsInWindow,
      found: totals.ok + totals.skipped + totals.deadLettered + totals.filtered,
    },
    { what: 'dead letters and lost offsets', expected: 0n, found: totals.deadLettered + totals.lost },
    ...reconciliation.checks,
    ...(repeats?.checks ?? []),
  ];
  if (repeats !== undefined) screen.line(repeats.line);
  screen.heading('Reconciled with the database, by SQL that knows nothing of the handler');
  print(
    screen,
    tableLines(
      [
        { title: '', of: (check: Check) => (isRight(check) ? 'ok' : 'WRONG') },
        { title: 'CHECK', of: ({ what }) => what },
        { title: 'EXPECTED', of: ({ expected }) => describeCount(expected), align: 'right' },
        { title: 'FOUND', of: ({ found }) => describeCount(found), align: 'right' },
      ],
      checks,
    ),
  );
  return state.state === 'COMPLETED' && checks.every(isRight);
}

const TERM_WORDS = {
  ok: 'ok',
  skipped: 'skipped',
  deadLettered: 'dead-lettered',
  filtered: 'filtered',
  markers: 'markers and aborted',
  compacted: 'compacted',
  lost: 'lost',
  parked: 'parked',
} as const;

function isRight({ expected, found }: Check): boolean {
  return BigInt(expected) === BigInt(found);
}

function print(screen: Screen, lines: readonly string[]): void {
  for (const line of lines) screen.line(`  ${line}`);
}

function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** `psql` is the command that opens the database. */
export function whereToLookNext(screen: Screen, { schema, topic, jobId }: RunNames, psql: string): void {
  screen.heading(`Everything keeps running. Watch it live: http://127.0.0.1:${consolePort()}/`);
  print(
    screen,
    tableLines(
      [
        { title: 'COMMAND', of: ([command]: readonly [string, string]) => command },
        { title: 'SHOWS', of: ([, shows]) => shows },
      ],
      [
        ['npx tidemark status', 'what runs, and where the logs are'],
        [`npx tidemark job show ${jobId}`, 'this job again'],
        [`npx tidemark topic read ${topic} --limit 3`, 'messages as they lie in the topic'],
        [`npx tidemark job submit --topic ${topic} --handler count`, 'a job of your own, over everything posted since'],
        ['npx tidemark relay status', 'how far the outbox is published'],
        [`${psql} -c 'table ${schema}.fanout_skips limit 5'`, 'decisions not to deliver, one by one'],
        ['npx tidemark down', 'stops everything; the data stays'],
      ],
    ),
  );
}
