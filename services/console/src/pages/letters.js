// @ts-check
/** Dead letters: topics that have some, what went wrong, and pages of letters that are searched while somebody waits. */
import { actionBar, choice, field } from './act.js';
import { h } from './dom.js';
import { amount, count, instant, percent, portion, shellWord, size, UNKNOWN } from './format.js';
import {
  badge,
  commandLine,
  empty,
  heading,
  jobLink,
  link,
  notice,
  section,
  table,
  time,
  unknownNotice,
} from './parts.js';
import { ask, changed } from './session.js';

/**
 * @typedef {import('../view/schemas.ts').LetterTopics} LetterTopics
 * @typedef {import('../view/schemas.ts').LetterGroups} LetterGroups
 * @typedef {import('../view/schemas.ts').LetterRow} LetterRow
 * @typedef {import('../view/schemas.ts').Preview} Preview
 * @typedef {import('../view/schemas.ts').RedrivePlan} RedrivePlan
 */

/** Letters that are held at a time: a page more than that replaces them, so the memory of a browser has a bound. */
const ROWS_MAX = 200;

const CLASSES = /** @type {const} */ ([
  ['', 'all classes'],
  ['data', 'data'],
  ['transient', 'transient'],
  ['timeout', 'timeout'],
]);

/** @param {string} topic */
export function letterPath(topic) {
  return `/dead-letters/${encodeURIComponent(topic)}`;
}

/** @param {LetterTopics} list */
export function deadLettersPage(list) {
  return [
    heading(
      'Dead letters',
      h('p', { class: 'lead' }, 'Records that jobs gave up on. They wait until somebody hands them over again.'),
    ),
    unknownNotice(list.unknown),
    list.topics.length === 0 && list.unknown === null
      ? empty('No topic that jobs know has dead letters.', 'npx tidemark deadletter list TOPIC')
      : list.topics.length > 0 &&
        table(
          'Topics with dead letters',
          [
            { title: 'Topic', of: (row) => link(letterPath(row.topic), row.topic, { class: 'mono' }), class: 'breaks' },
            { title: 'Letters lie in', of: (row) => h('span', { class: 'mono' }, row.letterTopic), class: 'breaks' },
            { title: 'Partitions', of: (row) => count(row.partitions), number: true },
            { title: 'Letters, at most', of: (row) => count(row.offsets), number: true, class: 'strong' },
          ],
          list.topics,
          (row) => row.topic,
        ),
    list.omitted > 0 &&
      h('p', { class: 'quiet' }, `${count(list.omitted)} more topics, of older jobs, are not looked at.`),
    section('Another topic', topicForm()),
    commandLine('npx tidemark deadletter list TOPIC'),
  ];
}

function topicForm() {
  return h(
    'form',
    {
      class: 'search',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const { value } = /** @type {HTMLInputElement} */ (document.getElementById('field-topic'));
        if (value.trim() !== '') location.assign(letterPath(value.trim()));
      },
    },
    h('label', { for: 'field-topic', class: 'field-label' }, 'Name of the topic whose records they are'),
    h(
      'div',
      { class: 'action-buttons' },
      h('input', { id: 'field-topic', name: 'topic', autocomplete: 'off', spellcheck: 'false', required: true }),
      h('button', { type: 'submit', class: 'button' }, 'Look'),
    ),
  );
}

/** What was searched for, and what was found, of the topic that is shown. */
const search = {
  topic: '',
  filter: { class: '', job: '', partition: '', key: '' },
  /** @type {AbortController | undefined} */
  running: undefined,
  /** @type {LetterRow[]} */
  rows: [],
  passed: '0',
  total: '0',
  /** Where the next page begins. @type {string | null} */
  next: null,
  /** @type {string | undefined} */
  fault: undefined,
  /** @type {readonly { readonly partition: number, readonly reason: string }[]} */
  cutShort: [],
  isCancelled: false,
};

/** When the reader goes elsewhere: what nobody waits for is not searched. */
export function leaveLetters() {
  search.running?.abort();
  search.topic = '';
  plan.forget();
}

/** @param {string} topic */
function arriveAt(topic) {
  leaveLetters();
  search.topic = topic;
  search.filter = { class: '', job: '', partition: '', key: '' };
  void find(null);
}

