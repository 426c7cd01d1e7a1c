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
import type { Operator } from './http/roles.ts';
import { PORT_DEFAULT, TOKEN_CHARACTERS_MIN } from './limits.ts';

const OPERATOR = new RegExp(`^([A-Za-z0-9._-]{1,60}):([\\x21-\\x2b\\x2d-\\x7e]{${TOKEN_CHARACTERS_MIN},})$`);

/** Faults never repeat what was given: it may be most of a secret. */
function operatorsOf(text: string, refuse: (fault: string) => void): readonly Operator[] {
  const entries = text === '' ? [] : text.split(',').map((entry) => OPERATOR.exec(entry.trim()));
  const operators = entries.flatMap((found) =>
    found === null ? [] : [{ name: found[1] ?? '', token: found[2] ?? '' }],
  );
  if (operators.length < entries.length)
    refuse(
      `must be NAME:TOKEN, several with commas between, each token at least ${TOKEN_CHARACTERS_MIN} characters without blanks and commas: "openssl rand -hex 16" makes one`,
    );
  for (const part of ['name', 'token'] as const)
    if (new Set(operators.map((operator) => operator[part])).size < operators.length)
      refuse(`must give every operator a ${part} of its own`);
  return operators;
}

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
  /** Who may change something, and by which token; without any everybody only looks. */
  TIDEMARK_CONSOLE_OPERATOR_TOKENS: z
    .string()
    .transform((text, { issues }) =>
      operatorsOf(text, (message) => issues.push({ code: 'custom', message, input: undefined })),
    )
    .prefault(''),
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
