/** What every LogCluster does. Run by the in-memory log and by the Kafka adapter against a real broker alike. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { LogHarness } from './contract-harness.ts';
import { readingContract, transactionContract, verdictContract } from './reading.contract.ts';
import { ongoingContract } from './transactions.contract.ts';
import { catalogContract, scanContract, writerContract } from './writing.contract.ts';

export function describeLogContract(name: string, openHarness: () => Promise<LogHarness>): void {
  describe(`${name} keeps the contract of the log`, () => {
    let harness: LogHarness;
    beforeAll(async () => {
      harness = await openHarness();
    });
    afterAll(async () => {
      await harness.close();
    });
    readingContract(() => harness);
    transactionContract(() => harness);
    verdictContract(() => harness);
    catalogContract(() => harness);
    writerContract(() => harness);
    scanContract(() => harness);
    ongoingContract(() => harness);
  });
}
