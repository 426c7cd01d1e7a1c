// @ts-check
/** Pieces that several pages are made of. */
import { h } from './dom.js';
import { count, duration, instant, percent, portion, rate, UNKNOWN } from './format.js';

/**
 * @typedef {import('./dom.js').Content} Content
 * @typedef {import('./dom.js').View} View
 * @typedef {import('../view/schemas.ts').Job} Job
 */

/** How a word is meant, so that colour never says anything alone. @type {Record<string, string>} */
const TONES = {
  up: 'good',
  alive: 'good',
  clean: 'good',
  done: 'good',
  'caught up': 'good',
  publishing: 'good',
  held: 'live',
  free: 'plain',
  'not filled': 'warn',
  running: 'live',
  working: 'live',
  requested: 'plain',
  stopping: 'live',
  paused: 'warn',
  waiting: 'plain',
  behind: 'plain',
  cancelled: 'plain',
  unknown: 'plain',
  silent: 'warn',
  suspended: 'warn',
  'with faults': 'warn',
  'lease expired': 'warn',
  'nobody publishes': 'warn',
  'no outbox': 'plain',
  down: 'bad',
  stopped: 'bad',
  refused: 'bad',
  unrecoverable: 'bad',
  'does not add up': 'bad',
  'records removed': 'bad',
  'cursor ahead of the log': 'bad',
  'topic missing': 'bad',
  'topic recreated': 'bad',
  active: 'live',
  deleted: 'plain',
  'not held': 'bad',
};

/** @param {string} word @param {string} [text] */
export function badge(word, text = word) {
  return h('span', { class: `badge ${TONES[word] ?? 'plain'}` }, text);
}

/** `completed (dead letters)`; a reason that is a sentence has a place of its own. @param {Job} job */
export function jobBadge(job) {
  const withReason = job.reason !== '' && job.state === 'COMPLETED';
  return badge(job.verdict, `${job.state.toLowerCase()}${withReason ? ` (${job.reason})` : ''}`);
}

/** @param {string} title @param {...Content} content */
export function section(title, ...content) {
  const id = `s-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return h('section', { key: id, 'aria-labelledby': id }, h('h2', { id }, title), content);
}

/** @param {string} title @param {...Content} lead */
export function heading(title, ...lead) {
  return h('div', { class: 'heading', key: 'heading' }, h('h1', { tabindex: -1, id: 'title' }, title), lead);
}

/** @param {string} path @param {Content} content @param {Record<string, string>} [more] */
export function link(path, content, more = {}) {
  return h('a', { href: path, ...more }, content);
}

/** @param {string} jobId */
export function jobLink(jobId) {
  return link(`/jobs/${encodeURIComponent(jobId)}`, jobId, { class: 'mono' });
}

/** @param {string} name */
export function seriesLink(name) {
  return link(`/series/${encodeURIComponent(name)}`, name, { class: 'mono' });
}

/** Of a floor: a job, or `series:` and the name of one. @param {string} holder */
export function holderLink(holder) {
  if (holder.startsWith('audit:')) return [jobLink(holder.slice('audit:'.length)), ' (for its audit)'];
  return holder.startsWith('series:') ? seriesLink(holder.slice('series:'.length)) : jobLink(holder);
}

/** An empty place that says what to do next. @param {string} text @param {...string} commands */
export function empty(text, ...commands) {
  return h('div', { class: 'empty' }, h('p', {}, text), commands.length > 0 && commandList(commands));
}

/** Something the reader should know. @param {'warn' | 'bad'} tone @param {...Content} content */
export function notice(tone, ...content) {
  return h(
    'p',
    { class: `notice ${tone}`, role: 'status' },
    h('strong', {}, tone === 'bad' ? 'Fault: ' : 'Note: '),
    content,
  );
}

/** @param {string | null} reason */
export function unknownNotice(reason) {
  return reason !== null && notice('bad', `this is not known now. ${reason}`);
}

/** The same on the command line. @param {...string} commands */
export function commandLine(...commands) {
  return h(
    'section',
    { class: 'cli', key: 'cli', 'aria-labelledby': 's-cli' },
    h('h2', { id: 's-cli' }, 'On the command line'),
    commandList(commands),
  );
}

/** @param {readonly string[]} commands */
export function commandList(commands) {
  return h(
    'ul',
    { class: 'commands' },
    commands.map((command) =>
      h(
        'li',
        { key: command },
        h('code', {}, command),
        h('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${command}`, onclick: copy }, 'Copy'),
      ),
    ),
  );
}

