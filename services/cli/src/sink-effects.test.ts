import { Client } from 'pg';
import { expect, it } from 'vitest';
import { sinkEffects } from './sink-effects.ts';

it('refuses a redrive, whose effects are those of other places, and names what can tell', async () => {
  const effects = sinkEffects(new Client(), 'select event from ledger', 'orders.dlq');
  await expect(effects.next()).rejects.toMatchObject({
    exitCode: 5,
    message: expect.stringMatching(/a job over orders\.dlq .*: use --handlers/),
  });
});
