/** Writers of several kinds, all the time, and a session that ends what one of them prepares. */
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '@tidemark/keyspace';
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import type { Ledger } from './ledger.ts';
import { DRAIN_MS_MAX, LAZY_SHARE, PREPARED_MS, WRITERS } from './limits.ts';
import { PLAYS, type Stage } from './plays.ts';
import { openSession, type Session } from './sessions.ts';

export interface Load {
  /** Rejects when a writer fails at what no crash explains. */
  readonly failed: Promise<never>;
  /** Resolves when every transaction has ended, the prepared ones, too. */
  stop(): Promise<void>;
}

const FINISH_EVERY_MS = 200;

export function startLoad(
  stage: Stage & { readonly url: string; readonly ledger: Ledger; readonly seed: number },
): Load {
  const { url, ledger, namespace } = stage;
  const chance = chanceOf(stage.seed);
  const sessions: Session[] = [];
  const open = (hints: boolean): Session => {
    const session = openSession(url, ledger, { hints });
    sessions.push(session);
    return session;
  };
  const stopping = new AbortController();
  const pause = (ms: number): Promise<void> => delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  const write = async (role: keyof typeof PLAYS, place: number, own: Chance): Promise<void> => {
    const { run, pauseMs } = PLAYS[role];
    // A transaction that has notified cannot be prepared.
    const session = open(role !== 'preparer');
    for (let i = 1; !stopping.signal.aborted; i += 1) {
      await pause(own.between(pauseMs.min, pauseMs.max));
      const label = `${role}-${place}-${i}`;
      const isLazy = role !== 'preparer' && own.next() < LAZY_SHARE;
      const work = async (client: Parameters<typeof run>[0]) => {
        const verdict = await run(client, own, { ...stage, label });
        return role === 'preparer' ? { prepareAs: preparedName(namespace, verdict, i), verdict } : verdict;
      };
      await session.transact(label, work, { isLazy });
    }
  };

  const writing = Object.entries(WRITERS).flatMap(([role, count]) =>
    Array.from({ length: count }, (_, place) =>
      write(role as keyof typeof WRITERS, place, chanceOf(chance.between(0, 2 ** 31 - 1))),
    ),
  );
  const finisher = open(true);
  const finishing = new AbortController();
  const finish = async (): Promise<void> => {
    while (!finishing.signal.aborted) {
      await delay(FINISH_EVERY_MS);
      await endPrepared(finisher, namespace, chance.between(PREPARED_MS.min, PREPARED_MS.max));
    }
  };
  const finished = finish();
  const failed = Promise.all([...writing, finished]).then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return {
    failed,
    async stop() {
      stopping.abort();
      await Promise.allSettled(writing);
      finishing.abort();
      await finished.catch(() => undefined);
      const deadline = performance.now() + DRAIN_MS_MAX;
      while ((await endPrepared(finisher, namespace, 0)) > 0 && performance.now() < deadline)
        await delay(FINISH_EVERY_MS);
      await Promise.all(sessions.map((session) => session.close()));
    },
  };
}

/** Its name says how it ends, so that whoever finds it after a crash knows. */
function preparedName(namespace: string, verdict: 'commit' | 'rollback', serial: number): string {
  return `${namespace}/${verdict}/${serial}`;
}

/** How many there were. One whose end is not answered is found again, or is gone. */
async function endPrepared(session: Session, namespace: string, olderThanMs: number): Promise<number> {
  const found = await session.ask<{ gid: string }>(
    `select gid from pg_prepared_xacts
      where starts_with(gid, $1) and prepared <= clock_timestamp() - $2::int * interval '1 ms'`,
    [`${namespace}/`, olderThanMs],
  );
  for (const { gid } of found) {
    const verdict = gid.split('/')[1] ?? 'rollback';
    await session.ask(`${verdict} prepared '${gid}'`).catch((error: unknown) => {
      if (codeOf(error) !== NO_SUCH_PREPARED) throw error;
    });
  }
  return found.length;
}

const NO_SUCH_PREPARED = '42704';
