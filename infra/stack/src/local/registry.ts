/** The schema registry: Apicurio with its storage in Kafka, asked through its Confluent-compatible API. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startDetached } from '../processes.ts';
import type { LocalService } from './service.ts';

export interface RegistryOptions {
  folder: string;
  logFile: string;
  port: number;
  managementPort: number;
  kafka: string;
  /** The unpacked archive, see `ensureRegistryApp`. */
  app: string;
  java: string;
}

export function registryService(options: RegistryOptions): LocalService {
  return {
    name: 'registry',
    address: `http://127.0.0.1:${options.port}/apis/ccompat/v7`,
    ports: [options.port, options.managementPort],
    logFile: options.logFile,
    async start() {
      mkdirSync(options.folder, { recursive: true });
      return startDetached({
        command: options.java,
        // Mostly idle: the first compiler tier alone starts a quarter faster.
        args: ['-Xmx300m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-jar', join(options.app, 'quarkus-run.jar')],
        cwd: options.folder,
        logFile: options.logFile,
        env: {
          APICURIO_STORAGE_KIND: 'kafkasql',
          APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: options.kafka,
          // At its start it polls the topic of snapshots until a poll comes back empty. With the default of 5 s that alone
          // takes ten; a snapshot that is missed costs nothing, because the journal is kept whole and is read instead.
          APICURIO_KAFKASQL_CONSUMER_POLL_TIMEOUT: '500',
          QUARKUS_HTTP_HOST: '127.0.0.1',
          QUARKUS_HTTP_PORT: String(options.port),
          // The management interface listens on all addresses by default.
          QUARKUS_MANAGEMENT_HOST: '127.0.0.1',
          QUARKUS_MANAGEMENT_PORT: String(options.managementPort),
          QUARKUS_LOG_LEVEL: 'WARN',
        },
      });
    },
    async settle() {},
  };
}
