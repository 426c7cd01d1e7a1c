export { createImFanout, HANDLER_NAME, type ImFanoutOptions } from './src/handler.ts';
export { messageSchema } from './src/message.ts';
export { createTables, DEFAULT_SCHEMA, dropTables } from './src/tables.ts';
