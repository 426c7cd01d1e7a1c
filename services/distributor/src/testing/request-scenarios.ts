/** What records of the jobs topic must do. */
import { SchemaName } from '@tidemark/contracts';
import { jobTopics } from '@tidemark/jobs';
import { sampleCommand, sampleRequest } from '@tidemark/jobs/testing';
import { headerText, type LogRecord } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import { numbers, type RigOf } from './scenario-looks.ts';

export function requestScenarios(where: string, rigOf: RigOf): void {
  describe(`requests (${where})`, () => {
    it('F6: one id twenty times at once is one job, pinned once', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      await rig.start();
      const jobId = 'nightly-1';
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => rig.request({ topic, jobId, requestedBy: `api-${n % 2}` })),
      );
      await rig.state(jobId, 'RUNNING');
      await rig.request({ topic, jobId });
      const marker = await rig.request({ topic });
      await rig.state(marker, 'RUNNING');
      expect(await rig.kinds(jobId)).toEqual(['JobRequested', 'JobPinned', 'JobStarted']);
    });

    it('F6: the same id with other content is refused in the audit trail, the running job goes on', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      await rig.start();
      const jobId = await rig.request({ topic });
      const before = await rig.state(jobId, 'RUNNING');
      await rig.request({ topic: 'another', jobId });
      await rig.state(await rig.request({ topic }), 'RUNNING');
      expect((await rig.kinds(jobId)).at(-1)).toBe('JobDuplicateRefused');
      expect((await rig.jobLog.states()).get(jobId)).toEqual(before);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean' });
    });

    it('malformed records go to the dead letters with the reason, and the next request is served', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(1));
      await rig.start();
      const { jobs, jobsDeadLetters } = jobTopics(rig.parts.namespace);
      const writer = await rig.parts.cluster.openWriter();
      const position = { formatVersion: 1, partition: 0, nextOffset: 0n, atMs: 0n };
      const wrongSchema = await rig.parts.codec.encode(SchemaName.distributorPosition, position);
      const command = sampleCommand({ jobId: 'x', command: 'explode' });
      const values = [
        Buffer.from('no avro'),
        null,
        wrongSchema,
        await rig.parts.codec.encode(SchemaName.jobRequested, sampleRequest({ jobId: 'not an id' })),
        await rig.parts.codec.encode(SchemaName.jobRequested, sampleRequest({ formatVersion: 9 })),
        await rig.parts.codec.encode(SchemaName.jobCommand, command),
      ];
      const headers = [['x', Buffer.from('kept')]] as const;
      await writer.append(values.map((value) => ({ topic: jobs, key: Buffer.from('k'), value, headers })));
      await writer.close();
      await rig.state(await rig.request({ topic }), 'RUNNING');

      const dead: LogRecord[] = [];
      await rig.scan(jobsDeadLetters, async (record) => void dead.push(record));
      expect(dead.map(({ value }) => value)).toEqual(values);
      expect(dead.map((record) => headerText(record, 'tm_dlq_code'))).toEqual([
        'NOT_FRAMED',
        'NO_VALUE',
        'WRONG_SCHEMA',
        'BAD_JOB_ID',
        'NEWER_FORMAT',
        'UNKNOWN_COMMAND',
      ]);
      expect(dead.map((record) => headerText(record, 'tm_dlq_offset'))).toEqual(['0', '1', '2', '3', '4', '5']);
      expect(dead.every((record) => headerText(record, 'x') === 'kept')).toBe(true);
    });
  });
}
