/**
 * Entry of the npm scripts: `node infra/stack/setup.mjs start|test|verify|bench|chaos [arguments]`.
 * Plain JavaScript for Node 18 and newer without any package, because it is what installs the packages and the right Node.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const BIN = join(ROOT, 'node_modules/.bin');
const NODE_MAJOR = 24;
const EXIT_UNAVAILABLE = 6;

const CHECKS = ['check:types', 'check:format', 'check:lint', 'check:boundaries', 'check:dead', 'check:schemas'];

/** Programs run in the checkout, with the project's own Node and tools before all others. */
const env = { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH ?? ''}` };

/** Set by a signal: no further step is started, and the exit code tells. */
let stoppedBy;

async function main([command, ...args]) {
  const commands = { start, test, verify, bench, chaos };
  const chosen = Object.hasOwn(commands, command ?? '') ? commands[command] : undefined;
  if (!chosen) {
    console.error('usage: node infra/stack/setup.mjs start | test | verify | bench | chaos [arguments]');
    return 2;
  }
  const installed = await installPackages();
  if (installed !== 0) return installed;
  const node = chooseNode();
  if (!node) return EXIT_UNAVAILABLE;
  return chosen(node, args);
}

function start(node, args) {
  return run(node, ['services/im-fanout/src/main-job.ts', ...args]);
}

function bench(node, args) {
  return run(node, ['infra/bench/src/main.ts', ...args]);
}

function chaos(node, args) {
  return run(node, ['infra/chaos/src/main.ts', ...args]);
}

function test(node, args) {
  return withStack(node, () => vitest(node, 'test', args));
}

async function verify(node, args) {
  for (const check of CHECKS) {
    const code = await step(check, () => npm(['run', '--silent', check]));
    if (code !== 0) return code;
  }
  return withStack(node, async () => {
    const unit = await step('unit tests', () => vitest(node, 'verify-unit', ['--project', 'unit', ...args]));
    if (unit !== 0) return unit;
    return step('integration tests', () => vitest(node, 'verify-int', ['--project', 'int', ...args]));
  });
}

async function step(name, work) {
  if (stoppedBy) return exitCodeOf(stoppedBy);
  console.log(`\n== ${name}`);
  const from = performance.now();
  const code = await work();
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  console.log(`== ${name}: ${code === 0 ? 'ok' : `FAILED with exit code ${code}`} (${seconds} s)`);
  return code;
}

/** Whoever had the services running keeps them running. Containers of a test run are started and stopped by the test runner. */
async function withStack(node, work) {
  if (process.env.TIDEMARK_TEST_SERVICES === 'testcontainers') return work();
  const launcher = 'infra/stack/src/main.ts';
  const wasUp = (await run(node, [launcher, 'status'], { stdio: 'ignore' })) === 0;
  try {
    const code = await run(node, [launcher, 'up']);
    if (code !== 0) return code;
    return stoppedBy ? exitCodeOf(stoppedBy) : await work();
  } finally {
    if (!wasUp) await run(node, [launcher, 'down'], { evenWhenStopped: true });
  }
}

/** With TIDEMARK_TEST_REPORTS a JSON report of each run is left in that folder. */
function vitest(node, name, args) {
  const folder = process.env.TIDEMARK_TEST_REPORTS;
  const reports = [];
  if (folder) {
    mkdirSync(folder, { recursive: true });
    reports.push('--reporter=default', '--reporter=json', `--outputFile.json=${join(folder, `${name}.json`)}`);
  }
  return run(node, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...reports, ...args]);
}

function npm(args, options) {
  // Under `npm run` this is the very npm that the user called; by itself the script takes the one on the PATH.
  const own = process.env.npm_execpath;
  return own ? run(process.execPath, [own, ...args], options) : run('npm', args, options);
}

async function installPackages() {
  if (isInstalled()) return 0;
  console.error('installing packages (npm ci)');
  const code = await npm(['ci', '--loglevel=error', '--no-audit', '--no-fund']);
  if (code !== 0) console.error('the packages could not be installed');
  return code;
}

/**
 * Does node_modules hold what package-lock.json says? npm notes what it installed in a lockfile of its own; the times of the two
 * files say nothing after a checkout of another branch. Packages for other platforms may be absent.
 */
function isInstalled() {
  const noted = join(ROOT, 'node_modules/.package-lock.json');
  if (!existsSync(noted)) return false;
  const installed = JSON.parse(readFileSync(noted, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, link, optional, devOptional }]) => {
    if (!path.startsWith('node_modules/')) return true; // the root and the workspaces themselves
    const found = installed[path];
    if (!found) return Boolean(optional || devOptional);
    return found.version === version && found.link === link;
  });
}

function chooseNode() {
  const own = join(BIN, 'node');
  if (existsSync(own)) return own;
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath;
  console.error(
    `Tidemark needs Node ${NODE_MAJOR} or newer. This is ${process.version}, and npm has no Node package for ${process.platform} on ${process.arch} here; install Node ${NODE_MAJOR}.`,
  );
  return undefined;
}

/** Runs a program to its end and resolves to its exit code; signals that we get are passed on. */
function run(command, args, { stdio = 'inherit', evenWhenStopped = false } = {}) {
  if (stoppedBy && !evenWhenStopped) return Promise.resolve(exitCodeOf(stoppedBy));
  return new Promise((done) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio });
    const forward = (signal) => {
      stoppedBy = signal;
      // Ctrl-C in a terminal reaches the child by itself, and a second one would mean "at once".
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    const finish = (code) => {
      for (const signal of signals) process.off(signal, forward);
      done(code);
    };
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`);
      finish(127);
    });
    child.once('exit', (code, signal) => finish(code ?? exitCodeOf(signal)));
  });
}

function exitCodeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}

process.exitCode = await main(process.argv.slice(2));
