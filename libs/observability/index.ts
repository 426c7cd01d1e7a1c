/** Zod, so that every program builds its settings with the version that `loadConfig` checks them with. */
export { z } from 'zod';
export { type HealthListener, type Readiness, startHealthListener } from './src/health-listener.ts';
export { createLogger, type Logger, silentLogger } from './src/logger.ts';
export { metricTable } from './src/metric-table.ts';
export { createMetricSet, type MetricSet, type Metrics } from './src/metrics.ts';
export { createOpened } from './src/opened.ts';
export { errorLine, exitCodeOf, type Running, runProgram } from './src/program.ts';
export { redactSettings, redactUrl } from './src/redact.ts';
export {
  connectionSettings,
  type Environment,
  flagSetting,
  integerSetting,
  listSetting,
  loadConfig,
  programSettings,
  replicationFactorSetting,
} from './src/settings.ts';
export { reportConfig } from './src/start-report.ts';
