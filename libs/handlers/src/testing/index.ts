/** For tests of handlers. Needs no test runner: what is wrong is thrown. */
export { checkVerify, type VerifyCheckOptions } from './check-verify.ts';
export { contextOf, eventsOf, tokenOfGrant } from './handler-parts.ts';
export { type InterruptionOptions, type InterruptionReport, interruptEverywhere } from './interrupt-everywhere.ts';
export type { Probe } from './probe.ts';
