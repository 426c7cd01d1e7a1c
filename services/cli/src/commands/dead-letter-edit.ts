/** `tidemark deadletter edit`: a corrected copy of a dead letter, which a redrive takes in its place. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import {
  correctedJson,
  describeEditRefusal,
  type EditPlan,
  editLetter,
  letterTopic,
  shownBytes,
  shownText,
  shownValue,
} from '@tidemark/control';
import type { LogConnections } from '@tidemark/control/connect';
import { placeText } from '@tidemark/jobs';
import { type Command, Option } from 'commander';
import { type Place, recordPlace } from '../arguments.ts';
import { actor, type Context, confirmed, withLog } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { printOne } from '../output.ts';
import type { CommonOptions, Registrar } from '../registrar.ts';

interface EditOptions extends CommonOptions {
  readonly at: Place;
  readonly valueFile?: string;
  readonly jsonFile?: string;
  readonly tombstone?: boolean;
  readonly key?: string;
  readonly keyFile?: string;
}

export function registerEdit(root: Command, { command, run }: Registrar): void {
  const values = ['valueFile', 'jsonFile', 'tombstone'];
  const edit = command(
    root,
    'edit <topic>',
    'append a corrected copy of a dead letter, which redrive takes in its place',
    ['dryRun', 'reason', 'yes'],
  )
    .requiredOption('--at <place>', 'the letter: PARTITION:OFFSET, as the list names it', recordPlace)
    .addOption(
      new Option('--value-file <path>', 'the value, byte by byte').conflicts(
        values.filter((name) => name !== 'valueFile'),
      ),
    )
    .addOption(
      new Option(
        '--json-file <path>',
        "the value as JSON, encoded with the newest schema of the record's topic",
      ).conflicts(values.filter((name) => name !== 'jsonFile')),
    )
    .addOption(new Option('--tombstone', 'no value').conflicts(values.filter((name) => name !== 'tombstone')))
    .addOption(new Option('--key <text>', 'the key').conflicts('keyFile'))
    .addOption(new Option('--key-file <path>', 'the key, byte by byte').conflicts('key'));
  run(edit, (context, [topic]: [string], options: EditOptions) =>
    withLog(context, ['kafka'], (connections) => editOne(context, connections, topic, options)),
  );
}

async function editOne(
  context: Context,
  connections: LogConnections,
  topic: string,
  options: EditOptions,
): Promise<ExitCode> {
  const { terminal, format } = context;
  const change = await changeOf(connections, topic, options);
  if (change.key === undefined && change.value === undefined)
    fail(ExitCode.usage, 'say what is to be changed: --value-file, --json-file or --tombstone; --key or --key-file');
  const { cluster, codec, namespace } = connections;
  const letters = await letterTopic(cluster, topic);
  if (letters === undefined) fail(ExitCode.notFound, `topic ${topic} has no dead letters`);
  const place = options.at;
  const edit = { ...place, ...change, by: actor(), note: options.reason };
  const signals = terminal.signal === undefined ? {} : { signal: terminal.signal };
  if (!options.dryRun)
    await confirmed(context, `Append a corrected copy of letter ${placeText(place)} of ${letters.topic}?`, options.yes);
  const answer = await editLetter(cluster, letters, edit, { namespace, dryRun: options.dryRun, ...signals });
  if (answer.kind !== 'planned')
    return fail(EXIT_CODES[answer.kind] ?? ExitCode.conflict, describeEditRefusal({ topic, place }, answer));
  const [copy, ...followers] = answer.copies;
  const value = await shownValue(copy?.value ?? null, codec);
  const key = shownBytes(copy?.key ?? null);
  const json = {
    letter: place,
    origin: answer.letter.origin,
    dryRun: options.dryRun,
    key,
    value,
    followers: followers.length,
  };
  printOne(terminal, format, json, () => [
    `letter     ${placeText(place)} of ${letters.topic} ${options.dryRun ? 'would get' : 'got'} a corrected copy${options.dryRun ? '; nothing was written' : ''}`,
    `key        ${shownText(key)}`,
    `value      ${shownText(value)}`,
    ...(followers.length === 0
      ? []
      : [`behind it  ${followers.length} letters of its key as they are, so that their order stays`]),
  ]);
  return ExitCode.ok;
}

async function changeOf(
  { codec }: LogConnections,
  topic: string,
  options: EditOptions,
): Promise<{ readonly key?: Buffer; readonly value?: Buffer | null }> {
  const { key, keyFile, valueFile, jsonFile } = options;
  return {
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
    ...(keyFile === undefined ? {} : { key: await bytesOf(keyFile) }),
    ...(valueFile === undefined ? {} : { value: await bytesOf(valueFile) }),
    ...(jsonFile === undefined
      ? {}
      : { value: await correctedJson(codec, topic, (await bytesOf(jsonFile)).toString()) }),
    ...(options.tombstone === true ? { value: null } : {}),
  };
}

async function bytesOf(path: string): Promise<Buffer> {
  if (!existsSync(path)) fail(ExitCode.notFound, `no file ${path}`);
  return await readFile(path);
}

/** Of refusals; all others are conflicts with what is there. */
const EXIT_CODES: Readonly<Partial<Record<EditPlan['kind'], ExitCode>>> = {
  'not found': ExitCode.notFound,
  'cut short': ExitCode.unavailable,
};
