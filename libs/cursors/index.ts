/** What others may use of the cursor store: the port, and what is needed to speak it. Clients are under `./redis`. */
export { aliveWorkers } from './src/alive-workers.ts';
export { type Filling, type FillingAnswer, fillPlaces } from './src/fill-places.ts';
export type {
  BelowMark,
  ConfirmAnswer,
  Floor,
  FloorLook,
  FloorPlace,
  FloorStore,
  HolderCall,
  PlaceIncomplete,
  ProposeAnswer,
  RaiseAnswer,
  ReserveAnswer,
} from './src/floor-ports.ts';
export type { Leadership, LeadershipAnswer } from './src/leadership.ts';
export { holdingFloors, lowestFloor } from './src/lowest-floor.ts';
export type {
  AdvanceAnswer,
  CallId,
  Candidate,
  ClaimAnswer,
  CursorStore,
  Fenced,
  FencingToken,
  JobInstall,
  LeaseAnswer,
  LostInterval,
  ParkedRecord,
  Parking,
  RangeCall,
  RangeState,
  Refusal,
  SettleAnswer,
  SplitAnswer,
} from './src/ports.ts';
export { JobMode } from './src/ports.ts';
export { HIGHEST_PRIORITY } from './src/schedule-order.ts';
export type { Schedule, WorkerAnnouncement } from './src/schedule-ports.ts';
