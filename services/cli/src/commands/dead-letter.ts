/** `tidemark deadletter list | show | export | edit | redrive`: what jobs gave up on, by what went wrong, one by one, and byte by byte. */

import {
  type Column,
  type DeadLetter,
  deadLetterAt,
  deadLetters,
  type LetterGroup,
  LetterGroups,
  letterTopic,
  plainText,
  shownBytes,
  shownText,
  shownValue,
} from '@tidemark/control';
import type { LogConnections } from '@tidemark/control/connect';
import { placeText } from '@tidemark/jobs';
import type { TopicDescription } from '@tidemark/log';
import type { Command } from 'commander';
import { type Place, recordPlace } from '../arguments.ts';
import { type Context, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { instant, lineOfJson, printOne, printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { registerEdit } from './dead-letter-edit.ts';
import { classOption } from './dead-letter-options.ts';
import { registerRedrive } from './dead-letter-redrive.ts';

interface FilterOptions {
  readonly job?: string;
  readonly class?: string;
}

export function registerDeadLetter(program: Command, { group, command, run }: Registrar): void {
  const root = group(program, 'deadletter', 'look into the records that jobs gave up on');
  registerEdit(root, { group, command, run });
  registerRedrive(root, { group, command, run });
  const filtered = (nameAndArguments: string, description: string): Command =>
    command(root, nameAndArguments, description).option('--job <id>', 'only those of one job').addOption(classOption());
  run(filtered('list <topic>', 'how many, by what went wrong'), (context, [topic]: [string], options: FilterOptions) =>
    withLetters(context, topic, (connections, letters) => list(context, connections, letters, options)),
  );
  run(
    command(root, 'show <topic>', 'one of them').argument(
      '<place>',
      'PARTITION:OFFSET, as the list names it',
      recordPlace,
    ),
    (context, [topic, at]: [string, Place]) =>
      withLetters(context, topic, (connections, letters) => showOne(context, connections, letters, at)),
  );
  run(
    filtered('export <topic>', 'all of them, a JSON document a line, with every byte'),
    (context, [topic]: [string], options: FilterOptions) =>
      withLetters(context, topic, (connections, letters) =>
        visitLetters(context, connections, { letters, options }, (letter) =>
          context.terminal.out(lineOfJson(letterJson(letter))),
        ),
      ),
  );
}

/** A topic that never had a dead letter has no topic for them: that is good news, and no fault. */
function withLetters(
  context: Context,
  topic: string,
  work: (connections: LogConnections, letters: TopicDescription) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withLog(context, ['kafka'], async (connections) => {
    const letters = await letterTopic(connections.cluster, topic);
    if (letters !== undefined) return await work(connections, letters);
    if ((await connections.cluster.catalog.describe(topic)) === undefined)
      fail(ExitCode.notFound, `neither topic ${topic} nor one with its dead letters exists`);
    printRows(context.terminal, context.format, { rows: [], columns: [], none: `topic ${topic} has no dead letters` });
    return ExitCode.ok;
  });
}

async function list(
  context: Context,
  connections: LogConnections,
  letters: TopicDescription,
  options: FilterOptions,
): Promise<ExitCode> {
  const { terminal, format } = context;
  const groups = new LetterGroups();
  const exitCode = await visitLetters(context, connections, { letters, options }, (letter) => groups.add(letter));
  printRows(terminal, format, {
    rows: groups.list(),
    columns: GROUP_COLUMNS,
    json: groupJson,
    none: `no dead letters in ${letters.topic}`,
  });
  if (groups.others > 0) terminal.note(`${groups.others} more, of yet other kinds; --job and --class show fewer kinds`);
  return exitCode;
}

/** What cannot be read is named, and shows in the exit code; the other partitions are read all the same. */
async function visitLetters(
  { terminal }: Context,
  { cluster }: LogConnections,
  { letters, options }: { readonly letters: TopicDescription; readonly options: FilterOptions },
  visit: (letter: DeadLetter) => void,
): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.ok;
  for await (const item of deadLetters(cluster, letters, filterOf(options), terminal.signal)) {
    if (item.kind === 'letter') visit(item.letter);
    else {
      exitCode = ExitCode.failed;
      terminal.note(`partition ${item.partition} of ${letters.topic} could not be read to its end: ${item.reason}`);
    }
  }
  return exitCode;
}

const GROUP_COLUMNS: readonly Column<LetterGroup>[] = [
  { title: 'LETTERS', of: ({ count }) => count, align: 'right' },
  { title: 'EDITED', of: ({ edited }) => edited || '', align: 'right' },
  { title: 'CLASS', of: ({ faultClass }) => faultClass },
  { title: 'JOB', of: ({ jobId }) => jobId },
  { title: 'HANDLER', of: ({ handler }) => handler },
  { title: 'NEWEST', of: ({ newest }) => placeText(newest) },
  { title: 'AT', of: ({ lastAtMs }) => instant(lastAtMs) },
  { title: 'ERROR', of: ({ error }) => error },
];

function groupJson({ firstAtMs, lastAtMs, ...group }: LetterGroup): object {
  return { ...group, firstAt: instant(firstAtMs), lastAt: instant(lastAtMs) };
}

async function showOne(
  { terminal, format }: Context,
  { cluster, codec }: LogConnections,
  letters: TopicDescription,
  at: Place,
): Promise<ExitCode> {
  const letter = await deadLetterAt(cluster, letters, at);
  if (letter === undefined)
    fail(ExitCode.notFound, `no dead letter at ${placeText(at)} of ${letters.topic} (retention may have taken it)`);
  const value = await shownValue(letter.record.value, codec);
  printOne(terminal, format, { ...letterJson(letter), decoded: value }, () => [
    `letter     ${placeText(at)} of ${letters.topic}, written at ${instant(letter.record.timestampMs)}`,
    `record     offset ${letter.origin.offset} of partition ${letter.origin.partition} of ${letter.origin.topic}${letter.timestampMs === undefined ? '' : `, of ${instant(letter.timestampMs)}`}`,
    `job        ${letter.jobId}`,
    `handler    ${letter.handler}`,
    `round      ${letter.round}`,
    ...(letter.edited === undefined
      ? []
      : [
          `edited     from letter ${placeText(letter.edited.of)} by ${plainText(letter.edited.by)}${letter.edited.note === '' ? '' : `: ${plainText(letter.edited.note)}`}`,
        ]),
    `fault      ${letter.faultClass}, after ${letter.attempt} attempts: ${plainText(letter.error)}`,
    `key        ${shownText(shownBytes(letter.record.key))}`,
    `value      ${letter.form === 'pointer' ? '(too large for the dead-letter topic: read it at its own place)' : shownText(value)}`,
    ...letter.record.headers.map(([name, bytes]) => `header     ${name} = ${shownText(shownBytes(bytes))}`),
  ]);
  return ExitCode.ok;
}

/** Bytes as `shownBytes` keeps them apart: nothing is lost in the export. */
function letterJson({ record, partition, timestampMs, ...facts }: DeadLetter): object {
  return {
    letter: { partition, offset: record.offset, at: instant(record.timestampMs) },
    ...facts,
    at: timestampMs === undefined ? null : instant(timestampMs),
    key: shownBytes(record.key),
    value: shownBytes(record.value),
    headers: record.headers.map(([name, value]) => [name, shownBytes(value)]),
  };
}

function filterOf({ job, class: faultClass }: FilterOptions) {
  return { jobId: job, faultClass };
}