/** @param {string | null} from */
async function find(from) {
  search.running?.abort();
  const running = new AbortController();
  Object.assign(search, { running, rows: [], next: null, fault: undefined, cutShort: [], isCancelled: false });
  let place = from;
  do {
    const answer = await ask(pagePath(place, ROWS_MAX - search.rows.length), running.signal);
    if (search.running !== running) return;
    if (answer.kind !== 'ok') {
      search.isCancelled = answer.kind === 'cancelled';
      if (answer.kind === 'failed') search.fault = answer.error;
      // It goes on where it was stopped.
      search.next = place;
      break;
    }
    const { letters, offsetsPassed, offsetsTotal, next, cutShort } = answer.value;
    search.rows = [...search.rows, ...letters];
    search.passed = offsetsPassed;
    search.total = offsetsTotal;
    search.next = next;
    search.cutShort = [...search.cutShort, ...cutShort];
    place = next;
    changed();
  } while (place !== null && search.rows.length < ROWS_MAX);
  search.running = undefined;
  changed();
}

/** @param {string | null} from @param {number} limit */
function pagePath(from, limit) {
  const query = new URLSearchParams({ limit: String(limit) });
  for (const [name, value] of Object.entries(search.filter)) if (value !== '') query.set(name, value);
  if (from !== null) query.set('from', from);
  return `/api${letterPath(search.topic)}/letters?${query}`;
}

/** @param {string} topic @param {LetterGroups | null | undefined} groups @param {number} nowMs */
export function letterTopicPage(topic, groups, nowMs) {
  if (search.topic !== topic) arriveAt(topic);
  if (groups === undefined) return [heading(topic, h('p', { class: 'quiet' }, 'Looking it up …'))];
  if (groups === null)
    return [
      heading(topic),
      h(
        'div',
        { class: 'empty' },
        h('p', {}, search.fault ?? 'Nobody can say now whether this topic has dead letters.'),
        link('/dead-letters', 'All dead letters'),
      ),
      commandLine(`npx tidemark deadletter list ${shellWord(topic)}`),
    ];
  const isEmpty = groups.letterTopic === null || (groups.offsetsTotal === '0' && groups.groups.length === 0);
  return [
    heading(
      topic,
      h(
        'p',
        { class: 'lead' },
        groups.letterTopic === null
          ? 'It never had a dead letter.'
          : ['Its dead letters lie in ', h('span', { class: 'mono' }, groups.letterTopic), '.'],
      ),
    ),
    groups.cutShort.map(({ partition, reason }) =>
      h(
        'div',
        { key: `cut ${partition}` },
        notice('warn', `partition ${partition} cannot be read to its end now: ${reason}`),
      ),
    ),
    isEmpty
      ? empty('There are no dead letters.', `npx tidemark deadletter list ${shellWord(topic)}`)
      : [
          section('By what went wrong', groupProgress(groups), groupTable(groups, nowMs)),
          actionBar('Orders about the dead letters', [redriveAction(topic, groups)]),
          section('Letters', searchForm(groups), searchProgress(), letterTable(topic, nowMs), searchMore()),
        ],
    commandLine(
      `npx tidemark deadletter list ${shellWord(topic)}`,
      `npx tidemark deadletter redrive ${shellWord(topic)} --job JOB --dry-run`,
    ),
  ];
}

/** @param {LetterGroups} groups */
function groupProgress({ offsetsPassed, offsetsTotal }) {
  if (offsetsPassed === offsetsTotal) return false;
  const done = portion(BigInt(offsetsPassed), BigInt(offsetsTotal));
  return h(
    'div',
    { class: 'counting', key: 'counting' },
    h(
      'p',
      { class: 'quiet' },
      `Counting: ${count(offsetsPassed)} of ${count(offsetsTotal)} offsets looked at, ${percent(done)}.`,
    ),
    h(
      'div',
      { class: 'bar', role: 'img', 'aria-label': `Counted ${done} %` },
      h('span', { class: 'settled', style: { width: `${done}%` } }),
    ),
  );
}

