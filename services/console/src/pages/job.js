// @ts-check
/** One job: where every range stands on the map of offsets, and the proof that its numbers add up. */
import { h } from './dom.js';
import { amount, count, percent, UNKNOWN } from './format.js';
import { offsetMap } from './map.js';
import { rangesText } from './overview.js';
import {
  badge,
  commandLine,
  factList,
  heading,
  jobBadge,
  jobBar,
  link,
  notice,
  paceText,
  progressText,
  section,
  seriesLink,
  table,
  time,
} from './parts.js';
import { rangeTable } from './ranges.js';
import { usedText, waitNotice } from './waits.js';

/** @typedef {import('./dom.js').Content} Content @typedef {import('../view/schemas.ts').JobDetail} JobDetail */

/** @param {string} jobId @param {JobDetail | null | undefined} job @param {number} nowMs */
export function jobPage(jobId, job, nowMs) {
  if (job === undefined) return [heading(jobId, h('p', { class: 'quiet' }, 'Looking it up …'))];
  if (job === null)
    return [
      heading(jobId),
      h(
        'div',
        { class: 'empty' },
        h('p', {}, 'No job of this id is known, or nobody can say now.'),
        link('/', 'All jobs'),
      ),
      commandLine('npx tidemark job list'),
    ];
  return [
    heading(
      job.jobId,
      h(
        'div',
        { class: 'heading-words' },
        jobBadge(job),
        h('span', { class: 'mono' }, job.topic),
        h('span', { class: 'quiet' }, 'through'),
        h('span', { class: 'mono' }, job.handler),
        job.series !== null && [h('span', { class: 'quiet' }, 'a run of'), seriesLink(job.series)],
      ),
    ),
    waitNotice(job),
    !job.isActive &&
      job.state !== 'COMPLETED' &&
      job.reason !== '' &&
      notice(job.verdict === 'cancelled' ? 'warn' : 'bad', job.reason),
    h(
      'div',
      { class: 'summary card', key: 'summary' },
      h(
        'div',
        { class: 'card-numbers' },
        h('span', { class: 'huge' }, percent(job.progress?.percent)),
        h('span', {}, progressText(job)),
        h('span', { class: 'quiet' }, paceText(job)),
      ),
      jobBar(job),
      job.ranges !== null && h('p', { class: 'quiet' }, rangesText(job.ranges)),
      usedText(job) !== '' && h('p', { class: 'quiet', key: 'used' }, usedText(job)),
    ),
    // Of a job that was refused there is nothing to draw.
    (job.pinnedAt !== null || job.isActive) && [
      section('Map of offsets', offsetMap(job)),
      section('Do the numbers add up?', identity(job)),
      lost(job),
      job.budget !== null && section('Limits', limits(job.budget)),
      section('Ranges', rangeTable(job)),
    ],
    section('What was asked for', facts(job, nowMs)),
    commandLine(`npx tidemark job show ${job.jobId}`, `npx tidemark job watch ${job.jobId}`, ...steering(job)),
  ];
}

/** What can be ordered now; the resume with what it must raise is in the hint. @param {JobDetail} job */
function steering({ jobId, verdict, isActive, state }) {
  const order = (/** @type {string} */ name) => `npx tidemark job ${name} ${jobId} --reason "…"`;
  if (!isActive || state === 'REQUESTED') return [];
  if (verdict === 'running') return [order('pause'), order('kill'), order('cancel')];
  return verdict === 'paused' || verdict === 'suspended' ? [order('resume'), order('cancel')] : [order('cancel')];
}

/** @param {NonNullable<JobDetail['budget']>} budget */
function limits(budget) {
  return table(
    'What the job has used of what it may',
    [
      {
        title: 'Limit',
        of: ({ name, isUsedUp }) => [name, isUsedUp && [' ', badge('suspended', 'used up')]],
      },
      { title: 'Used', of: ({ used }) => count(used), number: true },
      { title: 'Allowed', of: ({ max }) => (max === null ? 'no limit' : count(max)), number: true },
    ],
    budget,
    ({ name }) => name,
  );
}

/** @type {readonly (readonly [term: 'ok' | 'skipped' | 'deadLettered' | 'filtered' | 'markers' | 'compacted' | 'lost' | 'parked', name: string])[]} */
const TERMS = [
  ['ok', 'ok'],
  ['skipped', 'skipped'],
  ['deadLettered', 'dead letters'],
  ['filtered', 'filtered'],
  ['markers', 'markers'],
  ['compacted', 'compacted'],
  ['lost', 'lost'],
  ['parked', 'parked'],
];

