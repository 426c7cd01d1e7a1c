// @ts-check
/**
 * The live stream of a page. A hidden page has none: a browser opens six connections to a server, and the seventh tab
 * would wait for ever.
 *
 * @typedef {import('../view/schemas.ts').Snapshot} Snapshot
 * @typedef {import('../view/schemas.ts').JobDetail} JobDetail
 * @typedef {{ onSnapshot(snapshot: Snapshot): void, onJob(job: JobDetail | null): void, onState(isLive: boolean): void }} Listener
 */

/** A refused stream never heard from the server when to come again. */
const REFUSED_RETRY_MS = 2_000;

/** @param {Listener} listener */
export function createStream(listener) {
  /** @type {EventSource | undefined} */
  let source;
  /** @type {string | undefined} */
  let jobId;

  function close() {
    source?.close();
    source = undefined;
  }

  function open() {
    close();
    if (document.visibilityState === 'hidden') return;
    const opened = new EventSource(
      jobId === undefined ? '/api/events' : `/api/events?job=${encodeURIComponent(jobId)}`,
    );
    source = opened;
    opened.addEventListener('snapshot', (event) => {
      listener.onState(true);
      listener.onSnapshot(JSON.parse(event.data));
    });
    opened.addEventListener('job', (event) => listener.onJob(JSON.parse(event.data)));
    opened.addEventListener('error', () => {
      listener.onState(false);
      // A refused stream is closed for good by the browser; one that broke is opened again by it.
      if (opened.readyState === EventSource.CLOSED && source === opened) setTimeout(open, REFUSED_RETRY_MS);
    });
  }

  document.addEventListener('visibilitychange', () => (document.visibilityState === 'hidden' ? close() : open()));

  return {
    /** @param {string | undefined} id The job that the page shows. */
    show(id) {
      if (source !== undefined && id === jobId) return;
      jobId = id;
      open();
    },
  };
}
