/** Docker and the native path must not drift apart: a test that passes on one would fail on the other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KAFKA_VERSION, REGISTRY_VERSION } from '../src/limits.ts';
import { BROKER_SETTINGS } from '../src/local/kafka.ts';
import { SERVER_SETTINGS } from '../src/local/postgres.ts';

const compose = readFileSync(join(import.meta.dirname, '../../../docker-compose.yml'), 'utf8');
const lines = new Set(compose.split('\n').map((line) => line.trim().replaceAll('"', '')));

it.each(Object.entries(BROKER_SETTINGS))('the broker has %s=%s in Docker, too', (setting, value) => {
  expect(lines).toContain(`KAFKA_${setting.toUpperCase().replaceAll('.', '_')}: ${value}`);
});

it.each(Object.entries(SERVER_SETTINGS))('Postgres has %s=%s in Docker, too', (setting, value) => {
  expect(lines).toContain(`- ${setting}=${value}`);
});

it('Postgres lets every role in without a password in Docker, too', () => {
  expect(lines).toContain('POSTGRES_HOST_AUTH_METHOD: trust');
});

it('Redis is a cluster that evicts nothing in Docker, too', () => {
  for (const option of ['--cluster-enabled yes', '--appendonly yes', '--maxmemory-policy noeviction']) {
    expect(compose).toContain(option);
  }
});

it('the versions are the same, and every port is bound to loopback', () => {
  expect(lines).toContain(`image: apache/kafka:${KAFKA_VERSION}`);
  expect(lines).toContain(`image: apicurio/apicurio-registry:${REGISTRY_VERSION}`);
  const ports = [...lines].filter((line) => line.startsWith('ports:'));
  expect(ports).toHaveLength(4);
  for (const port of ports) expect(port).toContain('[127.0.0.1:');
});
