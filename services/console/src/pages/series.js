// @ts-check
/** Series: windows one after the other, what they hold between two runs, and what can be ordered. */
import { actionBar } from './act.js';
import { h } from './dom.js';
import { amount, count, duration, shellWord, UNKNOWN } from './format.js';
import {
  badge,
  commandLine,
  empty,
  factList,
  heading,
  jobLink,
  link,
  notice,
  section,
  seriesLink,
  table,
  time,
  unknownNotice,
} from './parts.js';

/**
 * @typedef {import('../view/series-schemas.ts').SeriesList} SeriesList
 * @typedef {import('../view/series-schemas.ts').Series} Series
 * @typedef {import('../view/series-schemas.ts').SeriesDetail} SeriesDetail
 * @typedef {import('../view/series-schemas.ts').SeriesRun} SeriesRun
 */

const CREATE = "npx tidemark series create NAME --topic TOPIC --handler count --cron '30 2 * * *' --from now";

/** @param {SeriesList} list @param {number} nowMs */
export function seriesPage(list, nowMs) {
  return [
    heading(
      'Series',
      h(
        'p',
        { class: 'lead' },
        'Windows one after the other, without a gap. Between two runs the log is kept from where the next one begins.',
      ),
    ),
    unknownNotice(list.unknown),
    list.series.length === 0 && list.unknown === null
      ? empty('There is no series.', CREATE)
      : list.series.length > 0 && h('div', { key: 'list' }, seriesTable(list.series, nowMs), faultNotices(list.series)),
    list.omitted > 0 && h('p', { class: 'quiet' }, `${count(list.omitted)} more series are not listed.`),
    commandLine('npx tidemark series list', CREATE),
  ];
}

/** @param {readonly Series[]} series @param {number} nowMs */
function seriesTable(series, nowMs) {
  return table(
    'Series, by name',
    [
      { title: 'Series', of: (row) => seriesLink(row.series), class: 'breaks' },
      { title: 'State', of: (row) => badge(row.status.toLowerCase()) },
      {
        title: 'Topic, handler',
        of: (row) => [
          h('span', { class: 'mono' }, row.topic),
          h('span', { class: 'quiet' }, ' through '),
          h('span', { class: 'mono' }, row.handler),
        ],
        class: 'breaks',
      },
      { title: 'Schedule', of: (row) => h('span', { class: 'mono' }, row.schedule) },
      { title: 'Last run', of: (row) => lastRun(row), class: 'breaks' },
      { title: 'Next run', of: (row) => nextRun(row, nowMs), class: 'breaks' },
      { title: 'Held in the log', of: heldText, class: 'breaks' },
    ],
    series,
    (row) => row.series,
  );
}

/** @param {readonly Series[]} series */
function faultNotices(series) {
  return series.flatMap((row) =>
    row.faults.map((fault) =>
      h('div', { key: `${row.series} ${fault}` }, notice('warn', seriesLink(row.series), `: ${fault}`)),
    ),
  );
}

/** @param {Series} row */
function lastRun({ lastRun: run, runs }) {
  if (run === null) return runs === '0' ? 'none yet' : `${count(runs)}, not known any more`;
  return [jobLink(run.jobId), ' ', runBadge(run)];
}

/** @param {SeriesRun} run */
function runBadge({ state, verdict, reason }) {
  const withReason = reason !== '' && state === 'COMPLETED';
  return badge(verdict, `${state.toLowerCase()}${withReason ? ` (${reason})` : ''}`);
}

/** @param {Series} row @param {number} nowMs */
function nextRun({ nextDueAt, liveRun }, nowMs) {
  if (liveRun !== null) return 'after the live run';
  if (nextDueAt === null) return UNKNOWN;
  const seconds = (Date.parse(nextDueAt) - nowMs) / 1_000;
  return h(
    'time',
    { datetime: nextDueAt, title: nextDueAt },
    seconds >= 0 ? `in ${duration(Math.ceil(seconds))}` : `due since ${duration(Math.floor(-seconds))}`,
  );
}

/** Of how many offsets, and where most of them are. @param {Series} row */
function heldText({ heldOffsets, heldIsAtLeast, held, heldOmitted }) {
  if (heldOffsets === null) return UNKNOWN;
  const whole = `${heldIsAtLeast ? 'at least ' : ''}${count(heldOffsets)} ${heldOffsets === '1' ? 'offset' : 'offsets'}`;
  const parts = held.map(({ partition, offsets }) => `p${partition} ${count(offsets)}`).join(' · ');
  const more = heldOmitted > 0 ? ` · ${count(heldOmitted)} more` : '';
  return parts === '' ? whole : [whole, h('span', { class: 'quiet small block' }, parts, more)];
}