/** @param {Event} event */
function copy(event) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  const text = button.previousElementSibling?.textContent ?? '';
  const say = (/** @type {string} */ word) => {
    button.textContent = word;
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1_500);
  };
  navigator.clipboard.writeText(text).then(
    () => say('Copied'),
    () => say('Select it'),
  );
}

/**
 * A table that may be wider than a small screen: it scrolls inside a region that the keyboard reaches.
 * @template Row
 * @param {string} caption
 * @param {readonly { readonly title: string, readonly of: (row: Row) => Content, readonly number?: boolean, readonly class?: string }[]} columns
 * @param {readonly Row[]} rows
 * @param {(row: Row) => string} keyOf
 */
export function table(caption, columns, rows, keyOf) {
  const classOf = (/** @type {{ number?: boolean, class?: string }} */ column) =>
    [column.number === true ? 'number' : '', column.class ?? ''].join(' ').trim() || undefined;
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: 0 },
    h(
      'table',
      {},
      h('caption', { class: 'hidden' }, caption),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((column) => h('th', { scope: 'col', class: classOf(column) }, column.title)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            { key: keyOf(row) },
            columns.map((column, index) =>
              h(
                index === 0 ? 'th' : 'td',
                { class: classOf(column), ...(index === 0 ? { scope: 'row' } : {}) },
                column.of(row),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {readonly (readonly [name: string, value: Content] | false)[]} facts */
export function factList(facts) {
  return h(
    'dl',
    { class: 'facts' },
    facts.flatMap((fact) =>
      fact === false ? [] : [h('div', { key: fact[0] }, h('dt', {}, fact[0]), h('dd', {}, fact[1]))],
    ),
  );
}

/** @param {string | null} value @param {number} [nowMs] */
export function time(value, nowMs) {
  if (value === null) return UNKNOWN;
  const ago = nowMs === undefined ? '' : `${duration(Math.max(0, Math.floor((nowMs - Date.parse(value)) / 1000)))} ago`;
  return h('time', { datetime: value, title: instant(value) }, ago === '' ? instant(value) : ago);
}

/** @param {Job} job */
export function progressText(job) {
  const { progress } = job;
  if (progress === null) return job.pinnedAt === null ? (job.isActive ? 'not pinned yet' : 'never pinned') : UNKNOWN;
  return `${count(progress.offsetsDone)} of ${count(progress.offsetsTotal)} offsets`;
}

/** Rate and what is left. @param {Job} job */
export function paceText(job) {
  const { progress } = job;
  if (!job.isActive || progress === null) return '';
  if (progress.perSecond === 0) return 'not moving';
  const left = progress.etaSeconds === null ? `time left ${UNKNOWN}` : `about ${duration(progress.etaSeconds)} left`;
  return progress.perSecond === null ? left : `${rate(progress.perSecond)}, ${left}`;
}

export const LEGEND = /** @type {const} */ ([
  ['settled', 'settled'],
  ['parked', 'parked'],
  ['flight', 'in flight'],
  ['waiting', 'waiting'],
  ['stopped', 'stopped'],
]);

export function legend() {
  return h(
    'ul',
    { class: 'legend', 'aria-label': 'Legend' },
    LEGEND.map(([kind, word]) => h('li', { key: kind }, h('span', { class: `swatch ${kind}` }), word)),
  );
}

/** One bar for a whole job. @param {Job} job */
export function jobBar(job) {
  const { share, progress } = job;
  const label = `${job.jobId}: ${percent(progress?.percent)}`;
  if (share === null)
    return h(
      'div',
      { class: 'bar', role: 'img', 'aria-label': label },
      h('span', { class: 'settled', style: { width: `${progress?.percent ?? 0}%` } }),
    );
  const parts = /** @type {const} */ ([
    ['settled', BigInt(share.settled)],
    ['parked', BigInt(share.parked)],
    ['flight', BigInt(share.inFlight)],
    ['stopped', BigInt(share.stopped)],
  ]);
  const whole = parts.reduce((sum, [, part]) => sum + part, BigInt(share.waiting));
  const words = `settled ${count(share.settled)}, parked ${count(share.parked)}, in flight ${count(share.inFlight)}, waiting ${count(share.waiting)}, stopped ${count(share.stopped)} offsets`;
  return h(
    'div',
    { class: 'bar', role: 'img', 'aria-label': `${label}; ${words}` },
    parts.map(([kind, part]) =>
      h('span', {
        key: kind,
        class: kind,
        style: { width: `${whole === 0n ? (kind === 'settled' ? 100 : 0) : portion(part, whole)}%` },
      }),
    ),
  );
}
