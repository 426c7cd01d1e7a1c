// @ts-check
/**
 * Searching the letters of the topic that is shown: looks of bounded size one after the other, until a page is full, nothing is
 * left, or somebody cancels. One page is held at a time.
 */
import { h } from './dom.js';
import { amount, count, size, UNKNOWN } from './format.js';
import { CLASSES, jobsOf, letterPath, previewText } from './letter-words.js';
import { badge, jobLink, link, notice, table, time } from './parts.js';
import { ask, changed } from './session.js';

/** @typedef {import('../view/letter-schemas.ts').LetterGroups} LetterGroups @typedef {import('../view/letter-schemas.ts').LetterRow} LetterRow */

/** Letters that are held at a time: a page more than that replaces them, so the memory of a browser has a bound. */
const ROWS_MAX = 200;

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
export function leaveSearch() {
  search.running?.abort();
  search.topic = '';
}

/** Begins with the first page of a topic, when it is another one. @param {string} topic */
export function searchIn(topic) {
  if (search.topic === topic) return;
  leaveSearch();
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

/** What the server says instead of letters. */
export function searchFault() {
  return search.fault;
}

/** @param {string} topic @param {LetterGroups} groups @param {number} nowMs */
export function searchView(topic, groups, nowMs) {
  return [searchForm(groups), searchProgress(), letterTable(topic, nowMs), searchMore()];
}
