/** How the schedule orders jobs by text: larger priority first, so the written number runs the other way. */

const INT32_MAX = 2 ** 31 - 1;
const WIDTH = 10;

/** Nobody is served before a job of this priority. */
export const HIGHEST_PRIORITY = INT32_MAX;

/** Ten digits that sort larger priorities first. Priorities are int32, as in the wire record. */
export function invertedPriority(priority: number): string {
  if (!Number.isInteger(priority) || priority > INT32_MAX || priority < -INT32_MAX - 1)
    throw new RangeError(`priority must be a 32-bit integer: ${priority}`);
  return (INT32_MAX - priority).toString().padStart(WIDTH, '0');
}