/** @param {string} name @param {SeriesDetail | null | undefined} series @param {number} nowMs */
export function oneSeriesPage(name, series, nowMs) {
  if (series === undefined) return [heading(name, h('p', { class: 'quiet' }, 'Looking it up …'))];
  if (series === null)
    return [
      heading(name),
      h(
        'div',
        { class: 'empty' },
        h('p', {}, 'No series of this name is known, or nobody can say now.'),
        link('/series', 'All series'),
      ),
      commandLine('npx tidemark series list'),
    ];
  return [
    heading(
      series.series,
      h(
        'div',
        { class: 'heading-words' },
        badge(series.status.toLowerCase()),
        h('span', { class: 'mono' }, series.topic),
        h('span', { class: 'quiet' }, 'through'),
        h('span', { class: 'mono' }, series.handler),
        h('span', { class: 'mono' }, series.schedule),
      ),
    ),
    series.faults.map((fault) => h('div', { key: fault }, notice(series.status === 'STOPPED' ? 'bad' : 'warn', fault))),
    series.status === 'DELETED' &&
      h(
        'p',
        { class: 'quiet' },
        `It is deleted${series.reason === '' ? '' : `: ${series.reason}`}. Nothing is held for it.`,
      ),
    h(
      'div',
      { class: 'card summary', key: 'summary' },
      h(
        'div',
        { class: 'card-numbers' },
        h('span', { class: 'big' }, nextRunText(series, nowMs)),
        h('span', {}, amount(Number(series.runs), 'run')),
        h(
          'span',
          { class: 'quiet' },
          series.lastLookAt === null ? 'never looked' : ['looked ', time(series.lastLookAt, nowMs)],
        ),
      ),
    ),
    series.orders.length > 0 && actionBar('Orders to the series', actionsOf(series)),
    section('Runs', chain(series, nowMs)),
    section('What it holds in the log', partitionTable(series)),
    section('What was asked for', facts(series, nowMs)),
    commandLine(`npx tidemark series show ${series.series}`),
  ];
}

/** @param {SeriesDetail} series @param {number} nowMs */
function nextRunText(series, nowMs) {
  if (series.liveRun !== null) return [jobLink(series.liveRun), ' is under way'];
  if (series.nextDueAt === null) return 'no next run';
  return ['next run ', nextRun(series, nowMs)];
}

/** @param {SeriesDetail} series @returns {import('./act.js').Action[]} */
function actionsOf({ series, orders, isKilled, liveRun, chain: [newest] }) {
  const of = (/** @type {string} */ order) => ({
    key: `${order} ${series}`,
    path: `/api/series/${encodeURIComponent(series)}/orders`,
    body: (/** @type {string} */ reason) => ({ order, reason }),
    command: (/** @type {string} */ reason) =>
      `npx tidemark series ${order} ${shellWord(series)} --reason ${shellWord(reason)}${order === 'run' ? '' : ' --yes'}`,
  });
  const known = {
    run: {
      ...of('run'),
      label: 'Run now',
      confirm: 'Run it now',
      explain: h(
        'p',
        {},
        'A run of the same chain begins now, from where the last one ended to where the log ends. The schedule stays.',
      ),
    },
    resume: {
      ...of('resume'),
      label: 'Resume',
      confirm: 'Resume it',
      explain: isKilled
        ? h(
            'p',
            {},
            'The series was killed with everything else, and goes on where it was',
            liveRun === null
              ? '.'
              : [': when run ', jobLink(liveRun), ', which was killed, too, is resumed and has ended.'],
          )
        : h(
            'p',
            {},
            'The series goes on behind the run that stopped it. What that run did not settle is skipped',
            newest === undefined ? '.' : [': its window is on ', jobLink(newest.jobId), ', for a job of its own.'],
          ),
    },
    delete: {
      ...of('delete'),
      label: 'Delete',
      confirm: 'Delete it',
      isGrave: true,
      explain: h(
        'p',
        {},
        'The chain ends, and the log is no longer held for its next run. A run that is live goes on by itself.',
      ),
    },
  };
  return orders.flatMap((order) => known[/** @type {'run' | 'resume' | 'delete'} */ (order)] ?? []);
}

