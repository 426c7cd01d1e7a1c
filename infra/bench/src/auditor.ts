/**
 * The measured audit: one process that reads BENCH_TOPIC again as `tidemark job audit` does, for a job that has counted every
 * record. Its result has the form of a traversal, and the time begins here, as there.
 */
const beganMs = performance.now();

const { enableCompileCache } = await import('node:module');
enableCompileCache();
await import('@tidemark/worker/memory');

const { auditTopic } = await import('./audit-once.ts');
const { loadTraverserConfig } = await import('./config.ts');
console.log(JSON.stringify(await auditTopic(loadTraverserConfig(process.env), () => performance.now() - beganMs)));
process.exit(0);
