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
} from './src/handler.ts';