/** @param {SeriesDetail} series @param {number} nowMs */
function chain({ chain: runs, chainOmitted, runs: all }, nowMs) {
  if (runs.length === 0)
    return h('p', { class: 'quiet' }, all === '0' ? 'It has not run yet.' : 'Its runs are not known any more.');
  return [
    table(
      'Runs, the newest first',
      [
        { title: 'Run', of: (run) => jobLink(run.jobId), class: 'breaks' },
        { title: 'State', of: runBadge },
        { title: 'Offsets', of: (run) => count(run.offsets), number: true },
        { title: 'Window', of: windowText, class: 'breaks' },
        {
          title: 'Joins the run before',
          of: (run) =>
            run.skipped === null
              ? UNKNOWN
              : run.skipped === '0'
                ? badge('done', 'yes')
                : badge('records removed', `${count(run.skipped)} offsets are missing between`),
        },
        { title: 'Began', of: (run) => time(run.requestedAt, nowMs), number: true },
        { title: 'Ended', of: (run) => (run.isActive ? UNKNOWN : time(run.updatedAt, nowMs)), number: true },
      ],
      runs,
      (run) => run.jobId,
    ),
    chainOmitted !== '0' && h('p', { class: 'quiet' }, `${count(chainOmitted)} older runs are not listed.`),
  ];
}

/** Partitions whose windows fit into a row. */
const WINDOWS_IN_ROW = 4;

/** @param {SeriesRun} run */
function windowText({ window, offsets }) {
  if (offsets === null) return 'not pinned';
  if (window.length === 0) return 'empty';
  const rows = window.slice(0, WINDOWS_IN_ROW);
  return h(
    'span',
    { class: 'windows mono' },
    rows.map(({ partition, start, end }) =>
      h('span', { key: String(partition) }, `p${partition}: ${count(BigInt(start) + 1n)} … ${count(end)}`),
    ),
    window.length > rows.length && h('span', { class: 'quiet' }, `and ${window.length - rows.length} more partitions`),
  );
}

/** @param {SeriesDetail} series */
function partitionTable({ partitions, partitionsOmitted, status }) {
  if (status === 'DELETED' || status === 'REFUSED') return h('p', { class: 'quiet' }, 'Nothing.');
  if (partitions.length === 0) return h('p', { class: 'quiet' }, 'No partition of it is known now.');
  return [
    table(
      'What the series holds, by partition',
      [
        { title: 'Partition', of: (row) => `p${row.partition}` },
        { title: 'State', of: (row) => badge(row.state) },
        { title: 'Held offsets', of: (row) => count(row.heldOffsets), number: true, class: 'strong' },
        { title: 'Next run begins at', of: (row) => count(row.next), number: true },
        { title: 'Floor', of: (row) => count(row.floor), number: true },
        { title: 'Log start', of: (row) => count(row.logStart), number: true },
        { title: 'High watermark', of: (row) => count(row.highWatermark), number: true },
      ],
      partitions,
      (row) => String(row.partition),
    ),
    partitionsOmitted > 0 && h('p', { class: 'quiet' }, `${count(partitionsOmitted)} more partitions are not listed.`),
  ];
}

/** @param {SeriesDetail} series @param {number} nowMs */
function facts(series, nowMs) {
  const parameters = Object.entries(series.parameters);
  return factList([
    ['Schedule', h('span', { class: 'mono' }, series.schedule)],
    series.nextDueAt !== null && ['Next due', time(series.nextDueAt)],
    ['First run from', h('span', { class: 'mono' }, series.from)],
    ['Topic id', h('span', { class: 'mono' }, series.topicId ?? UNKNOWN)],
    ['Ordering', series.settings.ordering],
    ['Chunk', amount(series.settings.chunkRecords, 'record')],
    ['Rate', series.settings.rate === 0 ? 'no limit' : `${count(series.settings.rate)} records a second`],
    ['Attempts per record', `${count(series.settings.attempts)}, then ${series.settings.onExhausted}`],
    ['When records were removed', series.settings.onLost],
    parameters.length > 0 && [
      'Parameters',
      h('span', { class: 'mono' }, parameters.map(([name, value]) => `${name}=${value}`).join('  ')),
    ],
    series.note !== '' && ['Note', series.note],
    ['Created', [time(series.createdAt), series.requestedBy === '' ? '' : ` by ${series.requestedBy}`]],
    ['Last change', [time(series.updatedAt), ' (', time(series.updatedAt, nowMs), ')']],
  ]);
}
