export { runCycle } from './src/cycle.ts';
export { type Guard, type GuardOptions, startGuard } from './src/guard.ts';
export type { GuardParts } from './src/parts.ts';
export { type PolicyParse, parsePolicies, type RetentionPolicy } from './src/policy.ts';
export { type CycleReport, PartitionOutcome, type PartitionReport } from './src/report.ts';
