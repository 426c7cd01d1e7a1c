export { createCodec } from './registry-codec.ts';
