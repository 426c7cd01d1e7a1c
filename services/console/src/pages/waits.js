// @ts-check
/** What a job or a range waits for, and what it has used, in words. */
import { h } from './dom.js';
import { count, duration } from './format.js';
import { notice } from './parts.js';

/** @typedef {import('../view/schemas.ts').Job} Job */
/** @typedef {{ readonly kind: string, readonly reason: string, readonly seconds: number | null }} Wait */

/** Ends by itself, and soon: nobody has to look. */
const PATIENT = new Set(['turn', 'rate', 'permit', 'backoff', 'chunks in flight']);

/** A moment is no news: between two chunks everybody waits for something. @param {Wait} wait */
export function waitText({ reason, seconds }) {
  return seconds === null || seconds < 1 ? reason : `${reason}, for ${duration(seconds)}`;
}

/** What a job waits for, and what can be done about it. @param {Job} job */
export function waitNotice(job) {
  const { waiting, hint } = job;
  if (waiting === null) return false;
  const text = `Waits for ${waitText(waiting)}${hint === '' ? '' : `. ${hint}`}`;
  return PATIENT.has(waiting.kind) ? h('p', { class: 'quiet wait', role: 'status' }, text) : notice('warn', text);
}

/** What a job had to do again, and what is used of the limits that it has. @param {Job} job */
export function usedText({ parked, retries, budget }) {
  const words = [
    parked === null || parked === '0' ? '' : `${count(parked)} parked`,
    retries === null || retries === '0' ? '' : `${count(retries)} retries`,
    ...(budget ?? []).map(({ name, used, max }) =>
      max === null || (name === 'dead letters' && used === '0') ? '' : `${count(used)} of ${count(max)} ${name}`,
    ),
  ];
  return words.filter((word) => word !== '').join(' · ');
}
