// @ts-check
/** Which page, with what is known now; once a second, and when the reader goes elsewhere. */
import { h, patch } from './dom.js';
import { duration, instant } from './format.js';
import { jobPage } from './job.js';
import { lagPage, retentionPage } from './logs.js';
import { overviewPage } from './overview.js';
import { heading, link } from './parts.js';
import { relayPage, workersPage } from './programs.js';
import { createStream } from './stream.js';

/**
 * @typedef {import('./dom.js').Content} Content
 * @typedef {import('./stream.js').Snapshot} Snapshot
 * @typedef {import('./stream.js').JobDetail} JobDetail
 */

const PAGES = /** @type {const} */ ([
  ['/', 'Overview'],
  ['/lag', 'Lag'],
  ['/retention', 'Retention'],
  ['/relay', 'Relay'],
  ['/workers', 'Workers'],
]);

/** A stream that is quiet for longer is not live, whatever the browser believes. */
const QUIET_AFTER_MS = 5_000;

const state = {
  /** @type {Snapshot | undefined} */
  snapshot: undefined,
  /** @type {JobDetail | null | undefined} */
  job: undefined,
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
  onJob(job) {
    if (job !== null && job.jobId !== shownJobId()) return;
    state.job = job;
    show();
  },
  onState(isLive) {
    state.isLive = isLive;
    if (!isLive) show();
  },
});

function shownJobId() {
  const match = /^\/jobs\/([^/]+)$/.exec(location.pathname);
  return match?.[1] === undefined ? undefined : decoded(match[1]);
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
  const jobId = shownJobId();
  document.title = `${jobId ?? PAGES.find(([path]) => path === location.pathname)?.[1] ?? 'Tidemark'} · Tidemark`;
  if (snapshot === undefined) return heading('Tidemark', h('p', { class: 'quiet' }, 'Looking around …'));
  // The instant of the picture, by the clock of the console, so that a wrong clock here shows no nonsense.
  const nowMs = Date.parse(snapshot.status.asOf);
  if (jobId !== undefined) return jobPage(jobId, state.job, nowMs);
  switch (location.pathname) {
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

function header() {
  const here = shownJobId() === undefined ? location.pathname : '/';
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
          h('li', { key: path }, link(path, name, path === here ? { 'aria-current': 'page' } : {})),
        ),
      ),
    ),
    h('span', { class: `pulse ${isLive() ? 'on' : 'off'}`, role: 'status' }, isLive() ? 'live' : liveText()),
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
  const jobId = shownJobId();
  if (state.job?.jobId !== jobId) state.job = undefined;
  stream.show(jobId);
  show();
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
