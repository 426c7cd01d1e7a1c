// @ts-check
/** Handing dead letters over again: what is asked for, a dry run of it, and the order. */
import { choice, field } from './act.js';
import { h } from './dom.js';
import { amount, count, shellWord } from './format.js';
import { CLASSES, jobsOf, letterPath } from './letter-words.js';
import { notice } from './parts.js';
import { ask, changed } from './session.js';

/** @typedef {import('../view/letter-schemas.ts').LetterGroups} LetterGroups @typedef {import('../view/letter-schemas.ts').RedrivePlan} RedrivePlan */

/** A dry run, of the wish that is in the form now. */
const plan = {
  wish: '',
  /** @type {AbortController | undefined} */
  running: undefined,
  /** @type {RedrivePlan | undefined} */
  found: undefined,
  /** @type {string | undefined} */
  fault: undefined,
  forget() {
    plan.running?.abort();
    Object.assign(plan, { wish: '', running: undefined, found: undefined, fault: undefined });
  },
};

/** Of the job that the open form asks for: pressed twice it is one job. */
let redriveId = newId();

function newId() {
  return `redrive-${crypto.randomUUID()}`;
}

/** @param {string} topic @param {LetterGroups} groups @returns {import('./act.js').Action} */
export function redriveAction(topic, groups) {
  const jobs = jobsOf(groups);
  const wishOf = (/** @type {import('./act.js').Fields} */ values) => redriveWish(values, jobs);
  return {
    key: `redrive ${topic}`,
    label: 'Redrive …',
    confirm: 'Hand them over again',
    explain: h(
      'p',
      {},
      'A job of its own hands dead letters over as the records they are of: each record once, its most corrected letter. The letters stay where they are.',
    ),
    fields: (values) => [
      h(
        'div',
        { class: 'fields', key: 'fields' },
        choice({
          name: 'job',
          label: 'Letters of job',
          options: [['', 'all jobs'], ...jobs.map((job) => /** @type {const} */ ([job, job]))],
          chosen: wishOf(values)['job'] ?? '',
        }),
        choice({ name: 'class', label: 'Class', options: CLASSES, chosen: '' }),
        field({ name: 'handler', label: 'Handler', hint: 'left out: that of the job' }),
        field({ name: 'rate', label: 'Records a second', hint: 'left out: no limit' }),
        field({ name: 'maxRounds', label: 'Rounds at most', hint: 'left out: 10' }),
        choice({
          name: 'recreated',
          label: 'Letters of a topic that was created again',
          options: [
            ['refuse', 'refuse'],
            ['leave', 'leave'],
            ['take', 'take'],
          ],
          chosen: 'refuse',
        }),
        choice({
          name: 'acceptDuplicates',
          label: 'Handler that is not idempotent',
          options: [
            ['', 'refuse'],
            ['true', 'accept duplicates'],
          ],
          chosen: '',
        }),
      ),
      planView(topic, wishOf(values)),
    ],
    command: (reason, values) => redriveCommand(topic, wishOf(values), reason),
    path: `/api${letterPath(topic)}/redrive`,
    body: (reason, values) => {
      const { rate, maxRounds, ...wish } = wishOf(values);
      return {
        ...wish,
        ...(rate === undefined ? {} : { rate: Number(rate) }),
        ...(maxRounds === undefined ? {} : { maxRounds: Number(maxRounds) }),
        id: redriveId,
        reason,
      };
    },
    onDone() {
      redriveId = newId();
      plan.forget();
    },
  };
}

/** What was said; with letters of one job only, they are meant. @param {import('./act.js').Fields} values @param {readonly string[]} jobs @returns {Record<string, string>} */
function redriveWish(values, jobs) {
  const wish = { ...(jobs.length === 1 ? { job: jobs[0] ?? '' } : {}), ...values };
  return Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== ''));
}

/** @type {Readonly<Record<string, string>>} */
const OPTIONS = {
  job: '--job',
  class: '--class',
  handler: '--handler',
  rate: '--rate',
  maxRounds: '--max-rounds',
  recreated: '--recreated',
};

/** @param {string} topic @param {Record<string, string>} wish @param {string} reason */
function redriveCommand(topic, wish, reason) {
  const words = Object.entries(OPTIONS).flatMap(([name, option]) => {
    const value = wish[name];
    return value === undefined ? [] : [`${option} ${shellWord(value)}`];
  });
  if (wish['acceptDuplicates'] !== undefined) words.push('--accept-duplicates');
  return `npx tidemark deadletter redrive ${shellWord(topic)} ${words.join(' ')} --id ${redriveId} --reason ${shellWord(reason)} --yes`;
}

/** @param {string} topic @param {Record<string, string>} wish */
function planView(topic, wish) {
  const text = JSON.stringify(wish);
  const isOfThis = plan.wish === text;
  return h(
    'div',
    { class: 'plan', key: 'plan' },
    h(
      'div',
      { class: 'action-buttons' },
      plan.running !== undefined
        ? h(
            'button',
            { type: 'button', class: 'button', key: 'stop', onclick: () => plan.running?.abort() },
            'Cancel the dry run',
          )
        : h(
            'button',
            { type: 'button', class: 'button', key: 'plan', onclick: () => void makePlan(topic, wish) },
            'Dry run',
          ),
      h(
        'span',
        { class: 'quiet' },
        plan.running !== undefined ? 'Reading the letters …' : 'counts what would be handed over, and changes nothing',
      ),
    ),
    isOfThis && plan.fault !== undefined && notice('bad', plan.fault),
    isOfThis && plan.found !== undefined && planTold(plan.found, wish),
  );
}

/** @param {string} topic @param {Record<string, string>} wish */
async function makePlan(topic, wish) {
  plan.forget();
  const running = new AbortController();
  plan.running = running;
  changed();
  const answer = await ask(`/api${letterPath(topic)}/redrive?${new URLSearchParams(wish)}`, running.signal);
  if (plan.running !== running) return;
  plan.running = undefined;
  plan.wish = JSON.stringify(wish);
  if (answer.kind === 'ok') plan.found = answer.value;
  if (answer.kind === 'failed') plan.fault = answer.error;
  changed();
}

/** @param {RedrivePlan} found @param {Record<string, string>} wish */
function planTold({ handler, letters, edited, byClass, byRound, left }, { rate }) {
  const amounts = (/** @type {Record<string, number>} */ counts) =>
    Object.entries(counts)
      .map(([what, number]) => `${what}: ${count(number)}`)
      .join(', ');
  return h(
    'div',
    { class: 'told', role: 'status' },
    h(
      'p',
      {},
      h('strong', {}, `${amount(letters, 'record')} would be handed over`),
      ` to ${handler}`,
      rate === undefined
        ? ', as fast as it goes.'
        : `, ${count(rate)} a second: at least ${count(Math.ceil(letters / Number(rate)))} s.`,
    ),
    letters > 0 && h('p', { class: 'quiet' }, `By class: ${amounts(byClass)}. By round: ${amounts(byRound)}.`),
    edited > 0 && h('p', { class: 'quiet' }, `${amount(edited, 'corrected copy', 'corrected copies')} among them.`),
    left.map((line) => h('p', { class: 'quiet', key: line }, `${line}.`)),
  );
}

/** When the reader goes elsewhere. */
export function leavePlan() {
  plan.forget();
}
