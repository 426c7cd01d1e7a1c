/** `node sum-reports.mjs FOLDER CODE`: the test runner's JSON reports as one closing line; exits with 1 when CODE says so or a test failed. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, code] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  const report = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  // A file that does not load fails without a test in it.
  failed += report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
}
// A check that failed before any test ran is a failure, too.
if (code !== '0' && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
