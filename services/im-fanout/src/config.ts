/** The one place of the fan-out that reads the environment. */
import { connectionSettings, type Environment, loadConfig, z } from '@tidemark/observability';

export function readHandlerConfig(env: Environment = process.env): { readonly postgresUrl: string } {
  const { TIDEMARK_POSTGRES } = connectionSettings;
  const config = loadConfig({ program: 'im-fanout', settings: z.object({ TIDEMARK_POSTGRES }), env });
  return { postgresUrl: config.TIDEMARK_POSTGRES };
}

export function readMainJobConfig(env: Environment) {
  return loadConfig({ program: 'main job', settings: z.object(connectionSettings), env });
}

/** Of the process, before it is known where the services are. */
export function processEnvironment(): Environment {
  return process.env;
}
