import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const everywhere = ['libs/**', 'services/**', 'infra/**'];
const ending = (suffix: string): string[] => everywhere.map((folder) => `${folder}/*.${suffix}`);

/** For two cores: integration tests wait for leases, brokers and virtual machines more than they work. */
const WORKERS = 3;

/** What takes longest, measured; begun first, none of it is left alone at the end. */
const LONG = [
  'simulation.test.ts',
  'race.test.ts',
  'planted-bugs.test.ts',
  'distributor.int.test.ts',
  'outages.int.test.ts',
  'guard.int.test.ts',
  'main.int.test.ts',
  'crash.int.test.ts',
  'cuts.int.test.ts',
  'parked.int.test.ts',
  'testkit.int.test.ts',
  'interleaving.int.test.ts',
  'twin.int.test.ts',
  'huge.int.test.ts',
  'relay.int.test.ts',
  'broker-outage.int.test.ts',
  'broker-life.int.test.ts',
  'worker.int.test.ts',
  'hanging.int.test.ts',
  'log-shapes.int.test.ts',
  'pages.int.test.ts',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONG.findIndex((name) => moduleId.endsWith(name));
      return found === -1 ? LONG.length : found;
    };
    return files.toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    exclude: ['**/node_modules/**', '.stack/**'],
    passWithNoTests: true,
    maxWorkers: WORKERS,
    sequence: { sequencer: LongFirst },
    pool: 'forks', // a test may kill what hangs, and the end of its process cleans up after it
    projects: [
      {
        test: {
          name: 'unit',
          include: ending('test.ts'),
          exclude: [...ending('int.test.ts'), ...ending('e2e.test.ts'), '**/node_modules/**'],
          testTimeout: 90_000, // above that of `waitFor`, which tells what did not come
        },
      },
      {
        test: {
          name: 'int',
          include: ending('int.test.ts'),
          exclude: ['**/node_modules/**'],
          globalSetup: ['libs/testkit/src/global-setup.ts'],
          testTimeout: 240_000, // several waits of a minute each, of which the one that fails tells what did not come
          hookTimeout: 240_000, // a private broker may start beside two others
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['infra/e2e/**/*.e2e.test.ts'],
          exclude: ['**/node_modules/**'],
          globalSetup: ['libs/testkit/src/global-setup.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          fileParallelism: false, // each starts several programs of its own
        },
      },
    ],
  },
});
