/** The settings of a console. */
import {
  connectionSettings,
  type Environment,
  integerSetting,
  loadConfig,
  programSettings,
  z,
} from '@tidemark/observability';
import { isLoopbackHost } from './http/loopback.ts';
import { PORT_DEFAULT } from './limits.ts';

export const consoleSettings = z.object({
  ...connectionSettings,
  TIDEMARK_LOG_LEVEL: programSettings.TIDEMARK_LOG_LEVEL,
  TIDEMARK_CONSOLE_PORT: integerSetting({ min: 1, max: 65_535, default: PORT_DEFAULT }),
  TIDEMARK_CONSOLE_HOST: z
    .string()
    .refine(isLoopbackHost, {
      error:
        'must be a loopback address (127.0.0.1, ::1, localhost): the console has no log-in yet; reach it from elsewhere through "ssh -L"',
    })
    .prefault('127.0.0.1'),
  /** Whose position is shown. */
  TIDEMARK_RELAY_NAME: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,60}$/, 'must be letters, digits, _ and -, 60 at most')
    .prefault('main'),
});

export type ConsoleConfig = z.output<typeof consoleSettings>;

export function loadConsoleConfig(env: Environment): ConsoleConfig {
  return loadConfig({ program: 'console', settings: consoleSettings, env });
}
