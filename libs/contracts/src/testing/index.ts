export { createMemoryCodec } from './memory-codec.ts';
