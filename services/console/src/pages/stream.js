// @ts-check
/**
 * The live stream of a page. A hidden page has none: a browser opens six connections to a server, and the seventh tab
 * would wait for ever.
 *
 * @typedef {import('../view/schemas.ts').Snapshot} Snapshot
 * @typedef {import('../view/schemas.ts').JobDetail} JobDetail
 * @typedef {import('../view/series-schemas.ts').SeriesDetail} SeriesDetail
 * @typedef {import('../view/letter-schemas.ts').LetterGroups} LetterGroups
 * @typedef {{ readonly kind: 'job' | 'series' | 'letters', readonly name: string }} Subject What a page is about.
 * @typedef {{ onSnapshot(snapshot: Snapshot): void, onSubject(subject: Subject, value: any): void, onState(isLive: boolean): void }} Listener
 */

/** A refused stream never heard from the server when to come again. */
const REFUSED_RETRY_MS = 2_000;

/** @param {Listener} listener */
export function createStream(listener) {
  /** @type {EventSource | undefined} */
  let source;
  /** @type {Subject | undefined} */
  let subject;

  function close() {
    source?.close();
    source = undefined;
  }

  function open() {
    close();
    if (document.visibilityState === 'hidden') return;
    const opened = new EventSource(
      subject === undefined ? '/api/events' : `/api/events?${subject.kind}=${encodeURIComponent(subject.name)}`,
    );
    source = opened;
    opened.addEventListener('snapshot', (event) => {
      listener.onState(true);
      listener.onSnapshot(JSON.parse(event.data));
    });
    const about = subject;
    if (about !== undefined)
      opened.addEventListener(about.kind, (event) => listener.onSubject(about, JSON.parse(event.data)));
    opened.addEventListener('error', () => {
      listener.onState(false);
      // A refused stream is closed for good by the browser; one that broke is opened again by it.
      if (opened.readyState === EventSource.CLOSED && source === opened) setTimeout(open, REFUSED_RETRY_MS);
    });
  }

  document.addEventListener('visibilitychange', () => (document.visibilityState === 'hidden' ? close() : open()));

  return {
    /** @param {Subject | undefined} next What the page shows. */
    show(next) {
      if (source !== undefined && next?.kind === subject?.kind && next?.name === subject?.name) return;
      subject = next;
      open();
    },
  };
}
