/** The boundaries check, checked: each rule must fail on a tree that breaks it, or it sees nothing and passes for ever. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { run } from '@tidemark/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const CONFIG = '.dependency-cruiser.mjs';

/** One violation a rule; the packages are named as ours, so that the paths in the rules apply. */
const PLANTED: Record<string, { file: string; text: string }> = {
  'no-cycle': { file: 'libs/jobs/src/cycle-a.ts', text: "import './cycle-b.ts';\n" },
  resolvable: { file: 'libs/jobs/src/unlisted.ts', text: "import '@tidemark/keyspace/src/offset.ts';\n" },
  declared: { file: 'libs/jobs/src/undeclared.ts', text: "import 'unheard-of';\n" },
  'no-path-out-of-a-package': { file: 'libs/jobs/src/path.ts', text: "import '../../keyspace/index.ts';\n" },
  'libs-import-no-services': { file: 'libs/jobs/src/upward.ts', text: "import '../../../services/worker/index.ts';\n" },
  'stack-only-for-tests-and-the-command-line': {
    file: 'libs/jobs/src/stack.ts',
    text: "import '../../../infra/stack/index.ts';\n",
  },
  'core-knows-no-adapter': { file: 'libs/log/src/adapter.ts', text: "import './adapters/kafka/index.ts';\n" },
  'core-knows-no-client': { file: 'libs/outbox/src/client.ts', text: "import type { Client } from 'pg';\n" },
  'pure-rooms-know-no-node': { file: 'libs/keyspace/src/node.ts', text: "import { randomUUID } from 'node:crypto';\n" },
  'no-test-code-in-the-product': { file: 'services/worker/src/twin.ts', text: "import '@tidemark/testkit';\n" },
};

/** What the planted files import. */
const BESIDES: Record<string, string> = {
  'libs/keyspace/index.ts': '',
  'libs/keyspace/src/offset.ts': '',
  'libs/testkit/index.ts': '',
  'libs/log/src/adapters/kafka/index.ts': "import 'kafkajs';\n",
  'services/worker/index.ts': '',
  'infra/stack/index.ts': '',
};

const PACKAGES = [
  'libs/jobs',
  'libs/keyspace',
  'libs/log',
  'libs/outbox',
  'libs/testkit',
  'services/worker',
  'infra/stack',
];

/** What a room may do: its adapter uses a client, its test uses Node and the test kit. */
const ALLOWED: Record<string, string> = {
  'libs/log/src/ports.ts': "import '@tidemark/keyspace';\n",
  'libs/log/src/adapters/kafka/reader.ts': "import '../../ports.ts';\nimport 'kafkajs';\n",
  'libs/log/src/reader.int.test.ts': "import 'node:crypto';\nimport '@tidemark/testkit';\n",
};

let folder: string;

function plant(files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-boundaries-'));
  cpSync(join(ROOT, CONFIG), join(folder, CONFIG));
  plant({
    'package.json': '{ "name": "planted" }',
    'node_modules/kafkajs/index.js': '',
    'node_modules/pg/index.js': '',
    'node_modules/unheard-of/index.js': '',
  });
  for (const room of PACKAGES) {
    const name = `@tidemark/${room.split('/')[1]}`;
    const dependencies = { kafkajs: '1', pg: '1' };
    plant({ [`${room}/package.json`]: JSON.stringify({ name, exports: { '.': './index.ts' }, dependencies }) });
    mkdirSync(join(folder, 'node_modules/@tidemark'), { recursive: true });
    symlinkSync(join(folder, room), join(folder, 'node_modules', name));
  }
  plant(BESIDES);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function brokenRules(): Promise<string[]> {
  const command = join(ROOT, 'node_modules/.bin/depcruise');
  const args = ['--config', CONFIG, '--output-type', 'json', 'libs', 'services', 'infra'];
  const result = await run(command, args, { cwd: folder });
  const report = JSON.parse(result.stdout) as { summary: { violations: { rule: { name: string }; from: string }[] } };
  return report.summary.violations.map((violation) => `${violation.rule.name}: ${violation.from}`);
}

it('passes a tree that keeps the rules', async () => {
  plant(ALLOWED);
  expect(await brokenRules()).toEqual([]);
});

it('names every planted violation by its rule and file', async () => {
  plant({ 'libs/jobs/src/cycle-b.ts': "import './cycle-a.ts';\n" });
  for (const { file, text } of Object.values(PLANTED)) plant({ [file]: text });
  const found = await brokenRules();
  for (const [rule, { file }] of Object.entries(PLANTED)) expect(found).toContain(`${rule}: ${file}`);
});

it('has a planted violation for every rule', async () => {
  const config = (await import(join(ROOT, CONFIG))) as { default: { forbidden: { name: string }[] } };
  expect(config.default.forbidden.map((rule) => rule.name).sort()).toEqual(Object.keys(PLANTED).sort());
});
