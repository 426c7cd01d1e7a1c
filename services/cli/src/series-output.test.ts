import { jsonText } from '@tidemark/contracts';
import { sampleDefinition, sampleRequest, sampleSeries } from '@tidemark/jobs/testing';
import { expect, it } from 'vitest';
import { seriesJson, seriesLines } from './series-output.ts';

it('shows of the parameters of a series no more than of those of a job', () => {
  const parameters = { url: 'https://sink.test/s3cret?key=s3cret', 'header.authorization': 's3cret', body: 'raw' };
  const state = sampleSeries({
    definition: sampleDefinition({ request: sampleRequest({ handler: 'webhook', parameters }) }),
  });
  const text = jsonText(seriesJson(state));
  expect(text).toContain('"body":"raw"');
  expect(`${text}${seriesLines(state).join()}`).not.toContain('s3cret');
});
