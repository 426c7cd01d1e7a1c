export { adviceOn } from './src/advice.ts';
export { type AuditAnswer, auditJob, type JobAudit } from './src/audit/audit-job.ts';
export type { AuditedRange } from './src/audit/audit-ranges.ts';
export {
  askedEffects,
  type Effect,
  type EffectSource,
  orderedEffects,
  type RecordEffect,
} from './src/audit/effects.ts';
export { awaitState } from './src/await-state.ts';
export { type BudgetUse, budgetUseOf, describeBudget, resumeCommand } from './src/budget-use.ts';
export { correctedJson } from './src/corrected-json.ts';
export {
  type DeadLetter,
  deadLetterAt,
  deadLetters,
  type LetterGroup,
  LetterGroups,
  lettersIn,
  letterTopic,
} from './src/dead-letters.ts';
export { type EditPlan, editLetter } from './src/edit-letter.ts';
export { type ExpectedTime, expectedTime, type KnownPace, paceOfHandler } from './src/expected-time.ts';
export type { FloorCost } from './src/floor-cost.ts';
export { type JobLoss, lossOf } from './src/job-loss.ts';
export { rangeLines, settledLines, type WindowRow, windowLines } from './src/job-tables.ts';
export { isOver, JobVerdict, jobVerdictOf, needsPerson } from './src/job-verdict.ts';
export {
  checkpointedRanges,
  type JobView,
  type RangeView,
  viewJob,
  viewJobs,
  type WaitingRangeView,
} from './src/job-view.ts';
export { type KillAllAnswer, killAll } from './src/kill-all.ts';
export { type Lag, type LagQuestion, LagState, type LagSum, lagOf, sumLag } from './src/lag.ts';
export { type LetterPage, type LetterPageQuestion, type LetterPlace, letterPage } from './src/letter-page.ts';
export { describeEditRefusal, describeRedriveRefusal, leftByRedrive } from './src/letter-words.ts';
export { WATCH_INTERVAL_MS } from './src/limits.ts';
export type { Amount } from './src/measure-window.ts';
export type { Order, Raise } from './src/order.ts';
export type { ControlParts } from './src/parts.ts';
export { FormerTopic, planRedrive, type RedriveCount, type RedrivePlan } from './src/plan-redrive.ts';
export {
  type PlannedWindow,
  type PlanParts,
  planWindow,
  type WindowPlan,
  type WindowQuestion,
} from './src/plan-window.ts';
export { positionFaults } from './src/position-faults.ts';
export {
  type FloorSight,
  inTime,
  type PreviewedPartition,
  type PreviewSum,
  previewWindow,
  type WindowPreview,
} from './src/preview-window.ts';
export {
  createPaceMeter,
  describeCount,
  describeDuration,
  describeProgress,
  type Pace,
  STILL,
} from './src/progress.ts';
export { RangeWord, wordOfRange } from './src/range-word.ts';
export { assertReachable, type Service } from './src/reachable.ts';
export { type ReadItem, readWindow } from './src/read-window.ts';
export { type RedriveRequest, type RedriveWish, redriveRequest, sameRedrive } from './src/redrive.ts';
export { newestRelayPosition, type OutboxView, type ParkedKeyView, viewOutbox } from './src/relay-view.ts';
export { type Retention, type RetentionFacts, RetentionState, retentionOf } from './src/retention.ts';
export {
  type Holding,
  type RetentionQuestion,
  type RetentionRow,
  type RetentionView,
  viewRetention,
} from './src/retention-view.ts';
export { retryParked } from './src/retry-parked.ts';
export {
  type CreateSeriesAnswer,
  createSeries,
  type OrderSeriesAnswer,
  orderSeries,
  planSeries,
} from './src/series.ts';
export {
  describeSchedule,
  describeSeries,
  describeSeriesOrder,
  hasStopped,
  unansweredSeries,
} from './src/series-words.ts';
export { settledProgress, settledUpTo } from './src/settled.ts';
export { harmlessJson, type Shown, shownBytes, shownText, shownValue, visibleText } from './src/shown-record.ts';
export { type SteerAnswer, type SteerOptions, steerJob } from './src/steer.ts';
export { type JobPlan, planJob, type SubmitAnswer, type SubmitOptions, submitJob } from './src/submit.ts';
export { type Column, plainText, tableLines } from './src/table.ts';
export {
  type Crew,
  describeWaiting,
  type Waiting,
  WaitKind,
  waitingOfJob,
  waitingOfRanges,
} from './src/waiting.ts';
export { watchJob } from './src/watch-job.ts';
