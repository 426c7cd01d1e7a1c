/** P5: tokens of a range only grow, also across restores, and nothing is accepted of anybody but the youngest grantee. */
import { rangeIdOf } from '@tidemark/keyspace';
import type { StoreCall } from '../history.ts';
import { BEGIN_MS } from '../limits.ts';
import { jobOf } from './ledger.ts';
import { ACCEPTED, type Rule, rangeName } from './rule.ts';

interface Grant {
  readonly token: string;
  readonly filling: number;
  readonly slot: string;
  readonly sequence: bigint;
}

export function tokenRule(): Rule {
  const youngest = new Map<string, Grant>();
  return {
    *before(event, ledger) {
      if (event.kind !== 'stored' || !isOfOwner(event.call)) return;
      const { call } = event;
      const job = ledger.jobs.get(jobOf(call));
      if (job === undefined || call.answer === undefined || !ACCEPTED.has(call.answer.kind)) return;
      const rangeId = rangeIdOf(call.request.range);
      const key = `${job.facts.jobId}/${rangeId}`;
      const known = youngest.get(key);
      const name = rangeName(job, call.request.range);
      if (call.operation !== 'lease') {
        const { token } = call.request;
        if (known === undefined || known.token !== token)
          yield `P5 ${call.operation} on ${name} was accepted of ${token}, the youngest is ${known?.token ?? 'nobody'}`;
        else if (known.filling !== job.filling)
          yield `P5 ${call.operation} on ${name} was accepted of ${token}, which was granted before the restore`;
        return;
      }
      if (call.answer.kind !== 'granted') return;
      const { slot, sequence } = call.request.call;
      if (known?.slot === slot && known.sequence === sequence && known.token === call.answer.token) return;
      if (known !== undefined && call.answer.token <= known.token)
        yield `P5 ${name} is granted under ${call.answer.token} after ${known.token}`;
      const before = job.look?.ranges.find((range) => rangeIdOf(range) === rangeId);
      const nowMs = event.atMs + BEGIN_MS;
      if (before !== undefined && before.owner !== '' && before.leaseUntilMs > nowMs)
        yield `P5 ${name} is granted to ${slot} while ${before.owner} holds it`;
      youngest.set(key, { token: call.answer.token, filling: job.filling, slot, sequence });
    },
  };
}

type OwnerCall = Extract<
  StoreCall,
  { operation: 'lease' | 'renew' | 'claim' | 'advance' | 'settle' | 'release' | 'stop' }
>;

function isOfOwner(call: StoreCall): call is OwnerCall {
  return (
    call.operation !== 'split' &&
    call.operation !== 'install' &&
    call.operation !== 'setMode' &&
    call.operation !== 'remove'
  );
}
