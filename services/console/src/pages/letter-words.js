// @ts-check
/** What pages about dead letters have in common. */
import { h } from './dom.js';
import { instant, UNKNOWN } from './format.js';

/** @typedef {import('../view/letter-schemas.ts').Preview} Preview @typedef {import('../view/letter-schemas.ts').LetterGroups} LetterGroups */

/** Faults as workers tell them apart. */
export const CLASSES = /** @type {const} */ ([
  ['', 'all classes'],
  ['data', 'data'],
  ['transient', 'transient'],
  ['timeout', 'timeout'],
]);

/** @param {string} topic */
export function letterPath(topic) {
  return `/dead-letters/${encodeURIComponent(topic)}`;
}

/** @param {LetterGroups} groups */
export function jobsOf({ groups }) {
  return [...new Set(groups.map(({ jobId }) => jobId))];
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

/** For the title of a time that a producer may have made up. @param {string | null} at */
export function letterTime(at) {
  return at === null ? UNKNOWN : instant(at);
}
