// @ts-check
/** The ranges of a job, a line each: who works, how far, and what is waited for. */
import { h } from './dom.js';
import { count, duration, place, rate, UNKNOWN } from './format.js';
import { badge, table } from './parts.js';
import { waitText } from './waits.js';

/** @typedef {import('./dom.js').Content} Content @typedef {import('../view/schemas.ts').JobDetail} JobDetail @typedef {import('../view/schemas.ts').Range} Range */

/** @param {JobDetail} job */
export function rangeTable(job) {
  if (job.rangeRows.length === 0) {
    const why =
      job.source === 'none' && job.pinnedAt !== null
        ? 'No range is known: there was nothing to do, or nobody has written a checkpoint yet.'
        : 'The window is not pinned yet.';
    return h('p', { class: 'quiet' }, why);
  }
  const isLive = job.source === 'store';
  /** @type {readonly { readonly title: string, readonly of: (range: Range) => Content, readonly number?: boolean, readonly live?: boolean, readonly class?: string }[]} */
  const columns = [
    { title: 'Range', of: (range) => h('span', { class: 'mono' }, `${range.partition}:${range.start}`) },
    { title: 'State', of: (range) => badge(range.status) },
    { title: 'Settled up to', of: settledOf, number: true },
    { title: 'Handed out to', of: (range) => place(range.horizon), number: true, live: true },
    { title: 'End', of: (range) => count(range.end), number: true },
    { title: 'Rate', of: (range) => rate(range.perSecond), number: true, live: true },
    {
      title: 'Lease',
      of: (range) => (range.owner === '' ? UNKNOWN : duration(range.leaseSecondsLeft)),
      number: true,
      live: true,
    },
    {
      title: 'Owner',
      of: (range) => (range.owner === '' ? UNKNOWN : h('span', { class: 'mono small' }, range.owner)),
      live: true,
      class: 'breaks',
    },
    { title: 'Parked', of: parkedOf, number: true, class: 'breaks' },
    { title: 'Waits for', of: waitOf },
    {
      title: 'Note',
      of: ({ waiting, note }) => (waiting === null && note !== '' ? h('span', { class: 'note' }, note) : UNKNOWN),
    },
    { title: 'OK', of: (range) => count(range.counters.ok), number: true },
    { title: 'Dead letters', of: (range) => count(range.counters.deadLettered), number: true },
    { title: 'Adds up', of: (range) => (range.addsUp ? 'yes' : badge('stopped', 'no')) },
  ];
  // Checkpoints know no owner; and what a live range has done is in the numbers above.
  const isFilled = new Map([
    ['Parked', job.rangeRows.some(({ parked }) => parked.records > 0)],
    ['Waits for', job.rangeRows.some(({ waiting }) => waiting !== null)],
    ['Note', job.rangeRows.some(({ waiting, note }) => waiting === null && note !== '')],
  ]);
  const shown = columns.filter(
    ({ title, live }) =>
      (isLive ? !['OK', 'Dead letters'].includes(title) : live !== true) && isFilled.get(title) !== false,
  );
  return table(
    isLive ? 'Ranges, as the cursor store has them' : 'Ranges, as the last checkpoints have them',
    shown,
    job.rangeRows,
    (range) => `${range.partition}:${range.start}`,
  );
}

/** @param {Range} range */
function waitOf({ waiting }) {
  return waiting === null ? UNKNOWN : h('span', { class: 'note' }, waitText(waiting));
}

/** The lowest parked record is behind the cursor, and not settled. @param {Range} range */
function settledOf({ cursor, parked }) {
  return place(parked.lowest === null ? cursor : String(BigInt(parked.lowest) - 1n));
}

/** @param {Range} range */
function parkedOf({ parked }) {
  const next =
    parked.nextDueSeconds === null
      ? ''
      : parked.nextDueSeconds === 0
        ? ', due'
        : `, next in ${duration(parked.nextDueSeconds)}`;
  return parked.records === 0 ? UNKNOWN : `${count(parked.records)}${next}`;
}
