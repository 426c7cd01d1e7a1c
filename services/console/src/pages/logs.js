// @ts-check
/** Lag and retention: both are places on a log, so both are drawn on one. */
import { h } from './dom.js';
import { count, countAtLeast, durationAtLeast, place, portion, UNKNOWN } from './format.js';
import { badge, commandLine, empty, heading, holderLink, jobLink, section, table, unknownNotice } from './parts.js';

/**
 * @typedef {import('../view/schemas.ts').Lag} Lag
 * @typedef {import('../view/schemas.ts').LagRow} LagRow
 * @typedef {import('../view/schemas.ts').Retention} Retention
 */

/** @param {Lag} lag */
export function lagPage(lag) {
  const { sum } = lag;
  const newest = lag.rows.find(({ isActive }) => !isActive) ?? lag.rows[0];
  return [
    heading(
      'Lag',
      h(
        'p',
        { class: 'lead' },
        lag.rows.length === 0 || sum.offsets === null
          ? 'How far the jobs are behind the ends of their topics.'
          : [
              h('strong', {}, `${sum.isAtLeast ? 'At least ' : ''}${count(sum.offsets)} offsets behind`),
              `, the oldest unsettled record is ${durationAtLeast(sum.seconds, sum.secondsIsAtLeast)} old.`,
            ],
      ),
    ),
    unknownNotice(lag.unknown),
    lag.rows.length === 0 && lag.unknown === null
      ? empty(
          'No topic is watched: a job makes its topic appear here.',
          'npx tidemark job submit --topic TOPIC --handler count',
        )
      : byTopic(lag.rows).map(([topic, rows]) =>
          section(topic, whoText(rows), h('div', { class: 'logs' }, lagTable(topic, rows))),
        ),
    lag.jobsOmitted > 0 &&
      h('p', { class: 'quiet' }, `${count(lag.jobsOmitted)} older jobs under way are not measured: they are too many.`),
    lag.rowsOmitted > 0 && h('p', { class: 'quiet' }, `${count(lag.rowsOmitted)} more partitions are not listed.`),
    commandLine(
      newest === undefined
        ? 'npx tidemark window TOPIC'
        : `npx tidemark window ${newest.topic}${newest.isActive ? '' : ` --from after:${newest.jobId}`}`,
      ...(newest === undefined ? [] : [`npx tidemark job show ${newest.jobId}`]),
    ),
  ];
}

/** @param {readonly LagRow[]} rows */
function whoText(rows) {
  const jobs = [...new Set(rows.map(({ jobId }) => jobId))];
  const isActive = rows.some((row) => row.isActive);
  return h(
    'p',
    { class: 'quiet' },
    isActive ? 'Cursor of ' : 'No job is under way; the cursor is where the last complete one ended: ',
    jobs.flatMap((jobId, index) => [index > 0 ? ', ' : '', jobLink(jobId)]),
  );
}

/** @param {string} topic @param {readonly LagRow[]} rows */
function lagTable(topic, rows) {
  return table(
    `Lag of ${topic} by partition`,
    [
      { title: 'Partition', of: (row) => `p${row.partition}` },
      { title: 'State', of: (row) => badge(row.state) },
      { title: 'Behind', of: (row) => countAtLeast(row.lagOffsets, row.isAtLeast), number: true, class: 'strong' },
      { title: 'Oldest', of: (row) => durationAtLeast(row.lagSeconds, row.isAtLeast), number: true, class: 'strong' },
      {
        title: 'Log',
        of: (row) => gauge(row.logStart, row.cursor, row.highWatermark, 'settled', 'behind'),
        class: 'gauge-cell',
      },
      { title: 'Log start', of: (row) => count(row.logStart), number: true },
      { title: 'Settled up to', of: (row) => place(row.cursor), number: true },
      { title: 'High watermark', of: (row) => count(row.highWatermark), number: true },
    ],
    rows,
    (row) => `${row.partition}`,
  );
}

/** @param {Retention} retention */
export function retentionPage(retention) {
  return [
    heading(
      'Retention',
      h(
        'p',
        { class: 'lead' },
        'The floor is the lowest offset that somebody still needs. Nothing at or above it is deleted by Tidemark.',
      ),
    ),
    unknownNotice(retention.unknown),
    retention.rows.length === 0 && retention.unknown === null
      ? empty('Nothing is held: no job has pinned a topic.', 'npx tidemark job submit --topic TOPIC --handler count')
      : byTopic(retention.rows).map(([topic, rows]) =>
          section(topic, h('div', { class: 'logs' }, retentionTable(topic, rows))),
        ),
    retention.rowsOmitted > 0 &&
      h('p', { class: 'quiet' }, `${count(retention.rowsOmitted)} more partitions are not listed.`),
    commandLine(
      'npx tidemark retention status',
      'npx tidemark job list',
      `npx tidemark window ${retention.rows[0]?.topic ?? 'TOPIC'}`,
    ),
  ];
}

/** @param {string} topic @param {Retention['rows']} rows */
function retentionTable(topic, rows) {
  return table(
    `Floors of ${topic} by partition`,
    [
      { title: 'Partition', of: (row) => `p${row.partition}` },
      { title: 'State', of: (row) => badge(row.state) },
      { title: 'Floor', of: (row) => count(row.floor), number: true, class: 'strong' },
      {
        title: 'Log',
        of: (row) => gauge(row.logStart, before(row.floor ?? row.highWatermark), row.highWatermark, 'may go', 'held'),
        class: 'gauge-cell',
      },
      { title: 'Log start', of: (row) => count(row.logStart), number: true },
      { title: 'Mark', of: (row) => count(row.mark), number: true },
      { title: 'High watermark', of: (row) => count(row.highWatermark), number: true },
      { title: 'Held by', of: holders, class: 'holder-cell' },
    ],
    rows,
    (row) => `${row.partition}`,
  );
}

/** The last offset below a floor. @param {string | null} offset */
function before(offset) {
  return offset === null ? null : (BigInt(offset) - 1n).toString();
}

/** @param {Retention['rows'][number]} row */
function holders(row) {
  if (row.holders.length === 0) return UNKNOWN;
  return h(
    'span',
    { class: 'holders' },
    row.holders.map(({ holder, isReservation }) =>
      h('span', { key: holder }, holderLink(holder), isReservation && ' (reserved)'),
    ),
    row.holdersOmitted > 0 && ` and ${count(row.holdersOmitted)} more`,
  );
}

/** A log from its start to its end with one place in it. @param {string | null} start @param {string | null} place @param {string | null} end @param {string} before @param {string} after */
function gauge(start, place, end, before, after) {
  if (start === null || place === null || end === null) return h('span', { class: 'quiet' }, UNKNOWN);
  const size = BigInt(end) - BigInt(start);
  const done = portion(BigInt(place) - BigInt(start) + 1n, size);
  return h(
    'div',
    {
      class: 'gauge',
      role: 'img',
      'aria-label':
        size <= 0n ? 'The log is empty' : `${before} ${done} %, ${after} ${Math.round((100 - done) * 100) / 100} %`,
    },
    h('span', { class: 'settled', style: { width: `${size <= 0n ? 0 : done}%` } }),
    size > 0n && h('span', { class: 'tick', style: { left: `${done}%` } }),
  );
}

/** @template {{ readonly topic: string }} Row @param {readonly Row[]} rows @returns {[string, Row[]][]} */
function byTopic(rows) {
  /** @type {Map<string, Row[]>} */
  const topics = new Map();
  for (const row of rows) topics.set(row.topic, [...(topics.get(row.topic) ?? []), row]);
  return [...topics];
}
