// @ts-check
/** One dead letter: what it is of, why it is here, what it holds, and correcting it. It does not change, so it is asked for once. */
import { actionBar, choice, field } from './act.js';
import { h } from './dom.js';
import { amount, count, shellWord, size, UNKNOWN } from './format.js';
import { letterPath, letterTime, previewText } from './letter-words.js';
import { badge, commandLine, factList, heading, jobLink, link, notice, section, table } from './parts.js';
import { ask, changed } from './session.js';

/** @typedef {import('../view/letter-schemas.ts').Letter} Letter @typedef {import('./dom.js').Content} Content */

const shown = {
  path: '',
  /** @type {Letter | undefined} */
  letter: undefined,
  /** @type {string | undefined} */
  fault: undefined,
};

/** @param {string} path */
async function lookUp(path) {
  Object.assign(shown, { path, letter: undefined, fault: undefined });
  const answer = await ask(`/api${path}`);
  if (shown.path !== path) return;
  if (answer.kind === 'ok') shown.letter = answer.value;
  if (answer.kind === 'failed') shown.fault = answer.error;
  changed();
}

/** When the reader goes elsewhere, a large value goes, too. */
export function leaveLetter() {
  Object.assign(shown, { path: '', letter: undefined, fault: undefined });
}

/** @param {string} topic @param {string} place */
export function letterPage(topic, place) {
  const [partition = '', offset = ''] = place.split(':');
  const path = `${letterPath(topic)}/letters/${encodeURIComponent(partition)}/${encodeURIComponent(offset)}`;
  if (shown.path !== path) void lookUp(path);
  const title = `Letter ${place}`;
  const command = `npx tidemark deadletter show ${shellWord(topic)} ${shellWord(place)}`;
  const { letter, fault } = shown;
  const back = link(letterPath(topic), topic, { class: 'mono' });
  if (letter === undefined)
    return [
      heading(title, h('div', { class: 'heading-words' }, h('span', {}, 'of '), back)),
      fault === undefined
        ? h('p', { class: 'quiet' }, 'Looking it up …')
        : h('div', { class: 'empty' }, h('p', {}, fault)),
      commandLine(command),
    ];
  return [
    heading(
      title,
      h(
        'div',
        { class: 'heading-words' },
        badge(letter.faultClass || 'unknown'),
        letter.edited !== null && badge('held', 'corrected copy'),
        h('span', { class: 'quiet' }, 'of '),
        back,
      ),
    ),
    letter.error !== '' && notice('bad', letter.error),
    letter.form === 'pointer' &&
      notice('warn', 'the record was too large for the topic of dead letters: only its place is here.'),
    letter.decodeFault !== null && notice('warn', `the value is shown as its bytes: ${letter.decodeFault}`),
    letter.form !== 'pointer' && actionBar('Orders about this letter', [editAction(topic, place, letter)]),
    section('Where it is from', facts(letter)),
    section('Key', block(letter.key), download(path, 'key', letter.key)),
    section('Value', valueFacts(letter), block(letter.value), base64(letter), download(path, 'value', letter.value)),
    section('Headers', headers(letter)),
    commandLine(command),
  ];
}

/** @param {Letter} letter */
function facts(letter) {
  const { origin, edited } = letter;
  return factList([
    [
      'Record',
      [
        `offset ${count(origin.offset)} of partition ${origin.partition} of `,
        h('span', { class: 'mono' }, origin.topic),
        letter.originAt === null ? '' : `, ${letterTime(letter.originAt)}`,
      ],
    ],
    ['Written', letterTime(letter.at)],
    ['Job', jobLink(letter.jobId)],
    ['Handler', h('span', { class: 'mono' }, letter.handler || UNKNOWN)],
    ['Given up after', amount(letter.attempt, 'attempt')],
    ['Round', count(letter.round)],
    edited !== null && [
      'Corrected',
      [
        `from letter `,
        link(
          `${letterPath(letter.topic)}/${edited.partition}:${edited.offset}`,
          `${edited.partition}:${edited.offset}`,
          { class: 'mono' },
        ),
        ` by ${edited.by || UNKNOWN}${edited.note === '' ? '' : `: ${edited.note}`}`,
      ],
    ],
  ]);
}

/** @param {Letter} letter */
function valueFacts({ value, schema }) {
  if (value.kind === 'none') return false;
  const words = [size(value.bytes), value.kind === 'avro' ? `Avro, ${schema ?? ''}` : value.kind];
  if (value.isCut) words.push('the beginning is shown');
  return h('p', { class: 'quiet' }, `${words.join(' · ')}.`);
}

