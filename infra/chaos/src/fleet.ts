/** The programs under test as processes: found again, killed, replaced, and watched for an end that nobody asked for. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProgramExit, type SpawnedProgram, spawnProgram } from '@tidemark/testkit';
import { REPLACE_AFTER_MS } from './limits.ts';

export interface Member {
  readonly role: string;
  readonly script: string;
  /** `worker-2.1`: the second place, its first replacement. */
  readonly name: string;
  readonly place: number;
  readonly program: SpawnedProgram;
}

export interface UnexpectedEnd {
  readonly name: string;
  readonly exit: ProgramExit;
  readonly lastLines: readonly string[];
}

export interface Fleet<Role extends string = string> {
  members(role: Role): readonly Member[];
  /** All that ever lived, for their logs. */
  readonly all: readonly Member[];
  readonly unexpectedEnds: readonly UnexpectedEnd[];
  start(role: Role): Member;
  /** Sends the signal and waits for the end, which is expected from now on. */
  end(member: Member, signal: NodeJS.Signals): Promise<ProgramExit>;
  /** A new process in the place of one that is gone. */
  replace(member: Member): Member;
  stopAll(): Promise<void>;
}

const EXIT_UNAVAILABLE = 6;

export function createFleet<Role extends string>(options: {
  /** What each role runs. */
  readonly scripts: Readonly<Record<Role, string>>;
  readonly env: NodeJS.ProcessEnv;
  readonly progress: (line: string) => void;
}): Fleet<Role> {
  const alive = new Set<Member>();
  const all: Member[] = [];
  const expected = new Set<Member>();
  const unexpectedEnds: UnexpectedEnd[] = [];
  let isOver = false;

  const spawn = ({ role, script, place }: Pick<Member, 'role' | 'script' | 'place'>): Member => {
    const replacement = all.filter((member) => member.role === role && member.place === place).length;
    const program = spawnProgram({ script, env: options.env });
    const member = { role, script, place, name: `${role}-${place}.${replacement}`, program };
    all.push(member);
    alive.add(member);
    void program.exit.then((exit) => onExit(member, exit));
    return member;
  };

  const onExit = async (member: Member, exit: ProgramExit): Promise<void> => {
    alive.delete(member);
    if (isOver || expected.has(member)) return;
    if (!couldNotStart(member, exit))
      unexpectedEnds.push({ name: member.name, exit, lastLines: member.program.lines.slice(-5) });
    options.progress(
      `${member.name} ended by itself (${exit.signal ?? exit.code}): ${member.program.lines.at(-1) ?? ''}`,
    );
    await delay(REPLACE_AFTER_MS);
    if (!isOver) spawn(member);
  };

  return {
    members: (role) => [...alive].filter((member) => member.role === role && !expected.has(member)),
    all,
    unexpectedEnds,
    start(role) {
      const places = new Set(all.filter((each) => each.role === role).map(({ place }) => place));
      return spawn({ role, script: options.scripts[role], place: places.size + 1 });
    },
    async end(member, signal) {
      expected.add(member);
      member.program.signal(signal);
      return member.program.exit;
    },
    replace: spawn,
    async stopAll() {
      isOver = true;
      await Promise.all(
        [...alive].map(async ({ program }) => {
          program.signal('SIGCONT');
          await program.kill('SIGKILL');
        }),
      );
    },
  };
}

/** One file a program. */
export function saveLogs({ all }: Pick<Fleet, 'all'>, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, program } of all)
    writeFileSync(join(folder, `${name}.log`), program.lines.map((line) => `${line}\n`).join(''));
}

/** A program that finds a service down at its start says so and leaves the next try to whoever starts programs: to us. */
function couldNotStart({ program }: Member, { code }: ProgramExit): boolean {
  return code === EXIT_UNAVAILABLE && !program.log().some((line) => line['msg'] === 'program.started');
}
