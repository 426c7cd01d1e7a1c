export { type Answer, badAnswer, isAnswer, isOneForEach } from './src/answer.ts';
export { createCountHandler } from './src/count.ts';
export { defineHandler, handlerDefaults, shapeFaults } from './src/define-handler.ts';
export { classifyFault, type Fault } from './src/fault.ts';
export {
  type AvroHandler,
  done,
  type FaultClass,
  fenced,
  type Handler,
  type HandlerContext,
  type HandlerEvent,
  idempotencyKey,
  type Outcome,
  type RawHandler,
  skip,
  type Verify,
  type VerifyContext,
} from './src/handler.ts';
export {
  checkedVerdicts,
  duplicate,
  missing,
  noneDue,
  present,
  unknown,
  type Verdict,
} from './src/verify.ts';
