/** The test runner calls this before all tests that need services, once for each of its projects. */
import { readConfig, SERVICE_NAMES, up, variableOf } from '@tidemark/stack';

type Teardown = () => Promise<void>;

export async function setup(): Promise<Teardown | undefined> {
  const { given } = readConfig();
  const isAnyMissing = SERVICE_NAMES.some((name) => given[name] === undefined);
  if (isAnyMissing && process.env['TIDEMARK_TEST_SERVICES'] === 'testcontainers') return useContainers();
  await up({ onProgress: (line) => console.error(line) });
  return undefined;
}

/** The workers of the test runner inherit the addresses, and the next project's setup finds them given. */
async function useContainers(): Promise<Teardown> {
  const { startContainers } = await import('./containers.ts'); // the client is slow to load, and most runs do without
  const from = performance.now();
  const { addresses, stop } = await startContainers();
  for (const name of SERVICE_NAMES) {
    const address = addresses[name];
    if (address !== undefined) process.env[variableOf(name)] = address;
  }
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  console.error(`containers are up: ${Object.values(addresses).join('  ')} (${seconds} s)`);
  return stop;
}
