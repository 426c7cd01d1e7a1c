import type { LogCatalog } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import { requestFaults } from '../request-validation.ts';
import { sampleRequest } from '../testing/index.ts';
import { targetRefusal } from './republish.ts';
import { shownParameters } from './webhook.ts';

const faultsOf = (handler: string, parameters: Record<string, string>): readonly string[] =>
  requestFaults(sampleRequest({ topic: 't', handler, parameters }));

describe('republish', () => {
  it.each([
    [{}, /parameter topic "" is not a legal/],
    [{ topic: 't' }, /t is the topic that is read; republish writes to another one/],
    [{ topic: 'a/b' }, /parameter topic "a\/b" is not a legal/],
    [{ topic: 'x', key: 'drop' }, /parameter key "drop" is none of: keep, none/],
    [{ topic: 'x', partition: 'same' }, /parameter partition "same" is none of: hash, keep/],
    [{ topic: 'x', partitions: 'keep' }, /no parameter "partitions"; it has topic, key, partition/],
  ])('refuses %j', (parameters, fault) => {
    expect(faultsOf('republish', parameters)).toEqual([expect.stringMatching(fault)]);
  });

  it('takes what it knows, and what says which letters are meant', () => {
    expect(faultsOf('republish', { topic: 'x', key: 'none', partition: 'keep', 'letters.job': 'j' })).toEqual([]);
  });

  const partitionCounts: Readonly<Record<string, number>> = { t: 3, same: 3, other: 4 };
  const catalog: Pick<LogCatalog, 'describe'> = {
    describe: async (topic) => {
      const partitionCount = partitionCounts[topic];
      return partitionCount === undefined ? undefined : { topic, topicId: topic, partitionCount };
    },
  };
  it.each([
    [{ topic: 'same', partition: 'keep' }, undefined],
    [{ topic: 'other' }, undefined],
    [
      { topic: 'other', partition: 'keep' },
      { code: 'TARGET_PARTITIONS', reason: /other has 4 .* and t has 3/ },
    ],
    [{ topic: 'gone' }, { code: 'TARGET_NOT_FOUND', reason: /gone, .* does not exist; create it first/ }],
    [{ topic: 'ns.jobs' }, { code: 'TARGET_FORBIDDEN', reason: /begin with "ns\." belong to Tidemark/ }],
  ])('B3: judges the target %j by what the broker shows, and creates nothing', async (parameters, refusal) => {
    const request = sampleRequest({ topic: 't', handler: 'republish', parameters });
    const answer = await targetRefusal(catalog, request, 'ns');
    expect(answer?.code).toBe(refusal?.code);
    if (refusal !== undefined) expect(answer?.reason).toMatch(refusal.reason);
  });
});

describe('webhook', () => {
  const url = 'https://sink.test/in';
  it.each([
    [{}, /parameter url is missing/],
    [{ url: 'sink.test/in' }, /parameter url is not an address/],
    [{ url: 'file:///etc/passwd' }, /must begin with http: or https:, not with file:/],
    [{ url: 'http://me:s3cret@sink.test' }, /neither user nor password/],
    [{ url, method: 'GET' }, /parameter method "GET" is none of: POST, PUT, PATCH/],
    [{ url, timeoutMs: '1e9' }, /timeoutMs is not a whole number from 100 to 60000/],
    [{ url, timeoutMs: '' }, /timeoutMs is not/],
    [{ url, 'header.x-a': 'a\r\nb: c' }, /parameter header.x-a is not a header of HTTP/],
    [{ url, 'header.Idempotency-Key': '1' }, /header.idempotency-key: this header is set by the handler itself/],
    [{ url, 'header.TM-Origin-Topic': 'x' }, /set by the handler itself/],
    [{ url, uri: url }, /no parameter "uri"; it has url, method, timeoutMs, body, header.NAME/],
  ])('refuses %j', (parameters, fault) => {
    const faults = faultsOf('webhook', parameters);
    expect(faults).toEqual([expect.stringMatching(fault)]);
    expect(faults.join()).not.toContain('s3cret');
  });

  it('takes what it knows', () => {
    const parameters = { url, method: 'PUT', timeoutMs: '500', body: 'raw', 'header.authorization': 'Bearer x' };
    expect(faultsOf('webhook', parameters)).toEqual([]);
  });

  it('shows neither what headers hold nor what an address says behind its host', () => {
    for (const secret of ['/services/s3cret', '/?key=s3cret', '/#s3cret'])
      expect(shownParameters({ url: `https://sink.test:8443${secret}` })).toEqual({
        url: 'https://sink.test:8443/(hidden)',
      });
    expect(shownParameters({ url: 'https://me:s3cret@sink.test' })).toEqual({ url: 'https://sink.test/' });
    expect(shownParameters({ url: 's3cret' })).toEqual({ url: '(hidden)' });
    expect(shownParameters({ url, 'header.authorization': 's3cret', body: 'raw' })).toEqual({
      url: 'https://sink.test/(hidden)',
      'header.authorization': '(hidden)',
      body: 'raw',
    });
  });
});

it('leaves the parameters of all other handlers to their authors', () => {
  expect(faultsOf('mine', { topic: 't', url: 'x' })).toEqual([]);
});