/** @param {LetterGroups} groups @param {number} nowMs */
function groupTable({ topic, groups, groupsOmitted, others }, nowMs) {
  if (groups.length === 0) return h('p', { class: 'quiet' }, 'None found so far.');
  return [
    table(
      'Dead letters by what went wrong, the most first',
      [
        {
          title: 'What went wrong',
          of: (group) => h('span', { class: 'clamp', title: group.error }, group.error || UNKNOWN),
          class: 'breaks long',
        },
        { title: 'Class', of: (group) => badge(group.faultClass || 'unknown') },
        { title: 'Letters', of: (group) => count(group.letters), number: true, class: 'strong' },
        { title: 'Corrected', of: (group) => (group.edited === 0 ? '' : count(group.edited)), number: true },
        { title: 'Job', of: (group) => jobLink(group.jobId), class: 'breaks' },
        { title: 'First', of: (group) => time(group.firstAt, nowMs), number: true },
        { title: 'Last', of: (group) => time(group.lastAt, nowMs), number: true },
        {
          title: 'Newest',
          of: ({ newest }) =>
            link(`${letterPath(topic)}/${newest.partition}:${newest.offset}`, `${newest.partition}:${newest.offset}`, {
              class: 'mono',
            }),
        },
      ],
      groups,
      (group) => JSON.stringify([group.jobId, group.handler, group.faultClass, group.error]),
    ),
    groupsOmitted + others > 0 &&
      h(
        'p',
        { class: 'quiet' },
        [
          groupsOmitted > 0 ? `${amount(groupsOmitted, 'more kind')} of letters not listed.` : '',
          others > 0 ? `${amount(others, 'letter')} of yet other kinds.` : '',
        ]
          .filter((text) => text !== '')
          .join(' '),
      ),
  ];
}

/** @param {LetterGroups} groups */
function jobsOf({ groups }) {
  return [...new Set(groups.map(({ jobId }) => jobId))];
}

/** @param {LetterGroups} groups */
function searchForm(groups) {
  const keep = (/** @type {Event} */ event) => {
    const { name, value } = /** @type {HTMLInputElement} */ (event.target);
    search.filter = { ...search.filter, [name]: value };
  };
  const select = (
    /** @type {'class' | 'job'} */ name,
    /** @type {string} */ label,
    /** @type {readonly (readonly [string, string])[]} */ options,
  ) =>
    h(
      'div',
      { class: 'field', key: name },
      h('label', { for: `filter-${name}`, class: 'field-label' }, label),
      h(
        'select',
        { id: `filter-${name}`, name, onchange: keep },
        options.map(([value, word]) =>
          h('option', { key: value, value, selected: search.filter[name] === value }, word),
        ),
      ),
    );
  const input = (
    /** @type {'partition' | 'key'} */ name,
    /** @type {string} */ label,
    /** @type {Record<string, string>} */ more,
  ) =>
    h(
      'div',
      { class: 'field', key: name },
      h('label', { for: `filter-${name}`, class: 'field-label' }, label),
      h('input', { id: `filter-${name}`, name, autocomplete: 'off', spellcheck: 'false', oninput: keep, ...more }),
    );
  return h(
    'form',
    {
      class: 'search',
      key: 'search',
      'aria-label': 'Search letters',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void find(null);
        changed();
      },
    },
    h(
      'div',
      { class: 'fields' },
      select('class', 'Class', CLASSES),
      select('job', 'Job', [['', 'all jobs'], ...jobsOf(groups).map((job) => /** @type {const} */ ([job, job]))]),
      input('partition', 'Partition', { inputmode: 'numeric', pattern: '[0-9]*', size: '6' }),
      input('key', 'Key', {}),
      h(
        'div',
        { class: 'action-buttons field-buttons' },
        h('button', { type: 'submit', class: 'button' }, 'Search'),
        search.running !== undefined &&
          h(
            'button',
            { type: 'button', class: 'button', key: 'cancel', onclick: () => search.running?.abort() },
            'Cancel',
          ),
      ),
    ),
  );
}

function searchProgress() {
  const looked = `${count(search.passed)} of ${count(search.total)} offsets looked at`;
  const found = `${amount(search.rows.length, 'letter')} found`;
  const words = search.running !== undefined ? 'Searching: ' : search.isCancelled ? 'Cancelled: ' : '';
  return [
    search.fault !== undefined && notice('bad', search.fault),
    search.cutShort.map(({ partition, reason }, index) =>
      h(
        'div',
        { key: `short ${index}` },
        notice('warn', `partition ${partition} cannot be read to its end now: ${reason}`),
      ),
    ),
    h('p', { class: 'quiet', role: 'status', key: 'progress' }, `${words}${found}, ${looked}.`),
  ];
}

