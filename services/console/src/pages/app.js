// @ts-check
/** Which page, with what is known now; once a second, and when the reader goes elsewhere. */
import { closeForm } from './act.js';
import { h, patch } from './dom.js';
import { duration, instant } from './format.js';
import { jobPage } from './job.js';
import { leaveLetter, letterPage } from './letter.js';
import { deadLettersPage, leaveLetters, letterTopicPage } from './letters.js';
import { lagPage, retentionPage } from './logs.js';
import { overviewPage } from './overview.js';
import { heading, link } from './parts.js';
import { relayPage, workersPage } from './programs.js';
import { oneSeriesPage, seriesPage } from './series.js';
import { session, signOut, startSession } from './session.js';
import { createStream } from './stream.js';

/**
 * @typedef {import('./dom.js').Content} Content
 * @typedef {import('./stream.js').Snapshot} Snapshot
 * @typedef {import('./stream.js').Subject} Subject
 */

const PAGES = /** @type {const} */ ([
  ['/', 'Overview'],
  ['/series', 'Series'],
  ['/lag', 'Lag'],
  ['/retention', 'Retention'],
  ['/dead-letters', 'Dead letters'],
  ['/relay', 'Relay'],
  ['/workers', 'Workers'],
]);

/** A stream that is quiet for longer is not live, whatever the browser believes. */
const QUIET_AFTER_MS = 5_000;

const state = {
  /** @type {Snapshot | undefined} */
  snapshot: undefined,
  /** What the page is about: undefined while it is looked up, null when there is no such thing. @type {any} */
  subject: undefined,
  /** Of that. */
  about: '',
  receivedAtMs: Date.now(),
  isLive: false,
};

const top = elementOf('top');
const main = elementOf('main');
const foot = elementOf('foot');

const stream = createStream({
  onSnapshot(snapshot) {
    state.snapshot = snapshot;
    state.receivedAtMs = Date.now();
    show();
  },
  onSubject(subject, value) {
    if (nameOf(subject) !== nameOf(here().subject)) return;
    state.subject = value;
    show();
  },
  onState(isLive) {
    state.isLive = isLive;
    if (!isLive) show();
  },
});

/**
 * What the address says: the page in the navigation that it belongs to, what it is about, and a place in that.
 * @returns {{ readonly page: string, readonly subject?: Subject, readonly topic?: string, readonly place?: string }}
 */
function here() {
  const [, first = '', second, third] = location.pathname.split('/').map(decoded);
  if (second === undefined || second === '') return { page: `/${first}` };
  if (first === 'jobs') return { page: '/', subject: { kind: 'job', name: second } };
  if (first === 'series') return { page: '/series', subject: { kind: 'series', name: second } };
  if (first !== 'dead-letters') return { page: '/' };
  // A letter does not change: its page needs no news of its topic.
  if (third !== undefined && third !== '') return { page: '/dead-letters', topic: second, place: third };
  return { page: '/dead-letters', subject: { kind: 'letters', name: second } };
}

