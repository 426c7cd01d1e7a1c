export { cloudEventHeaders } from './src/cloud-events.ts';
export type * from './src/generated/records.ts';
export { carriedJson, decodedText, jsonText, RawJson } from './src/json-text.ts';
export { type AvroValue, type Codec, type Decoded, type RecordOf, SchemaName } from './src/ports.ts';
export { jsonToRecord, readRecord } from './src/records.ts';
