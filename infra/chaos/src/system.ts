/** A system that faults are injected into. A run is the same for every system; what breaks and what must hold is the system's. */
import type { FaultKind, PlannedFault } from './schedule.ts';

export interface SystemUnderTest {
  readonly name: string;
  readonly kinds: readonly FaultKind[];
  /** Services, programs and load, all of the run's own. Resolves when they run. */
  start(options: RunOptions): Promise<RunningSystem>;
}

export interface RunOptions {
  readonly seed: number;
  /** Addresses of what nobody kills. */
  readonly postgres: string;
  readonly registry: string;
  readonly progress: (line: string) => void;
}

export interface RunningSystem {
  /** Resolves when the fault and what was to be seen of it are over. */
  inject(fault: PlannedFault): Promise<void>;
  /** Rejects when the run itself cannot go on. */
  readonly failed: Promise<never>;
  /** Ends the load, waits until everything has come to rest, counts and judges. */
  judge(faults: Readonly<Record<string, number>>): Promise<Judgement>;
  /** Writes the logs of all programs into the folder. */
  saveLogs(folder: string): Promise<void>;
  /** Ends whatever was started. */
  close(): Promise<void>;
}

export interface Judgement {
  /** The one line of the run. */
  readonly report: object;
  /** What must not be, as sentences; empty = good. */
  readonly violations: readonly string[];
}
