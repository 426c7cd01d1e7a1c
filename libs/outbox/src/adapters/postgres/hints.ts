/**
 * Hints by LISTEN/NOTIFY on a connection of its own. A connection that died without a word looks just like a quiet one,
 * so it is asked for a sign of life, and replaced when it gives none; meanwhile the caller's own polling goes on.
 */
import { backoff } from '@tidemark/keyspace';
import { Client } from 'pg';
import { LISTEN_RETRIES, NOTE_STANDS_MS, SLEEP_NOTE_MS } from '../../limits.ts';
import type { OutboxHints } from '../../ports.ts';
import { abandon, clientConfig, type Database, type DatabaseOptions, PATIENCE } from './database.ts';
import type { Queries } from './queries.ts';

export function createPostgresHints(
  database: Database,
  queries: Queries,
  options: DatabaseOptions,
  noteStandsMs = NOTE_STANDS_MS,
): OutboxHints {
  let noted = false;
  let wake: (() => void) | undefined;
  let asleepUntilMs = 0;
  let notedAtMs = 0;
  let awakeTimer: NodeJS.Timeout | undefined;
  let writingAwake: Promise<void> = Promise.resolve();
  let listener: { close(): Promise<void> } | undefined;

  function writeAwake(): Promise<void> {
    asleepUntilMs = 0;
    const written = database.use((client) => client.query(queries.announceAwake)).then(() => undefined);
    writingAwake = written.catch(() => undefined); // if it fails, the note ends by itself
    return written;
  }

  return {
    async announceSleep() {
      // From the first sleep on: whoever only looks at an outbox needs no listener.
      listener ??= startListening(queries, options, () => {
        noted = true;
        wake?.();
      });
      clearTimeout(awakeTimer);
      // The note is renewed when half of it is over, not at every poll.
      if (asleepUntilMs - performance.now() > SLEEP_NOTE_MS / 2) return;
      // On another connection it might come after this note and end it.
      await writingAwake;
      await database.use((client) => client.query(queries.announceSleep, [SLEEP_NOTE_MS]));
      notedAtMs = performance.now();
      asleepUntilMs = notedAtMs + SLEEP_NOTE_MS;
    },
    // Every statement of a writer reads the note, and while an old snapshot is held passes all older ones, too. So one
    // that is woken for a moment lets it stand.
    async announceAwake() {
      clearTimeout(awakeTimer);
      if (asleepUntilMs === 0) return;
      const standsForMs = notedAtMs + noteStandsMs - performance.now();
      if (standsForMs <= 0) return writeAwake();
      awakeTimer = setTimeout(() => void writeAwake().catch(() => {}), standsForMs);
      awakeTimer.unref();
    },
    async wait(ms, signal) {
      if (!noted && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(finish, ms);
          function finish(): void {
            clearTimeout(timer);
            signal.removeEventListener('abort', finish);
            wake = undefined;
            resolve();
          }
          wake = finish;
          signal.addEventListener('abort', finish);
        });
      }
      noted = false;
    },
    async close() {
      clearTimeout(awakeTimer);
      await listener?.close();
    },
  };
}

function startListening(queries: Queries, options: DatabaseOptions, onHint: () => void): { close(): Promise<void> } {
  const { listenCheckMs, listenAnswerMs } = options.patience ?? PATIENCE;
  let closed = false;
  let current: Client | undefined;
  let timer: NodeJS.Timeout | undefined;

  function later(ms: number, work: () => Promise<void>): void {
    if (closed) return;
    timer = setTimeout(() => void work(), ms);
  }

  async function connect(failures: number): Promise<void> {
    const client = new Client({
      ...clientConfig({ ...options, applicationName: `${options.applicationName} listener` }),
      query_timeout: listenAnswerMs,
    });
    current = client;
    client.on('error', () => replace(client, 0));
    client.on('end', () => replace(client, 0));
    client.on('notification', onHint);
    try {
      await client.connect();
      await client.query(queries.listen);
      onHint(); // Whatever was told while nobody listened.
      later(listenCheckMs, () => check(client));
    } catch {
      replace(client, failures + 1);
    }
  }

  async function check(client: Client): Promise<void> {
    if (current !== client) return;
    try {
      await client.query('select 1');
      later(listenCheckMs, () => check(client));
    } catch {
      replace(client, 0);
    }
  }

  function replace(client: Client, failures: number): void {
    if (closed || current !== client) return;
    current = undefined;
    clearTimeout(timer);
    abandon(client);
    later(backoff({ ...LISTEN_RETRIES, attempt: failures + 1, random: Math.random }), () => connect(failures));
  }

  void connect(0);
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      if (current !== undefined) abandon(current);
    },
  };
}
