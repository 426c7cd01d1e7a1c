/**
 * Who may import whom. The rules are proved on planted violations by infra/stack/checks/boundaries.test.ts: without
 * @swc/core beside TypeScript 7 this tool sees no import at all and passes.
 */

/** Files that decide: `src/` without what talks to the world and without what tests it. */
const CORE = '^libs/(jobs|cursors|handlers|log|outbox|contracts)/(index\\.ts$|src/)';
const NOT_CORE = '/(adapters|testing|generated)/|\\.test\\.ts$';

const PURE = '^libs/(keyspace|jobs|cursors|handlers|log|outbox)/(index\\.ts$|src/)';

/** Clients of the services, and what comes with them. */
const CLIENTS =
  '(^|node_modules/)(kafkajs|@platformatic/kafka|@kafkajs/confluent-schema-registry|ioredis|pg|pg-cursor|pg-pool)(/|$)';

/** Where tests and measurements live: they may use the test kit. */
const TEST_CODE = '\\.test\\.ts$|/testing/|^libs/testkit/|^infra/|^vitest\\.config\\.ts$';

export default {
  forbidden: [
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'A cycle has no first file to read.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      severity: 'error',
      comment: 'Also: of another package only what its "exports" list.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'declared',
      severity: 'error',
      comment: 'What a package imports stands in its own package.json.',
      from: { pathNot: TEST_CODE },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-path-out-of-a-package',
      severity: 'error',
      comment: 'Other packages are imported by name, so that their list of exports holds.',
      from: { path: '^(libs|services|infra)/([^/]+)/' },
      to: { dependencyTypes: ['local'], pathNot: '^$1/$2/' },
    },
    {
      name: 'libs-import-no-services',
      severity: 'error',
      comment: 'services -> libs, never back.',
      from: { path: '^libs/' },
      to: { path: '^services/|^infra/', pathNot: '^infra/stack/' },
    },
    {
      name: 'stack-only-for-tests-and-the-command-line',
      severity: 'error',
      comment: 'The launcher is no part of the product.',
      from: { path: '^(libs|services)/', pathNot: '^libs/testkit/|^services/(cli|im-fanout)/|\\.test\\.ts$' },
      to: { path: '^infra/' },
    },
    {
      name: 'core-knows-no-adapter',
      severity: 'error',
      comment: 'adapters -> ports -> core.',
      from: { path: CORE, pathNot: NOT_CORE },
      to: { path: '/src/(adapters|testing)/' },
    },
    {
      name: 'core-knows-no-client',
      severity: 'error',
      comment: 'Importing "." of a lib loads no client, and a port shows no client type.',
      from: { path: CORE, pathNot: NOT_CORE },
      to: { path: CLIENTS },
    },
    {
      name: 'pure-rooms-know-no-node',
      severity: 'error',
      comment: 'Clock, ids and randomness are arguments.',
      from: { path: PURE, pathNot: NOT_CORE },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      comment: 'Neither the test kit nor the twins of a lib run in production.',
      from: { path: '^(libs|services)/', pathNot: TEST_CODE },
      to: { path: '^libs/testkit/|/src/testing/|\\.test\\.ts$|(^|node_modules/)(vitest|fast-check)(/|$)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(\\.stack|node_modules/\\.)' },
    parser: 'swc', // TypeScript 7 has no interface for tools yet; swc sees imports of types, too
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.json'],
    },
  },
};