/** @param {Subject | undefined} subject */
function nameOf(subject) {
  return subject === undefined ? '' : `${subject.kind} ${subject.name}`;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function show() {
  patch(top, [header()]);
  patch(main, h('main', {}, page()).children);
  patch(foot, footer());
}

/** @returns {Content} */
function page() {
  const { snapshot } = state;
  const { page: path, subject, topic, place } = here();
  const title = place === undefined ? subject?.name : `Letter ${place}`;
  document.title = `${title ?? PAGES.find(([known]) => known === path)?.[1] ?? 'Tidemark'} · Tidemark`;
  if (snapshot === undefined) return heading('Tidemark', h('p', { class: 'quiet' }, 'Looking around …'));
  // The instant of the picture, by the clock of the console, so that a wrong clock here shows no nonsense.
  const nowMs = Date.parse(snapshot.status.asOf);
  if (topic !== undefined && place !== undefined) return letterPage(topic, place);
  if (subject !== undefined) return subjectPage(subject, nowMs);
  switch (path) {
    case '/series':
      return seriesPage(snapshot.series, nowMs);
    case '/dead-letters':
      return deadLettersPage(snapshot.deadLetters);
    case '/lag':
      return lagPage(snapshot.lag);
    case '/retention':
      return retentionPage(snapshot.retention);
    case '/relay':
      return relayPage(snapshot.relay, nowMs);
    case '/workers':
      return workersPage(snapshot.workers);
    default:
      return overviewPage(snapshot, nowMs);
  }
}

/** @param {Subject} subject @param {number} nowMs @returns {Content} */
function subjectPage({ kind, name }, nowMs) {
  if (kind === 'job') return jobPage(name, state.subject, nowMs);
  return kind === 'series' ? oneSeriesPage(name, state.subject, nowMs) : letterTopicPage(name, state.subject, nowMs);
}

function header() {
  const { page: shown } = here();
  return h(
    'div',
    { class: 'top' },
    link('/', [h('img', { src: '/app/mark.svg', alt: '', width: 28, height: 28 }), h('span', {}, 'Tidemark')], {
      class: 'brand',
    }),
    h('span', { class: 'namespace', title: 'Namespace' }, state.snapshot?.status.namespace ?? ''),
    h(
      'nav',
      { 'aria-label': 'Pages' },
      h(
        'ul',
        {},
        PAGES.map(([path, name]) =>
          h('li', { key: path }, link(path, name, path === shown ? { 'aria-current': 'page' } : {})),
        ),
      ),
    ),
    whoText(),
    h('span', { class: `pulse ${isLive() ? 'on' : 'off'}`, role: 'status' }, isLive() ? 'live' : liveText()),
  );
}

/** Only an operator is told apart: everybody else is a viewer. @returns {Content} */
function whoText() {
  if (session.who?.role !== 'operator') return false;
  return h(
    'span',
    { class: 'who', key: 'who' },
    h('span', { title: 'Operator' }, session.who.name ?? ''),
    h('button', { type: 'button', class: 'copy', onclick: signOut }, 'Sign out'),
  );
}

function isLive() {
  return state.isLive && Date.now() - state.receivedAtMs < QUIET_AFTER_MS;
}

function liveText() {
  return state.snapshot === undefined ? 'connecting' : 'connection lost';
}

/** @returns {import('./dom.js').Child[]} */
function footer() {
  const { snapshot } = state;
  if (snapshot === undefined) return [];
  const age = Math.floor((Date.now() - state.receivedAtMs) / 1000);
  return [
    h(
      'p',
      {},
      h('span', {}, `As of ${instant(snapshot.status.asOf)}${age > 2 ? `, received ${duration(age)} ago` : ''}`),
      h('span', {}, h('a', { href: '/api/openapi.json' }, 'API'), ' · ', h('a', { href: '/metrics' }, 'Metrics')),
    ),
  ];
}

/** @param {string} path */
function goTo(path) {
  if (path !== location.pathname) history.pushState(null, '', path);
  arrive();
  scrollTo(0, 0);
  document.getElementById('title')?.focus({ preventScroll: true });
}

function arrive() {
  const { subject, place } = here();
  if (state.about !== location.pathname) {
    state.about = location.pathname;
    state.subject = undefined;
    closeForm();
    if (subject?.kind !== 'letters') leaveLetters();
    if (place === undefined) leaveLetter();
  }
  stream.show(subject);
  show();
  // On a small screen the navigation is wider than it.
  document.querySelector('nav [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
}

/** Pages of this console change in place; everything else is left to the browser. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const anchor = event.target instanceof Element ? event.target.closest('a') : null;
  const path = anchor?.getAttribute('href') ?? '';
  if (!path.startsWith('/') || path.startsWith('/api/') || path === '/metrics') return;
  event.preventDefault();
  goTo(path);
});
addEventListener('popstate', arrive);
setInterval(() => {
  if (!isLive()) show();
}, 1_000);

/** @param {string} id */
function elementOf(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

arrive();
startSession(show);