/** @param {JobDetail} job */
function identity({ identity: numbers, deadLettersOf }) {
  if (numbers === null) return h('p', { class: 'quiet' }, 'No range tells its numbers yet.');
  const { counters } = numbers;
  return [
    h(
      'div',
      { class: 'equation' },
      term('passed', numbers.span, 'whole'),
      h('span', { class: 'sign' }, '='),
      TERMS.flatMap(([name, word], index) => [
        index > 0 && h('span', { class: 'sign', key: `${name}+` }, '+'),
        term(
          word,
          counters[name],
          counters[name] === '0'
            ? 'zero'
            : name === 'lost' || name === 'deadLettered' || name === 'parked'
              ? 'look'
              : '',
        ),
      ]),
    ),
    h(
      'p',
      {},
      numbers.addsUp
        ? badge('done', 'adds up')
        : badge('stopped', `does not add up: the terms give ${count(numbers.counted)}`),
      h(
        'span',
        { class: 'quiet' },
        ` Apart from it: ${count(counters.retries)} retries; at most ${count(counters.maybeRedelivered)} offsets were delivered again after a takeover.`,
      ),
    ),
    counters.deadLettered !== '0' &&
      h(
        'p',
        { key: 'letters' },
        link(`/dead-letters/${encodeURIComponent(deadLettersOf)}`, 'Look at the dead letters'),
      ),
  ];
}

/** @param {string} name @param {string} value @param {string} tone */
function term(name, value, tone) {
  return h(
    'span',
    { class: `term ${tone}`, key: name },
    h('span', { class: 'term-value' }, count(value)),
    h('span', { class: 'term-name' }, name),
  );
}

/** @param {JobDetail} job */
function lost({ lost: intervals, lostOmitted, lostUnplaced }) {
  if (intervals.length === 0 && lostUnplaced === '0') return false;
  return section(
    'Lost',
    notice('bad', 'somebody removed these records before they were read.'),
    table(
      'Offsets that can never be read',
      [
        { title: 'Partition', of: (row) => String(row.partition) },
        { title: 'First', of: (row) => count(row.first), number: true },
        { title: 'Last', of: (row) => count(row.last), number: true },
      ],
      intervals,
      (row) => `${row.partition}:${row.first}`,
    ),
    lostOmitted > 0 && h('p', { class: 'quiet' }, `${count(lostOmitted)} more are not listed.`),
    lostUnplaced !== '0' &&
      h('p', { class: 'quiet' }, `Of ${count(lostUnplaced)} more offsets the places were not kept.`),
  );
}

/** @param {JobDetail} job @param {number} nowMs */
function facts(job, nowMs) {
  const parameters = Object.entries(job.parameters);
  return factList([
    ['Window', h('span', { class: 'mono' }, `${job.from} … ${job.to}`)],
    [
      'Pinned',
      job.pinnedAt === null
        ? job.isActive
          ? 'not yet'
          : 'never'
        : [time(job.pinnedAt), ' (', time(job.pinnedAt, nowMs), ')'],
    ],
    job.unsentKeys !== '0' && [
      'Unsent',
      [
        `${count(job.unsentKeys)} ${job.unsentKeys === '1' ? 'key was' : 'keys were'} waiting unsent at the pin, and their rows are not in the window: `,
        job.unsent.map(({ key, position, reason }) => `${key} (from position ${position} on, ${reason})`).join('; '),
      ],
    ],
    job.heldForAudit !== null && [
      'Held for an audit',
      job.heldForAudit.until === null
        ? 'from its start on, and for a time after its end'
        : ['until ', time(job.heldForAudit.until)],
    ],
    job.releasedFloors.length > 0 && ['Released', job.releasedFloors.join('; ')],
    ['Requested', [time(job.requestedAt), job.requestedBy === '' ? '' : ` by ${job.requestedBy}`]],
    ['Last change', [time(job.updatedAt), ' (', time(job.updatedAt, nowMs), ')']],
    job.reason !== '' && job.state === 'COMPLETED' && ['Reason', job.reason],
    job.note !== '' && ['Note', job.note],
    ['Topic id', h('span', { class: 'mono' }, job.topicId ?? UNKNOWN)],
    ['Ordering', job.settings.ordering],
    ['Chunk', amount(job.settings.chunkRecords, 'record')],
    [
      'Ranges a partition',
      job.settings.rangesPerPartition === 0 ? 'as its size asks for' : count(job.settings.rangesPerPartition),
    ],
    [
      'At the same time',
      job.settings.concurrency === 0 ? 'as many ranges as there are slots' : amount(job.settings.concurrency, 'range'),
    ],
    ['Rate', job.settings.rate === 0 ? 'no limit' : `${count(job.settings.rate)} records a second`],
    ['Priority', count(job.settings.priority)],
    ['Attempts per record', `${count(job.settings.attempts)}, then ${job.settings.onExhausted}`],
    [
      'Parked records',
      job.settings.parkedMax === 0 ? 'none: every attempt in place' : `up to ${count(job.settings.parkedMax)} a range`,
    ],
    ['When records were removed', job.settings.onLost],
    parameters.length > 0 && [
      'Parameters',
      h('span', { class: 'mono' }, parameters.map(([name, value]) => `${name}=${value}`).join('  ')),
    ],
  ]);
}
