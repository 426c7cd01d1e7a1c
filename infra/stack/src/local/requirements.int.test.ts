/** What is missing is said once, with what to install; nothing is installed where the PATH holds no apt-get. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig, type StackConfig } from '../config.ts';
import { StackError } from '../errors.ts';
import { findJavas } from './java.ts';
import { findPostgres } from './postgres.ts';
import { findRedis } from './redis.ts';

const silent = (): void => {};

function bareMachine(): StackConfig {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bare-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { ...readConfig(), path: '', javaHome: undefined, jvmFolder: join(folder, 'jvm'), postgresFolder: folder };
}

function plantJava(config: StackConfig, name: string, version: string): void {
  const home = join(config.jvmFolder, name);
  mkdirSync(join(home, 'bin'), { recursive: true });
  writeFileSync(join(home, 'bin/java'), '', { mode: 0o755 });
  writeFileSync(join(home, 'release'), `JAVA_VERSION="${version}"\n`);
}

it('no Java: exit code 6, naming both minimum versions', async () => {
  const missing = findJavas(bareMachine(), { registry: true }, silent);
  await expect(missing).rejects.toMatchObject({
    exitCode: 6,
    message: expect.stringContaining('needs Java 21 or newer (Kafka 17)'),
  });
});

it('Java 17 alone serves Kafka but not the registry, and the message says what was found', async () => {
  const config = bareMachine();
  plantJava(config, 'a', '17.0.15');
  await expect(findJavas(config, { registry: true }, silent)).rejects.toThrow('found only Java 17');
  expect((await findJavas(config, { registry: false }, silent)).kafka.major).toBe(17);
});

it('of several the newest is taken, unless JAVA_HOME is set and new enough', async () => {
  const config = bareMachine();
  plantJava(config, 'a', '25.0.3');
  plantJava(config, 'b', '21');
  expect((await findJavas(config, { registry: true }, silent)).registry.major).toBe(25);
  const wished = { ...config, javaHome: join(config.jvmFolder, 'b') };
  expect((await findJavas(wished, { registry: true }, silent)).registry.major).toBe(21);
  plantJava(config, 'c', '1.8.0_292');
  const old = { ...config, javaHome: join(config.jvmFolder, 'c') };
  expect((await findJavas(old, { registry: true }, silent)).kafka.major).toBe(25);
});

it('no Postgres, no Redis: exit code 6, naming the package', async () => {
  await expect(findPostgres(bareMachine(), silent)).rejects.toThrow(StackError);
  await expect(findPostgres(bareMachine(), silent)).rejects.toThrow('apt-get install postgresql');
  await expect(findRedis(bareMachine(), silent)).rejects.toThrow('apt-get install redis-server');
});
