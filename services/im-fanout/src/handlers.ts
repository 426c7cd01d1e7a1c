/** The module that a worker loads: `tidemark worker --handlers services/im-fanout/src/handlers.ts`. */
import { readHandlerConfig } from './config.ts';
import { createImFanout } from './handler.ts';

export const handlers = [createImFanout(readHandlerConfig())];
