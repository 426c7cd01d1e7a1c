import { defineConfig } from 'vitest/config';

const everywhere = ['libs/**', 'services/**', 'infra/**'];
const ending = (suffix: string): string[] => everywhere.map((folder) => `${folder}/*.${suffix}`);

/** For two cores: integration tests wait for leases, brokers and virtual machines more than they work. */
const WORKERS = 3;

export default defineConfig({
  test: {
    exclude: ['**/node_modules/**', '.stack/**'],
    passWithNoTests: true,
    maxWorkers: WORKERS,
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
