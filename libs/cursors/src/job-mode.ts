/** What a job in each of its modes still takes from those who hold its ranges. */
import { JobMode } from './ports.ts';

export const Work = {
  /** lease, claim, split: more than is being handled now. */
  starting: 'starting',
  /** renew, advance, settle, stop: what is being handled comes to its end. */
  finishing: 'finishing',
  /** release. */
  lettingGo: 'lettingGo',
} as const;
export type Work = (typeof Work)[keyof typeof Work];

const TAKEN: Readonly<Record<JobMode, readonly Work[]>> = {
  [JobMode.running]: [Work.starting, Work.finishing, Work.lettingGo],
  [JobMode.draining]: [Work.finishing, Work.lettingGo],
  [JobMode.halted]: [Work.lettingGo],
};

export function takes(mode: JobMode, work: Work): boolean {
  return TAKEN[mode].includes(work);
}
