/** One run: the planned faults, track beside track, then the judgement. */
import { setTimeout as delay } from 'node:timers/promises';
import { type PlannedFault, planFaults } from './schedule.ts';
import type { Judgement, RunningSystem, RunOptions, SystemUnderTest } from './system.ts';

export interface Run extends RunOptions {
  readonly minutes: number;
  /** Some of the system's kinds of faults. */
  readonly kinds: readonly string[];
  /** Where the logs of the programs go. */
  readonly logsFolder: string;
  /** Rejects when somebody wants the run to end. */
  readonly interrupted: Promise<never>;
}

export async function runChaos(system: SystemUnderTest, run: Run): Promise<Judgement> {
  const { seed, minutes, progress } = run;
  const kinds = system.kinds.filter(({ kind }) => run.kinds.includes(kind));
  const plan = planFaults({ kinds, seed, minutes });
  const running = await system.start(run);
  try {
    const over = Promise.race([running.failed, run.interrupted]);
    const counts = await Promise.race([injectAll(running, plan, progress), over]);
    return await Promise.race([running.judge(counts), over]);
  } finally {
    await running.saveLogs(run.logsFolder);
    await running.close();
  }
}

/** How many of each kind happened. A track whose faults take longer than planned is late and skips nothing. */
async function injectAll(
  running: RunningSystem,
  plan: readonly PlannedFault[],
  progress: (line: string) => void,
): Promise<Readonly<Record<string, number>>> {
  const startMs = performance.now();
  const counts = new Map<string, number>();
  const elapsed = (): number => performance.now() - startMs;
  const tracks = [...new Set(plan.map(({ track }) => track))];
  await Promise.all(
    tracks.map(async (track) => {
      for (const fault of plan.filter((each) => each.track === track)) {
        await delay(Math.max(0, fault.atMs - elapsed()));
        progress(`${(elapsed() / 1_000).toFixed(1).padStart(6)} s  ${fault.kind}`);
        await running.inject(fault);
        counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + 1);
      }
    }),
  );
  return Object.fromEntries([...counts].toSorted(([a], [b]) => a.localeCompare(b)));
}
