// @ts-check
/** What runs, how far it is, and whether anything needs a person. */
import { h } from './dom.js';
import { amount, count, countAtLeast, duration, durationAtLeast, percent, UNKNOWN } from './format.js';
import {
  badge,
  commandLine,
  empty,
  heading,
  jobBadge,
  jobBar,
  jobLink,
  legend,
  link,
  notice,
  paceText,
  progressText,
  section,
  table,
  time,
  unknownNotice,
} from './parts.js';
import { usedText, waitNotice } from './waits.js';

/** @typedef {import('../view/schemas.ts').Snapshot} Snapshot @typedef {import('../view/schemas.ts').Job} Job */

/** @param {Snapshot} snapshot @param {number} nowMs */
export function overviewPage(snapshot, nowMs) {
  const { jobs } = snapshot;
  const active = jobs.jobs.filter(({ isActive }) => isActive);
  const ended = jobs.jobs.filter(({ isActive }) => !isActive);
  return [
    heading('Overview'),
    tiles(snapshot),
    services(snapshot),
    unknownNotice(jobs.unknown),
    section(
      'Under way',
      active.length > 0 && legend(),
      active.length > 0
        ? h('div', { class: 'cards' }, active.map(jobCard))
        : jobs.unknown === null &&
            empty(
              jobs.jobs.length === 0 ? 'No job was ever submitted here.' : 'No job is under way.',
              'npx tidemark job submit --topic TOPIC --handler count',
            ),
    ),
    ended.length > 0 && section('Ended', endedTable(ended, nowMs)),
    jobs.omitted > 0 && h('p', { class: 'quiet', key: 'omitted' }, `${count(jobs.omitted)} older jobs are not listed.`),
    commandLine('npx tidemark job list', 'npx tidemark status'),
  ];
}

/** @param {Snapshot} snapshot */
function tiles({ status, lag, relay, workers }) {
  return h(
    'ul',
    { class: 'tiles', key: 'tiles', 'aria-label': 'Key figures' },
    tile('/', 'Jobs under way', count(status.activeJobs), status.jobs === null ? UNKNOWN : statesText(status.jobs)),
    tile('/workers', 'Workers alive', count(workers.alive), silentText(workers)),
    tile('/lag', 'Offsets behind', countAtLeast(lag.sum.offsets, lag.sum.isAtLeast), lagText(lag)),
    tile(
      '/relay',
      'Outbox rows waiting',
      relay.backlogRows === null ? UNKNOWN : `${relay.backlogIsAtLeast ? 'over ' : ''}${count(relay.backlogRows)}`,
      relay.lagSeconds === null || relay.lagSeconds === 0
        ? relay.state
        : `${relay.state}, oldest ${duration(relay.lagSeconds)}`,
    ),
  );
}

/** @param {Snapshot['lag']} lag */
function lagText({ rows, sum, unknown }) {
  if (rows.length === 0) return unknown === null ? 'no partition is watched' : UNKNOWN;
  return `oldest ${durationAtLeast(sum.seconds, sum.secondsIsAtLeast)}`;
}

/** @param {string} path @param {string} name @param {string} value @param {string} detail */
function tile(path, name, value, detail) {
  return h(
    'li',
    { key: name },
    link(path, [
      h('span', { class: 'tile-name' }, name),
      h('span', { class: 'tile-value' }, value),
      h('span', { class: 'tile-detail' }, detail),
    ]),
  );
}

/** @param {Record<string, number>} counts */
function statesText(counts) {
  const words = Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([state, jobs]) => `${count(jobs)} ${state.toLowerCase()}`);
  return words.length === 0 ? 'none so far' : words.join(', ');
}

/** @param {Snapshot['workers']} workers */
function silentText({ alive, workers }) {
  if (alive === null) return UNKNOWN;
  const silent = workers.length - alive;
  if (silent > 0) return `${count(silent)} silent`;
  return alive === 0
    ? 'nobody works'
    : amount(
        workers.reduce((sum, { ranges }) => sum + ranges, 0),
        'range',
      );
}

/** @param {Snapshot} snapshot */
function services({ status }) {
  const faults = status.services.filter(({ state, detail }) => state !== 'up' && detail !== '');
  return h(
    'div',
    { key: 'services' },
    h(
      'ul',
      { class: 'services', 'aria-label': 'Services' },
      status.services.map(({ name, state }) => h('li', { key: name }, h('span', {}, name), badge(state))),
    ),
    faults
      .filter(({ state }) => state === 'down')
      .map(({ name, detail }) => notice('bad', `${name} is down: ${detail}`)),
  );
}

/** @param {Job} job */
function jobCard(job) {
  return h(
    'article',
    { class: 'card', key: job.jobId, 'aria-label': `Job ${job.jobId}` },
    h('div', { class: 'card-top' }, h('h3', {}, jobLink(job.jobId)), jobBadge(job)),
    h(
      'p',
      { class: 'route' },
      h('span', { class: 'mono' }, job.topic),
      h('span', { class: 'quiet' }, ' through '),
      h('span', { class: 'mono' }, job.handler),
    ),
    jobBar(job),
    h(
      'div',
      { class: 'card-numbers' },
      h('span', { class: 'big' }, percent(job.progress?.percent)),
      h('span', {}, progressText(job)),
      h('span', { class: 'quiet' }, paceText(job)),
    ),
    job.ranges !== null && h('p', { class: 'quiet' }, rangesText(job.ranges)),
    usedText(job) !== '' && h('p', { class: 'quiet', key: 'used' }, usedText(job)),
    job.note !== '' && h('p', { class: 'note' }, job.note),
    waitNotice(job),
  );
}

/** @param {NonNullable<Job['ranges']>} ranges */
export function rangesText(ranges) {
  const words = [
    [ranges.done, 'done'],
    [ranges.working, 'working'],
    [ranges.waiting, 'waiting'],
    [ranges.expired, 'lease expired'],
    [ranges.stopped, 'stopped'],
  ].flatMap(([amount, word]) => (amount === 0 ? [] : [`${count(/** @type {number} */ (amount))} ${word}`]));
  return `${amount(ranges.total, 'range')}: ${words.join(', ')}`;
}

/** @param {readonly Job[]} jobs @param {number} nowMs */
function endedTable(jobs, nowMs) {
  return table(
    'Ended jobs, the newest first',
    [
      { title: 'Job', of: (job) => jobLink(job.jobId), class: 'breaks' },
      { title: 'State', of: jobBadge },
      { title: 'Topic', of: (job) => h('span', { class: 'mono clamp', title: job.topic }, job.topic), class: 'breaks' },
      { title: 'Handler', of: (job) => h('span', { class: 'mono' }, job.handler), class: 'breaks wide' },
      { title: 'Offsets', of: (job) => count(job.progress?.offsetsTotal), number: true },
      { title: 'Ended', of: (job) => time(job.updatedAt, nowMs), number: true },
    ],
    jobs,
    (job) => job.jobId,
  );
}
