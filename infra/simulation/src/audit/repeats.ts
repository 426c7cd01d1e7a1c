/** P10: `maybeRedelivered` is an upper bound of what takeovers delivered again, as long as the store forgot nothing. */
import { jobOf, placeOf } from './ledger.ts';
import type { Rule } from './rule.ts';

export function repeatRule(): Rule {
  /** By job and offset: the tokens under which it was handed out. */
  const tokens = new Map<string, Map<string, Set<string>>>();
  const parked = new Set<string>();
  let storeForgot = false;
  return {
    *after(event) {
      if (event.kind === 'store lost') storeForgot = true;
      if (event.kind === 'stored')
        for (const range of event.look?.ranges ?? [])
          for (const { offset } of range.parked) parked.add(`${jobOf(event.call)}/${placeOf(range.partition, offset)}`);
      if (event.kind === 'delivered') {
        const ofJob = tokens.get(event.jobId) ?? new Map<string, Set<string>>();
        tokens.set(event.jobId, ofJob);
        const place = placeOf(event.partition, event.offset);
        ofJob.set(place, (ofJob.get(place) ?? new Set()).add(event.token));
      }
      if (event.kind !== 'durable' || storeForgot) return;
      for (const { jobId, state, totals } of event.states) {
        if (state !== 'COMPLETED' || totals === null) continue;
        let repeats = 0n;
        for (const [place, under] of tokens.get(jobId) ?? [])
          if (!parked.has(`${jobId}/${place}`)) repeats += BigInt(under.size - 1);
        if (repeats > totals.maybeRedelivered)
          yield `P10 ${jobId} handed out ${repeats} records again, and says that it may have been ${totals.maybeRedelivered}`;
      }
    },
  };
}
