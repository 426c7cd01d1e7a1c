// @ts-check
/** The map of offsets: a line a partition, on it the ranges where they lie, in them what became of each offset. */
import { h } from './dom.js';
import { count, portion, UNKNOWN } from './format.js';
import { legend } from './parts.js';
import { waitText } from './waits.js';

/** @typedef {import('../view/schemas.ts').JobDetail} JobDetail @typedef {import('../view/schemas.ts').Range} Range */

/** @param {JobDetail} job */
export function offsetMap(job) {
  if (job.window.length === 0) return h('p', { class: 'quiet' }, 'The window is not pinned yet.');
  return [
    legend(),
    h(
      'ul',
      { class: 'map' },
      job.window.map((window) => partitionRow(job, window)),
    ),
    job.rangesOmitted > 0 && h('p', { class: 'quiet' }, `${count(job.rangesOmitted)} more ranges are not drawn.`),
  ];
}

/** @param {JobDetail} job @param {JobDetail['window'][number]} window */
function partitionRow(job, window) {
  const start = BigInt(window.start);
  const size = BigInt(window.end) - start;
  const own = job.rangeRows.filter(({ partition }) => partition === window.partition);
  const words = own.map((range) => `range from ${count(range.start)}: ${range.status}${rangeWords(range)}`);
  return h(
    'li',
    { key: String(window.partition) },
    h('span', { class: 'map-name' }, `p${window.partition}`),
    h(
      'div',
      {
        class: size > 0n ? 'track' : 'track none',
        role: 'img',
        'aria-label': `Partition ${window.partition}, offsets ${window.start} to ${window.end}; ${words.join('; ') || 'no ranges'}`,
      },
      size <= 0n ? 'nothing to do here' : own.map((range) => rangeBar(range, start, size)),
    ),
    h('span', { class: 'map-end' }, doneText(window)),
    window.clamped !== '' && h('span', { class: 'map-note' }, window.clamped),
  );
}

/** @param {Range} range */
function rangeWords({ parked, waiting, note }) {
  const wait = waiting === null ? note : `waits for ${waitText(waiting)}`;
  return `${parked.records === 0 ? '' : `, ${count(parked.records)} parked`}${wait === '' ? '' : `, ${wait}`}`;
}

/** @param {JobDetail['window'][number]} window */
function doneText({ start, end, settledUpTo }) {
  const size = BigInt(end) - BigInt(start);
  if (size <= 0n) return '';
  return `${settledUpTo === null ? UNKNOWN : count(BigInt(settledUpTo) - BigInt(start))} of ${count(size)}`;
}

/** @param {Range} range @param {bigint} start @param {bigint} size */
function rangeBar(range, start, size) {
  const begin = BigInt(range.start);
  const length = BigInt(range.end) - begin;
  const passed = BigInt(range.cursor) - begin;
  const parked = BigInt(range.parked.records);
  const settled = passed - parked;
  const isStopped = range.status === 'stopped';
  const horizon = range.owner === '' || range.horizon === null ? BigInt(range.cursor) : BigInt(range.horizon);
  const flight = isStopped || horizon < BigInt(range.cursor) ? 0n : horizon - BigInt(range.cursor);
  return h(
    'span',
    {
      key: range.start,
      class: `range ${isStopped ? 'stopped' : 'waiting'}${range.status === 'lease expired' ? ' expired' : ''}`,
      style: { left: `${portion(begin - start, size)}%`, width: `${portion(length, size)}%` },
      title: `${range.partition}:${range.start} to ${range.end}, ${range.status}${range.owner === '' ? '' : `, ${range.owner}`}${rangeWords(range)}`,
    },
    h('span', { key: 's', class: 'settled', style: { width: `${portion(settled, length)}%` } }),
    // Where they lie is not drawn: they are few, and among what is settled.
    h('span', {
      key: 'p',
      class: 'parked',
      style: { left: `${portion(settled, length)}%`, width: `${portion(parked, length)}%` },
    }),
    h('span', {
      key: 'f',
      class: 'flight',
      style: { left: `${portion(passed, length)}%`, width: `${portion(flight, length)}%` },
    }),
  );
}
