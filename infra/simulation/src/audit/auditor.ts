/** Judges a history: which promises were broken, as sentences; none is what it must be. Pure. */
import type { History } from '../history.ts';
import { cursorRule } from './cursors.ts';
import { deliveryRule } from './deliveries.ts';
import { endingRule } from './endings.ts';
import { floorRule } from './floors.ts';
import { freshnessRule } from './freshness.ts';
import { Ledger } from './ledger.ts';
import { lossRule } from './losses.ts';
import { phaseRule } from './phases.ts';
import { repeatRule } from './repeats.ts';
import type { Rule } from './rule.ts';
import { shapeRule } from './shape.ts';
import { tokenRule } from './tokens.ts';

/** What follows the first few faults mostly follows from them. */
const FAULTS_MAX = 12;

export function audit(history: History): readonly string[] {
  const rules: readonly Rule[] = [
    shapeRule(),
    cursorRule(),
    tokenRule(),
    deliveryRule(),
    floorRule(),
    lossRule(),
    phaseRule(),
    repeatRule(),
    freshnessRule(history.linksAreGood),
    endingRule(),
  ];
  const ledger = new Ledger(history);
  const faults: string[] = [];
  for (const event of history.events) {
    const at = `${(event.atMs / 1000).toFixed(3)} ${event.by}: `;
    for (const { before } of rules) for (const fault of before?.(event, ledger) ?? []) faults.push(at + fault);
    ledger.apply(event);
    for (const { after } of rules) for (const fault of after?.(event, ledger) ?? []) faults.push(at + fault);
    if (faults.length >= FAULTS_MAX) return faults;
  }
  for (const { atEnd } of rules) faults.push(...(atEnd?.(history, ledger) ?? []));
  return faults;
}