/** @param {string} topic @param {number} nowMs */
function letterTable(topic, nowMs) {
  if (search.rows.length === 0) return false;
  return table(
    'Letters, in the order of the log',
    [
      {
        title: 'Letter',
        of: (row) =>
          link(`${letterPath(topic)}/${row.partition}:${row.offset}`, `${row.partition}:${row.offset}`, {
            class: 'mono',
          }),
      },
      {
        title: 'Class',
        of: (row) => [badge(row.faultClass || 'unknown'), row.edit > 0 && [' ', badge('held', 'corrected')]],
      },
      { title: 'Key', of: (row) => previewText(row.key), class: 'breaks' },
      { title: 'Value', of: (row) => previewText(row.value), class: 'breaks long' },
      { title: 'Size', of: (row) => (row.value.kind === 'none' ? UNKNOWN : size(row.value.bytes)), number: true },
      {
        title: 'What went wrong',
        of: (row) => h('span', { class: 'clamp' }, row.error || UNKNOWN),
        class: 'breaks long wide',
      },
      { title: 'Job', of: (row) => jobLink(row.jobId), class: 'breaks wide' },
      { title: 'Round', of: (row) => count(row.round), number: true },
      { title: 'Written', of: (row) => time(row.at, nowMs), number: true },
    ],
    search.rows,
    (row) => `${row.partition}:${row.offset}`,
  );
}

/** @param {Preview} preview */
export function previewText({ kind, text, isCut }) {
  if (kind === 'none') return h('span', { class: 'quiet' }, 'none');
  if (text === '') return h('span', { class: 'quiet' }, 'empty');
  return h(
    'span',
    { class: 'mono clamp' },
    kind === 'binary' ? h('span', { class: 'quiet' }, 'base64 ') : '',
    text,
    isCut && ' …',
  );
}

function searchMore() {
  if (search.running !== undefined || search.next === null) return false;
  const { next } = search;
  return h(
    'div',
    { class: 'action-buttons more', key: 'more' },
    h(
      'button',
      {
        type: 'button',
        class: 'button',
        onclick: () => {
          void find(next);
          changed();
        },
      },
      search.isCancelled || search.fault !== undefined ? 'Go on' : 'Next page',
    ),
  );
}

/** A dry run, of the wish that is in the form now. */
const plan = {
  wish: '',
  /** @type {AbortController | undefined} */
  running: undefined,
  /** @type {RedrivePlan | undefined} */
  found: undefined,
  /** @type {string | undefined} */
  fault: undefined,
  forget() {
    plan.running?.abort();
    Object.assign(plan, { wish: '', running: undefined, found: undefined, fault: undefined });
  },
};

/** Of the job that the open form asks for: pressed twice it is one job. */
let redriveId = newId();

function newId() {
  return `redrive-${crypto.randomUUID()}`;
}

/** @param {string} topic @param {LetterGroups} groups @returns {import('./act.js').Action} */
function redriveAction(topic, groups) {
  const jobs = jobsOf(groups);
  const wishOf = (/** @type {import('./act.js').Fields} */ values) => redriveWish(values, jobs);
  return {
    key: `redrive ${topic}`,
    label: 'Redrive …',
    confirm: 'Hand them over again',
    explain: h(
      'p',
      {},
      'A job of its own hands dead letters over as the records they are of: each record once, its most corrected letter. The letters stay where they are.',
    ),
    fields: (values) => [
      h(
        'div',
        { class: 'fields', key: 'fields' },
        choice({
          name: 'job',
          label: 'Letters of job',
          options: [['', 'all jobs'], ...jobs.map((job) => /** @type {const} */ ([job, job]))],
          chosen: wishOf(values)['job'] ?? '',
        }),
        choice({ name: 'class', label: 'Class', options: CLASSES, chosen: '' }),
        field({ name: 'handler', label: 'Handler', hint: 'left out: that of the job' }),
        field({ name: 'rate', label: 'Records a second', hint: 'left out: no limit' }),
        field({ name: 'maxRounds', label: 'Rounds at most', hint: 'left out: 10' }),
        choice({
          name: 'recreated',
          label: 'Letters of a topic that was created again',
          options: [
            ['refuse', 'refuse'],
            ['leave', 'leave'],
            ['take', 'take'],
          ],
          chosen: 'refuse',
        }),
        choice({
          name: 'acceptDuplicates',
          label: 'Handler that is not idempotent',
          options: [
            ['', 'refuse'],
            ['true', 'accept duplicates'],
          ],
          chosen: '',
        }),
      ),
      planView(topic, wishOf(values)),
    ],
    command: (reason, values) => redriveCommand(topic, wishOf(values), reason),
    path: `/api${letterPath(topic)}/redrive`,
    body: (reason, values) => {
      const { rate, maxRounds, ...wish } = wishOf(values);
      return {
        ...wish,
        ...(rate === undefined ? {} : { rate: Number(rate) }),
        ...(maxRounds === undefined ? {} : { maxRounds: Number(maxRounds) }),
        id: redriveId,
        reason,
      };
    },
    onDone() {
      redriveId = newId();
      plan.forget();
    },
  };
}

