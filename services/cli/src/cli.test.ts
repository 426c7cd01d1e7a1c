import { describe, expect, it } from 'vitest';
import { cli } from './testing/test-terminal.ts';

/** All addresses are given, so that nothing is looked up. */
const ENV = {
  TIDEMARK_KAFKA: 'broker.test:9092',
  TIDEMARK_REDIS: 'redis://:hidden@redis.test:6379',
  TIDEMARK_POSTGRES: 'postgres://somebody:secret@db.test:5432/app',
  TIDEMARK_REGISTRY: 'http://registry.test:8081',
};

describe('usage', () => {
  it.each([
    ['an unknown command', ['fly'], /unknown command 'fly'/],
    ['an unknown option', ['config', '--loud'], /unknown option '--loud'/],
    ['an unknown format', ['config', '-o', 'xml'], /Allowed choices are table, json, jsonl/],
    ['a missing argument', ['job', 'show'], /missing required argument 'id'/],
    ['a missing option', ['job', 'submit', '--handler', 'count'], /required option '--topic <name>' not specified/],
    ['too much', ['config', 'now'], /too many arguments/],
    [
      'a number that is none',
      ['job', 'submit', '--topic', 't', '--handler', 'h', '--chunk', 'ten'],
      /It must be a whole number/,
    ],
    [
      'a parameter without a value',
      ['job', 'submit', '--topic', 't', '--handler', 'h', '--param', 'x'],
      /It must be name=value/,
    ],
    [
      'an unknown ordering',
      ['job', 'submit', '--topic', 't', '--handler', 'h', '--ordering', 'random'],
      /Allowed choices are none, partition, key/,
    ],
    ...[
      ['--concurrency', '-1', /from 0 up to 2147483647/],
      ['--concurrency', 'many', /It must be a whole number/],
      ['--rate', '1.5', /It must be a whole number/],
      ['--rate', '2147483648', /from 0 up to 2147483647/],
      ['--parked-max', '-1', /from 0 up to/],
      ['--on-exhausted', 'retry', /Allowed choices are dead-letter, suspend/],
      ['--max-seconds', '1h', /It must be a whole number from 0/],
      ['--max-chunks', '-1', /It must be a whole number from 0/],
      ['--max-failures', '', /It must be a whole number from 0/],
      ['--max-dead-letters', '1e99', /It must be a whole number from 0/],
      ['--ranges-per-partition', '-1', /from 0 up to/],
      ['--priority', 'high', /from -2147483648 up to 2147483647/],
    ].map(([option = '', value = '', message]): [string, string[], RegExp] => [
      `${option} ${value}`,
      ['job', 'submit', '--topic', 't', '--handler', 'h', `${option}=${value}`],
      message as RegExp,
    ]),
    [
      'a series without a schedule',
      ['series', 'create', 's', '--topic', 't', '--handler', 'h'],
      /either --cron or --every/,
    ],
    ...[
      ['--every', '10', /whole number and s, m, h or d, such as 10m/],
      ['--every', '0m', /whole number and s, m, h or d/],
      ['--every', '1w', /whole number and s, m, h or d/],
    ].map(([option = '', value = '', message]): [string, string[], RegExp] => [
      `series ${option} ${value}`,
      ['series', 'create', 's', '--topic', 't', '--handler', 'h', `${option}=${value}`],
      message as RegExp,
    ]),
    [
      'a series with two schedules',
      ['series', 'create', 's', '--topic', 't', '--handler', 'h', '--every', '1m', '--cron', '* * * * *'],
      /'--cron <fields>' cannot be used with option '--every <period>'/,
    ],
    [
      'a series with an end',
      ['series', 'create', 's', '--topic', 't', '--handler', 'h', '--to', 'now'],
      /unknown option '--to'/,
    ],
    ['pause without a job', ['job', 'pause'], /missing required argument 'id'/],
    ['a deadline that is no time', ['job', 'pause', 'j', '--deadline', 'soon'], /It must be a number of seconds/],
    ['a deadline of nothing', ['job', 'cancel', 'j', '--deadline', '0'], /above 0; --force does not wait at all/],
    [
      'a deadline and none at all',
      ['job', 'cancel', 'j', '--deadline', '1', '--force'],
      /'--force' cannot be used with option '--deadline <seconds>'/,
    ],
    ['a budget that is none', ['job', 'resume', 'j', '--max-chunks', 'more'], /It must be a whole number from 0/],
    ['force for a resume', ['job', 'resume', 'j', '--force'], /unknown option '--force'/],
    ['kill of nothing', ['job', 'kill'], /either the id of a job or --all/],
    ['kill of one and all', ['job', 'kill', 'j', '--all', '--yes'], /either the id of a job or --all/],
    ['kill of all by a script that does not say yes', ['job', 'kill', '--all'], /--yes says that it is meant/],
  ])('%s: exit 2 and one message', async (_what, args, message) => {
    const { exitCode, out, notes } = await cli(args, ENV);
    expect(exitCode).toBe(2);
    expect(out).toEqual([]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(message);
    expect(notes[0]).toMatch(/^tidemark: /);
  });

  it('explains a group of commands that is called by itself', async () => {
    const { exitCode, notes } = await cli(['job'], ENV);
    expect(exitCode).toBe(2);
    expect(notes.join('\n')).toContain('submit');
  });

  it('explains itself when asked, with exit 0', async () => {
    const { exitCode, out } = await cli(['job', 'submit', '--help'], ENV);
    expect(exitCode).toBe(0);
    expect(out.join('\n')).toContain('--allow-unknown-handler');
  });

  it.each([
    [['help'], /Usage: tidemark \[options\]/],
    [['help', 'job'], /Usage: tidemark job \[options\]/],
    [['help', 'job', 'submit'], /Usage: tidemark job submit \[options\].*--allow-unknown-handler/s],
  ])('%j explains what the words lead to, with exit 0', async (args, text) => {
    const { exitCode, out, notes } = await cli(args, ENV);
    expect(notes).toEqual([]);
    expect(exitCode).toBe(0);
    expect(out.join('\n')).toMatch(text);
  });

  it('help for a word that is no command: exit 2 and one message', async () => {
    const { exitCode, out, notes } = await cli(['help', 'job', 'fly'], ENV);
    expect([exitCode, out, notes]).toEqual([2, [], ["tidemark: unknown command 'fly'"]]);
  });

  it('tells its version', async () => {
    expect(await cli(['--version'], ENV)).toEqual({ exitCode: 0, out: ['0.1.0'], notes: [] });
  });

  it.each([
    ['job', 'submit', ['--dry-run']],
    ['job', 'pause', ['--dry-run', '--reason', '--yes']],
    ['job', 'resume', ['--dry-run', '--reason', '--yes']],
    ['job', 'cancel', ['--dry-run', '--reason', '--yes']],
    ['job', 'kill', ['--dry-run', '--reason', '--yes']],
    ['outbox', 'install', ['--dry-run']],
    ['outbox', 'attach', ['--dry-run']],
    ['outbox', 'detach', ['--dry-run', '--yes']],
  ])('%s %s takes of --dry-run, --reason and --yes what acts in it: %j', async (group, command, taken) => {
    const help = (await cli(['help', group, command], ENV)).out.join('\n');
    expect(['--dry-run', '--reason', '--yes'].filter((option) => help.includes(option))).toEqual(taken);
  });

  it('a handler file that is not there: exit 3 before anything is started', async () => {
    const { exitCode, out, notes } = await cli(['up', '--handlers', 'absent.ts'], ENV);
    expect([exitCode, out, notes]).toEqual([
      3,
      [],
      [`tidemark: handler module absent.ts: no such file, looked for from ${process.cwd()}`],
    ]);
  });

  it('names all faults of the environment at once: exit 2', async () => {
    const { exitCode, notes } = await cli(['config'], {
      ...ENV,
      TIDEMARK_KAFKA: 'no port',
      TIDEMARK_REDIS: 'http://redis',
    });
    expect(exitCode).toBe(2);
    expect(notes.join('\n')).toMatch(/TIDEMARK_KAFKA.*TIDEMARK_REDIS/);
  });
});

describe('config', () => {
  it('shows what is in effect and where it is from, without secrets', async () => {
    const { exitCode, out } = await cli(['config', '-o', 'json'], { ...ENV, TIDEMARK_NAMESPACE: '' });
    expect(exitCode).toBe(0);
    const settings: unknown = JSON.parse(out.join(''));
    expect(settings).toContainEqual({ name: 'TIDEMARK_KAFKA', value: 'broker.test:9092', source: 'environment' });
    expect(settings).toContainEqual({ name: 'TIDEMARK_NAMESPACE', value: 'tidemark', source: 'default' });
    expect(out.join('')).not.toMatch(/hidden|secret/);
    expect(out.join('')).toContain('somebody');
  });

  it('writes one document a line as jsonl, and aligned columns as table', async () => {
    const lines = (await cli(['config', '-o', 'jsonl'], ENV)).out;
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toContain('TIDEMARK_REGISTRY');
    const [head] = (await cli(['config'], ENV)).out;
    expect(head).toMatch(/^SETTING +VALUE +FROM$/);
  });
});
