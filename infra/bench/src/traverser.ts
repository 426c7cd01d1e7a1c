/**
 * The measured program: one process that pins BENCH_TOPIC, puts a counting job over it into the store and runs a worker
 * until every range is done. The last line on stdout is its result, in the form that the peers' harness expects.
 *
 * The time begins here, before the clients are loaded: peers written in Java load their classes inside it, too.
 */
const beganMs = performance.now();

const { enableCompileCache } = await import('node:module');
enableCompileCache();
await import('@tidemark/worker/memory');

const { traverse } = await import('./traverse-once.ts');
const { loadTraverserConfig } = await import('./config.ts');
const result = await traverse(loadTraverserConfig(process.env), () => (performance.now() - beganMs) / 1_000);
console.log(JSON.stringify(result));
process.exit(0);