/** What was said; with letters of one job only, they are meant. @param {import('./act.js').Fields} values @param {readonly string[]} jobs @returns {Record<string, string>} */
function redriveWish(values, jobs) {
  const wish = { ...(jobs.length === 1 ? { job: jobs[0] ?? '' } : {}), ...values };
  return Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== ''));
}

/** @type {Readonly<Record<string, string>>} */
const OPTIONS = {
  job: '--job',
  class: '--class',
  handler: '--handler',
  rate: '--rate',
  maxRounds: '--max-rounds',
  recreated: '--recreated',
};

/** @param {string} topic @param {Record<string, string>} wish @param {string} reason */
function redriveCommand(topic, wish, reason) {
  const words = Object.entries(OPTIONS).flatMap(([name, option]) => {
    const value = wish[name];
    return value === undefined ? [] : [`${option} ${shellWord(value)}`];
  });
  if (wish['acceptDuplicates'] !== undefined) words.push('--accept-duplicates');
  return `npx tidemark deadletter redrive ${shellWord(topic)} ${words.join(' ')} --id ${redriveId} --reason ${shellWord(reason)} --yes`;
}

/** @param {string} topic @param {Record<string, string>} wish */
function planView(topic, wish) {
  const text = JSON.stringify(wish);
  const isOfThis = plan.wish === text;
  return h(
    'div',
    { class: 'plan', key: 'plan' },
    h(
      'div',
      { class: 'action-buttons' },
      plan.running !== undefined
        ? h(
            'button',
            { type: 'button', class: 'button', key: 'stop', onclick: () => plan.running?.abort() },
            'Cancel the dry run',
          )
        : h(
            'button',
            { type: 'button', class: 'button', key: 'plan', onclick: () => void makePlan(topic, wish) },
            'Dry run',
          ),
      h(
        'span',
        { class: 'quiet' },
        plan.running !== undefined ? 'Reading the letters …' : 'counts what would be handed over, and changes nothing',
      ),
    ),
    isOfThis && plan.fault !== undefined && notice('bad', plan.fault),
    isOfThis && plan.found !== undefined && planTold(plan.found, wish),
  );
}

/** @param {string} topic @param {Record<string, string>} wish */
async function makePlan(topic, wish) {
  plan.forget();
  const running = new AbortController();
  plan.running = running;
  changed();
  const answer = await ask(`/api${letterPath(topic)}/redrive?${new URLSearchParams(wish)}`, running.signal);
  if (plan.running !== running) return;
  plan.running = undefined;
  plan.wish = JSON.stringify(wish);
  if (answer.kind === 'ok') plan.found = answer.value;
  if (answer.kind === 'failed') plan.fault = answer.error;
  changed();
}

/** @param {RedrivePlan} found @param {Record<string, string>} wish */
function planTold({ handler, letters, edited, byClass, byRound, left }, { rate }) {
  const amounts = (/** @type {Record<string, number>} */ counts) =>
    Object.entries(counts)
      .map(([what, number]) => `${what}: ${count(number)}`)
      .join(', ');
  return h(
    'div',
    { class: 'told', role: 'status' },
    h(
      'p',
      {},
      h('strong', {}, `${amount(letters, 'record')} would be handed over`),
      ` to ${handler}`,
      rate === undefined
        ? ', as fast as it goes.'
        : `, ${count(rate)} a second: at least ${count(Math.ceil(letters / Number(rate)))} s.`,
    ),
    letters > 0 && h('p', { class: 'quiet' }, `By class: ${amounts(byClass)}. By round: ${amounts(byRound)}.`),
    edited > 0 && h('p', { class: 'quiet' }, `${amount(edited, 'corrected copy', 'corrected copies')} among them.`),
    left.map((line) => h('p', { class: 'quiet', key: line }, `${line}.`)),
  );
}

/** For the title of a time that a producer may have made up. @param {string | null} at */
export function letterTime(at) {
  return at === null ? UNKNOWN : instant(at);
}