/** @param {Letter['value']} preview */
function block(preview) {
  if (preview.kind === 'none' || preview.text === '') return h('p', {}, previewText(preview));
  return h(
    'pre',
    {
      class: 'value mono',
      tabindex: 0,
      role: 'region',
      'aria-label': preview.kind === 'binary' ? 'Bytes in base64' : 'Text',
    },
    preview.text,
    preview.isCut && ' …',
  );
}

/** @param {Letter} letter */
function base64({ base64: bytes, value }) {
  if (bytes === null || bytes.text === '' || value.kind === 'binary') return false;
  return h(
    'details',
    { key: 'base64' },
    h('summary', {}, 'The bytes in base64'),
    h(
      'pre',
      { class: 'value mono', tabindex: 0, role: 'region', 'aria-label': 'Bytes in base64' },
      bytes.text,
      bytes.isCut && ' …',
    ),
  );
}

/** @param {string} path @param {'key' | 'value'} part @param {Letter['value']} preview */
function download(path, part, preview) {
  if (preview.kind === 'none') return false;
  return h(
    'p',
    { key: `download ${part}` },
    h('a', { href: `/api${path}/${part}`, download: true }, `Download the ${part}, ${size(preview.bytes)}`),
  );
}

/** @param {Letter} letter */
function headers({ headers: rows, headersOmitted }) {
  if (rows.length === 0) return h('p', { class: 'quiet' }, 'None.');
  return [
    table(
      'Headers, in their order',
      [
        { title: 'Name', of: (row) => h('span', { class: 'mono' }, row.name), class: 'breaks long' },
        { title: 'Value', of: (row) => previewText(row.value), class: 'breaks longest' },
        { title: 'Size', of: (row) => (row.value.kind === 'none' ? UNKNOWN : size(row.value.bytes)), number: true },
      ],
      rows.map((row, index) => ({ ...row, index })),
      (row) => String(row.index),
    ),
    headersOmitted > 0 && h('p', { class: 'quiet' }, `${count(headersOmitted)} more are not listed.`),
  ];
}

/** How a new value may be given. @type {readonly (readonly [value: string, word: string])[]} */
const FORMS = [
  ['keep', 'as it is'],
  ['text', 'this text'],
  ['json', 'this JSON, by the schema of the topic'],
  ['base64', 'these bytes, in base64'],
  ['tombstone', 'no value'],
];

/** A file of the new value, on the command line. @type {Readonly<Record<string, string>>} */
const FILE_OPTIONS = {
  text: ' --value-file FILE',
  base64: ' --value-file FILE',
  json: ' --json-file FILE',
  tombstone: ' --tombstone',
};

/** What the form begins with: what the letter holds, where all of it is shown. @param {Letter} letter */
function firstOf({ correctAs, value, base64: bytes }) {
  if (correctAs === null) return { form: 'keep', text: '' };
  return { form: correctAs, text: correctAs === 'base64' ? (bytes?.text ?? '') : value.text };
}

/** @param {string} topic @param {string} place @param {Letter} letter @returns {import('./act.js').Action} */
function editAction(topic, place, letter) {
  const first = firstOf(letter);
  const formOf = (/** @type {import('./act.js').Fields} */ values) => values['form'] ?? first.form;
  const needsText = (/** @type {string} */ form) => form === 'text' || form === 'json' || form === 'base64';
  return {
    key: `edit ${topic} ${place}`,
    label: 'Correct …',
    confirm: 'Append the corrected copy',
    explain: h(
      'p',
      {},
      'A copy with another value or key is appended behind this letter, and a redrive takes it in its place. The letter itself stays as it is.',
    ),
    fields: (values) => [
      choice({ name: 'form', label: 'New value', options: FORMS, chosen: first.form }),
      needsText(formOf(values)) && field({ name: 'value', label: 'Value', first: first.text, rows: 10 }),
      field({ name: 'key', label: 'New key', hint: 'left out: as it is' }),
    ],
    command: (reason, values) => {
      const key = values['key'] ?? '';
      return `npx tidemark deadletter edit ${shellWord(topic)} --at ${place}${FILE_OPTIONS[formOf(values)] ?? ''}${key === '' ? '' : ` --key ${shellWord(key)}`} --reason ${shellWord(reason)} --yes`;
    },
    path: `/api${letterPath(topic)}/letters/${letter.partition}/${letter.offset}/edit`,
    body: (reason, values) => {
      const form = formOf(values);
      const text = values['value'] ?? first.text;
      const key = values['key'] ?? '';
      const value = form === 'tombstone' ? { tombstone: true } : needsText(form) ? { [form]: text } : undefined;
      return { ...(value === undefined ? {} : { value }), ...(key === '' ? {} : { key: { text: key } }), reason };
    },
  };
}
