/** The console as a program. */
import process from 'node:process';
import { createLogger, type Running, reportConfig, runProgram } from '@tidemark/observability';
import { consoleSettings, loadConsoleConfig } from './config.ts';
import { startConsole } from './console.ts';

await runProgram({
  name: 'console',
  async start(): Promise<Running> {
    const config = loadConsoleConfig(process.env);
    const logger = createLogger({ program: 'console', level: config.TIDEMARK_LOG_LEVEL });
    reportConfig({ logger, config, settings: consoleSettings, env: process.env });
    const started = await startConsole({
      kafka: config.TIDEMARK_KAFKA,
      redisUrl: config.TIDEMARK_REDIS,
      postgresUrl: config.TIDEMARK_POSTGRES,
      registryUrl: config.TIDEMARK_REGISTRY,
      namespace: config.TIDEMARK_NAMESPACE,
      relay: config.TIDEMARK_RELAY_NAME,
      operators: config.TIDEMARK_CONSOLE_OPERATOR_TOKENS,
      host: config.TIDEMARK_CONSOLE_HOST,
      port: config.TIDEMARK_CONSOLE_PORT,
      logger,
    });
    return { logger, stop: (reason) => started.stop(reason) };
  },
});
