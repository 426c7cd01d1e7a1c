export { jsonText, RawJson } from '@tidemark/contracts';
