export { auditDeadlineOf, auditedJobOf, auditHolderOf, isHeldForAudit, jobOfHolder } from './src/audit-hold.ts';
export { belongingTo, isTooOften, LetterFate, LetterParameter, letterFates, newestText } from './src/belonging.ts';
export { budgetFaults, budgetOf, deadLettersMaxOf, usedUp } from './src/budget.ts';
export {
  REPUBLISH,
  type RefusedTarget,
  type RepublishSettings,
  readRepublish,
  TargetRefusal,
  targetRefusal,
} from './src/built-in/republish.ts';
export { readWebhook, shownParameters, WEBHOOK, type WebhookSettings } from './src/built-in/webhook.ts';
export { rangeIdOfCheckpoint, rangeOfCheckpoint } from './src/checkpoint.ts';
export { ALL_JOBS, CommandName, isForAll } from './src/command.ts';
export {
  type DeadLetterFacts,
  deadLetterFacts,
  deadLetterHeaders,
  editedHeaders,
  placeText,
  withoutBlock,
} from './src/dead-letter.ts';
export {
  decodeDefinition,
  definitionOf,
  encodeDefinition,
  type JobDefinition,
  OnExhausted,
  OnLost,
  Ordering,
  wordOf,
} from './src/definition.ts';
export { requestInFormat } from './src/formats.ts';
export { journal, releasedText, type TransitionTime } from './src/job-audit.ts';
export {
  type Commanded,
  type CommandPlace,
  capsAfter,
  isTerminal,
  type JobOrder,
  JobPhase,
  type JobResult,
  type JobTransition,
  ranMsOf,
  type TransitionAnswer,
  transition,
} from './src/job-state.ts';
export { WEBHOOK_TIMEOUT_MS_MAX } from './src/limits.ts';
export { markKey, markOf } from './src/marks.ts';
export {
  breakerIn,
  exhaustedIn,
  exhaustedNote,
  hintOf,
  noteOfHint,
  openTransactionIn,
  openTransactionNote,
  waitingNote,
} from './src/notes.ts';
export {
  type ClosedRange,
  CompletedReason,
  identityFaults,
  type Outcome,
  outcomeOf,
  resultOfRanges,
} from './src/outcome.ts';
export { deriveEnds, type PlannedRange, planRanges, tilingFaults, windowsOf } from './src/planning.ts';
export type {
  DeadRequest,
  DurableJobs,
  DurableMarks,
  InboxAnswer,
  InboxContent,
  InboxRecord,
  JobInbox,
  JobJournal,
  JobLog,
  JobRemoval,
  JobsAndSeries,
  JournalEntry,
  MarkLog,
  MarkSession,
  RawRecord,
} from './src/ports.ts';
export { isSameContent } from './src/request-content.ts';
export { newRequest, type RequestFields } from './src/request-defaults.ts';
export { requestFaults } from './src/request-validation.ts';
export { chainFault, endsAfter, neededBySeries, removedBetween } from './src/series-chain.ts';
export {
  definitionFaults,
  holderOf,
  isSameSeries,
  runIdOf,
  runNumberOf,
  runRequest,
} from './src/series-definition.ts';
export { dueAfterSetBack, nextDueMs } from './src/series-schedule.ts';
export {
  isHeld,
  isKilledSeries,
  lastingFault,
  moveSeries,
  type SeriesAnswer,
  SeriesOrderName,
  SeriesStatus,
  type SeriesTransition,
} from './src/series-state.ts';
export { type PrefixRange, type SettledPrefix, settledPrefixOf } from './src/settled-prefix.ts';
export {
  deadLetterTopic,
  IDEMPOTENCY_HORIZON_MS,
  isDeadLetterTopic,
  type JobTopics,
  jobTopicSpecs,
  jobTopics,
  lettersFoundUnder,
} from './src/topics.ts';
export {
  type CountedRange,
  type Identity,
  identityOf,
  identityOfJob,
  type Progress,
  progressOf,
} from './src/totals.ts';
export {
  parseWindow,
  type WindowEnd,
  type WindowParse,
  type WindowSpec,
  type WindowStart,
} from './src/window-grammar.ts';
export {
  lookupsOf,
  type PartitionFacts,
  type Resolution,
  type ResolvedPartition,
  resolveWindow,
  type WindowFacts,
  WindowRefusal,
} from './src/window-resolve.ts';
