/** The launcher in a checkout of its own: three services are given by the running stack, Redis is its own to start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type CommandResult, endpoints, run, type ServiceStatus } from '@tidemark/stack';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isListening } from './probe.ts';

let root: string;
let env: Record<string, string>;

/** Its own block of ports, below those of other tests' private services, and another one in each run. */
const PORT_BASE = 19_500 + 10 * Math.floor(40 * Math.random());
const REDIS_PORT = PORT_BASE + 7;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'tidemark-launcher-'));
  cpSync(resolve(import.meta.dirname, '..'), join(root, 'infra/stack'), { recursive: true });
  const { kafka, postgres, registry } = endpoints();
  env = {
    TIDEMARK_KAFKA: kafka,
    TIDEMARK_POSTGRES: postgres,
    TIDEMARK_REGISTRY: registry,
    TIDEMARK_REDIS: '',
    TIDEMARK_STACK_PORT: String(PORT_BASE),
    DOCKER_HOST: 'unix:///nowhere', // the native path, also where Docker runs
  };
});

afterAll(async () => {
  await launcher(['down']);
  rmSync(root, { recursive: true, force: true });
});

function launcher(args: string[], more: Record<string, string> = {}): Promise<CommandResult> {
  return run(process.execPath, [join(root, 'infra/stack/src/main.ts'), ...args], { env: { ...env, ...more } });
}

async function redisStatus(): Promise<ServiceStatus | undefined> {
  const services = JSON.parse((await launcher(['status', '--json'])).stdout) as ServiceStatus[];
  return services.find((service) => service.name === 'redis');
}

describe('up and down', () => {
  it('two launchers at once start one service, and it outlives both', async () => {
    const results = await Promise.all([launcher(['up']), launcher(['up'])]);
    expect(results.map((result) => result.code)).toEqual([0, 0]);
    const starts = results
      .flatMap((result) => result.stderr.split('\n'))
      .filter((line) => line.includes('redis is up'));
    expect(starts).toHaveLength(1);
    expect(await redisStatus()).toMatchObject({
      mode: 'local',
      healthy: true,
      address: `redis://127.0.0.1:${REDIS_PORT}`,
    });
  });

  it('starts again what was killed', async () => {
    const before = await redisStatus();
    process.kill(before?.pid ?? 0, 'SIGKILL');
    expect((await launcher(['up'])).code).toBe(0);
    const after = await redisStatus();
    expect(after).toMatchObject({ healthy: true });
    expect(after?.pid).not.toBe(before?.pid);
  });

  it('replaces what is alive but does not answer', async () => {
    const before = await redisStatus();
    process.kill(before?.pid ?? 0, 'SIGSTOP');
    const result = await launcher(['up']);
    expect(result.stderr).toContain(`redis (pid ${before?.pid}) is not healthy`);
    expect(await redisStatus()).toMatchObject({ healthy: true });
  });

  it('down ends it, and status says so', async () => {
    expect((await launcher(['down'])).code).toBe(0);
    expect(await isListening(REDIS_PORT)).toBe(false);
    expect((await launcher(['status'])).code).toBe(6);
  });
});

describe('what it refuses with exit code 6', () => {
  it('a port taken by a stranger is named, with the way out', async () => {
    const stranger = createServer().listen(REDIS_PORT, '127.0.0.1');
    onTestFinished(() => void stranger.close());
    await once(stranger, 'listening');
    const result = await launcher(['up']);
    expect(result.code).toBe(6);
    expect(result.stderr).toContain(`Port ${REDIS_PORT}`);
    expect(result.stderr).toContain('TIDEMARK_STACK_PORT');
  });

  it('a given service that cannot be reached is named with its address and variable', async () => {
    const result = await launcher(['up'], { TIDEMARK_REDIS: 'redis://127.0.0.1:1' });
    expect(result.code).toBe(6);
    expect(result.stderr).toContain('redis at redis://127.0.0.1:1 (TIDEMARK_REDIS)');
  });

  it('a service that is something else than was said', async () => {
    const result = await launcher(['up'], { TIDEMARK_REDIS: env['TIDEMARK_REGISTRY'] ?? '' });
    expect(result.code).toBe(6);
    expect(result.stderr).toContain(`redis at ${env['TIDEMARK_REGISTRY']} (TIDEMARK_REDIS)`);
    expect(result.stderr).toContain('something else than Redis answers');
  });
});

it('a launcher that is killed leaves a lock that the next one takes over', async () => {
  const [lock, folder] = [join(root, 'infra/stack/src/lock.ts'), join(root, '.stack')].map((path) =>
    JSON.stringify(path),
  );
  const holdForEver = `const { withLock } = await import(${lock});
    await withLock(${folder}, () => {}, () => new Promise(() => setInterval(() => console.log('held'), 50)));`;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', holdForEver]);
  await once(holder.stdout, 'data');
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(existsSync(join(root, '.stack/lock'))).toBe(true);
  expect((await launcher(['up'])).code).toBe(0);
  expect(await redisStatus()).toMatchObject({ healthy: true });
});
