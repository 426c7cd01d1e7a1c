/** The distributor as a process: started, replaced, killed, and pointed at services that are not there. */
import { jobTopics } from '@tidemark/jobs';
import { environmentOf, freePorts, type SpawnedProgram, spawnProgram, waitFor } from '@tidemark/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from './testing/rig.ts';
import { createServiceParts } from './testing/service-parts.ts';

/** Longer than a loaded machine holds a process up: only one that was killed loses it. */
const LEASE = { TIDEMARK_LEADERSHIP_TTL_MS: '30000' };
/** A whole lease, and what it takes to open a session. */
const STARTED_WITHIN_MS = 150_000;

describe('the distributor as a program', () => {
  let rig: Rig;
  const programs: SpawnedProgram[] = [];
  beforeEach(async () => {
    rig = new Rig(await createServiceParts());
  });
  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.kill('SIGKILL')));
    await rig.close();
  });

  function run(overrides: Readonly<Record<string, string>> = {}): SpawnedProgram {
    const env = { ...environmentOf(rig.parts.namespace), ...overrides };
    const program = spawnProgram({ script: 'services/distributor/src/main.ts', env });
    programs.push(program);
    return program;
  }

  const started = (program: SpawnedProgram) => program.logged('distributor.session_opened', STARTED_WITHIN_MS);

  async function statesOf(jobId: string): Promise<string | undefined> {
    return (await rig.jobLog.states()).get(jobId)?.state;
  }

  it('serves jobs, and ends with 0 when it is told to stop', async () => {
    const program = run();
    await started(program);
    const topic = await rig.parts.newTopic(1);
    const jobId = await rig.request({ topic });
    await waitFor('the empty job to complete', async () => (await statesOf(jobId)) === 'COMPLETED');
    program.signal('SIGTERM');
    expect((await program.exit).code).toBe(0);
    expect(program.stderr()).toBe('');
  });

  it('killed again and again it pins each job once, and the last one runs them all', async () => {
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, ['a', 'b']);
    const jobIds: string[] = [];
    for (let round = 0; round < 3; round++) {
      const program = run();
      await started(program);
      jobIds.push(await rig.request({ topic }), await rig.request({ topic }));
      await waitFor('the first of them', async () => (await statesOf(jobIds.at(-2) ?? '')) === 'RUNNING', {
        intervalMs: 10,
      });
      await program.kill('SIGKILL');
    }
    await started(run());
    for (const jobId of jobIds) {
      await waitFor(`job ${jobId}`, async () => (await statesOf(jobId)) === 'RUNNING');
      await waitFor('its ranges', async () => (await rig.parts.store.snapshot(jobId)) !== undefined);
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);
    }
  });

  it('a second one waits, says so once, is ready, and works as soon as the first is killed', async () => {
    const active = run(LEASE);
    await started(active);
    const [port] = await freePorts(1);
    const standby = run({ ...LEASE, TIDEMARK_METRICS_PORT: String(port) });
    await standby.logged('distributor.standby');
    await waitFor('the standby to listen', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      return answer?.status === 200;
    });
    await active.kill('SIGKILL');
    await started(standby);
    const jobId = await rig.request({ topic: await rig.parts.newTopic(1) });
    await waitFor('the job', async () => (await statesOf(jobId)) === 'COMPLETED');
    standby.signal('SIGTERM');
    expect((await standby.exit).code).toBe(0);
    expect(standby.stdout().match(/distributor\.standby/g)).toHaveLength(1);
    expect(standby.stderr()).toBe('');
  });

  it('two at once, and a third, started and stopped in any order: one works at a time, and each ends with 0', async () => {
    const [first, second] = [run(LEASE), run(LEASE)];
    const [active, standby] = await Promise.race([
      started(first).then(() => [first, second] as const),
      started(second).then(() => [second, first] as const),
    ]);
    await standby.logged('distributor.standby');
    active.signal('SIGTERM');
    expect((await active.exit).code).toBe(0);
    await started(standby);
    const third = run(LEASE);
    await third.logged('distributor.standby');
    third.signal('SIGTERM');
    expect((await third.exit).code).toBe(0);
    standby.signal('SIGTERM');
    expect((await standby.exit).code).toBe(0);
  });

  it.each([
    ['TIDEMARK_KAFKA', '127.0.0.1:9', '127.0.0.1:9'],
    ['TIDEMARK_REDIS', 'redis://127.0.0.1:9', '127.0.0.1:9'],
    ['TIDEMARK_REGISTRY', 'http://127.0.0.1:9', '127.0.0.1:9'],
  ])('%s down at the start: one line that names the address, exit code 6', async (variable, value, address) => {
    const program = run({ [variable]: value });
    expect((await program.exit).code).toBe(6);
    expect(program.stderr().trim().split('\n')).toHaveLength(1);
    expect(program.stderr()).toContain('tidemark distributor: ');
    expect(program.stderr()).toContain(address);
  });

  it('a setting that makes no sense: one line, exit code 2, and nothing is created', async () => {
    const program = run({ TIDEMARK_CHECKPOINT_EVERY_MS: 'often' });
    expect((await program.exit).code).toBe(2);
    expect(program.stderr()).toContain('TIDEMARK_CHECKPOINT_EVERY_MS');
    expect(await rig.parts.cluster.catalog.describe(jobTopics(rig.parts.namespace).jobState)).toBeUndefined();
  });
});
