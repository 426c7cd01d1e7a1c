import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { assertReachable } from './reachable.ts';

const server = createServer();
let here: string;
/** Nobody listens there. */
const NOWHERE = '127.0.0.1:1';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  here = typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '';
});

afterAll(() => {
  server.close();
});

it('is content when one of several addresses answers', async () => {
  await assertReachable([{ name: 'Kafka', addresses: [NOWHERE, here], variable: 'TIDEMARK_KAFKA' }]);
});

it('names everything that does not answer at once, with host and port, and no secret', async () => {
  const asked = assertReachable([
    { name: 'Kafka', addresses: [NOWHERE], variable: 'TIDEMARK_KAFKA' },
    { name: 'Redis', addresses: [`redis://:secret@${NOWHERE}`], variable: 'TIDEMARK_REDIS' },
    { name: 'Postgres', addresses: [here], variable: 'TIDEMARK_POSTGRES' },
  ]);
  await expect(asked).rejects.toMatchObject({
    class: 'unavailable',
    message:
      'Kafka at 127.0.0.1:1 (TIDEMARK_KAFKA) does not answer: connection refused; ' +
      'Redis at 127.0.0.1:1 (TIDEMARK_REDIS) does not answer: connection refused. "tidemark up" starts local services',
  });
});
