export { applyRebase, inspectRebase, type RebaseOptions } from './src/rebase.ts';
export type { LookOptions, MovedTopic, RebaseReport } from './src/rebase-look.ts';
export type { ExtraEvent, ExtraEvents } from './src/rebase-scan.ts';
export { type Relay, type RelayOptions, RelayState, startRelay } from './src/relay.ts';
