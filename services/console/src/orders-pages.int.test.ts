/** Orders, searches and large letters on the pages: opened, pressed and looked at in a real browser, on real services. */
import { createTopic, produce, uniqueName, waitFor } from '@tidemark/testkit';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { openBrowser, picture, SIZES, settled, textOf, violations, visit } from './testing/browser.ts';
import { consoleOn, OPERATOR, type TestConsole } from './testing/console-on.ts';
import { openScene, type Scene } from './testing/scene.ts';
import { writeLetters } from './testing/written-letters.ts';

let scene: Scene;
let running: TestConsole;
let browser: Browser;

beforeAll(async () => {
  scene = await openScene();
  for (const program of [scene.start('distributor'), scene.start('worker')]) await program.logged('program.started');
  running = await consoleOn(scene.namespace);
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
  await running?.stop('test');
  await scene?.close();
});

let context: BrowserContext;
let page: Page;
let faults: string[];

beforeEach(async () => {
  context = await browser.newContext({ viewport: SIZES.wide, reducedMotion: 'reduce' });
  ({ page, faults } = await visit(context, new URL(running.url).origin));
  page.on('request', (request) => {
    if (request.url().includes(OPERATOR.token)) faults.push(`the token is in an address: ${request.url()}`);
  });
});

afterEach(async () => {
  await context.close();
  // What the server refuses is told by the browser, too.
  expect(faults.filter((fault) => !/status of 40[0139]/.test(fault))).toEqual([]);
});

async function goTo(path: string): Promise<void> {
  await page.goto(new URL(path, running.url).href);
  await settled(page);
}

const shows = (text: string) => waitFor(`the page to show ${text}`, async () => (await textOf(page)).includes(text));
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const focused = () => page.evaluate<string>('document.activeElement.textContent');

const signedIn = () =>
  waitFor('the operator to be named', async () => (await page.getByTitle('Operator').textContent()) === OPERATOR.name);

/** In both colours, without a serious finding of axe. */
async function looksRight(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `${name}-wide-${colorScheme}.png`);
    expect(await violations(page), `${name} in ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name} fits`).toBe(true);
}

it('a series is run by an operator, who says why; a viewer is told what is missing', async () => {
  const topic = await scene.topic('nights', { partitions: 1, records: 5 });
  await scene.createSeries({ jobId: 'nightly', topic, handler: 'count' }, 3_600_000n);
  await goTo('/series/nightly');
  await shows('It has not run yet.');

  // By keyboard: the button opens the form, whose first field is waiting; Escape leaves it, and the button is there again.
  await page.getByRole('button', { name: 'Run now', exact: true }).focus();
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.name')).toBe('reason');
  await page.keyboard.press('Escape');
  expect(await focused()).toBe('Run now');
  await page.keyboard.press('Enter');

  await page.keyboard.type(`it's the "books"`);
  await shows(`npx tidemark series run nightly --reason 'it'\\''s the "books"'`);
  await page.getByLabel('Token of an operator').fill('a-token-of-nobody');
  await looksRight('series-run-form');
  await press('Run it now');
  await shows('no operator of this console has this token');
  expect((await scene.jobLog.series()).get('nightly')?.runs).toBe(0n);
  expect(await page.getByLabel('Reason, for the audit trail').inputValue()).toBe(`it's the "books"`);

  await page.getByLabel('Token of an operator').fill(OPERATOR.token);
  await press('Run it now');
  await shows('Done: run nightly-1');
  await signedIn();
  await waitFor('the run on the page', () => page.getByRole('rowheader', { name: 'nightly-1' }).isVisible());
  await looksRight('series-run-done');

  await page.reload();
  await signedIn();
  await press('Delete');
  expect(await page.getByLabel('Token of an operator').count()).toBe(0);
  // The console may have been started anew with other tokens.
  await page.evaluate("sessionStorage.setItem('tidemark.operator', 'a-token-of-the-past')");
  await page.getByLabel('Reason, for the audit trail').fill('why not');
  await press('Delete it');
  await shows('no operator of this console has this token');
  await page.getByLabel('Token of an operator').fill(OPERATOR.token);
  expect((await scene.jobLog.series()).get('nightly')?.status).toBe('ACTIVE');
  await press('Not now');
  await press('Run now');
  await page.getByLabel('Reason, for the audit trail').fill('once more');
  await page.getByLabel('Token of an operator').fill(OPERATOR.token);
  await press('Run it now');
  await shows('nothing new since the last run');
  await press('Delete');
  await press('Sign out');
  await waitFor('the token to be asked for', async () => (await page.getByLabel('Token of an operator').count()) === 1);
  await press('Not now');
  expect(await focused()).toBe('Delete');
});

it('where there are no operators the page says so, and shows the command', async () => {
  const looking = await consoleOn(scene.namespace, { operators: [] });
  const own = await visit(context, new URL(looking.url).origin);
  await own.page.goto(new URL('/series/nightly', looking.url).href);
  await settled(own.page);
  await own.page.getByRole('button', { name: 'Run now', exact: true }).click();
  await waitFor('the words', async () => (await textOf(own.page)).includes('This console has no operators'));
  expect(await own.page.getByRole('button', { name: 'Run it now' }).isDisabled()).toBe(true);
  expect(own.faults).toEqual([]);
  await looking.stop('test');
});

it('a letter is corrected, and all are handed over again after a dry run', async () => {
  const topic = await scene.topic('orders', { partitions: 1, records: 2 });
  await produce(topic, [
    { key: 'k1', value: 'bad 1' },
    { key: 'k2', value: 'bad 2' },
  ]);
  await scene.submit({ jobId: 'picks', topic, handler: 'picky', attempts: 1 }, 'COMPLETED');
  await goTo(`/dead-letters/${topic}/0:0`);
  await shows('bad 1');
  await press('Correct …');
  const value = page.getByRole('textbox', { name: 'Value', exact: true });
  expect(await value.inputValue()).toBe('bad 1');
  await value.fill('good 1');
  await page.getByLabel('Reason, for the audit trail').fill('typo');
  await page.getByLabel('Token of an operator').fill(OPERATOR.token);
  await shows(`npx tidemark deadletter edit ${topic} --at 0:0 --value-file FILE --reason typo --yes`);
  await looksRight('letter-edit-form');
  await press('Append the corrected copy');
  await shows('a corrected copy is appended');

  await page.getByRole('link', { name: topic, exact: true }).click();
  await shows('3 letters found');
  // Found while it is read: the page need not be loaded anew.
  await waitFor('the groups', () => page.getByRole('row', { name: /data 3 1 picks/ }).isVisible());
  await press('Redrive …');
  await page.getByLabel('Records a second').fill('50');
  await press('Dry run');
  await shows('2 records would be handed over to picky, 50 a second: at least 1 s.');
  await shows('1 corrected copy among them.');
  await page.getByLabel('Class', { exact: true }).first().selectOption('timeout');
  await waitFor('the plan of another wish to be gone', async () => !(await textOf(page)).includes('records would be'));
  await page.getByLabel('Class', { exact: true }).first().selectOption('');
  await press('Dry run');
  await shows('2 records would be handed over to picky');
  await page.getByLabel('Reason, for the audit trail').fill('mended');
  await shows('2 records would be handed over to picky');
  await looksRight('redrive-form');
  await press('Hand them over again');
  await shows('hands them over');
  const jobId = await page.locator('.notice.good a').textContent();
  await waitFor('the redrive to end', async () => (await scene.jobLog.states()).get(`${jobId}`)?.state === 'COMPLETED');
  expect((await scene.jobLog.states()).get(`${jobId}`)).toMatchObject({
    request: { requestedBy: `${OPERATOR.name}@console`, note: 'mended', rate: 50 },
    totals: { ok: 1n, deadLettered: 1n },
  });
});

const MEBIBYTE = 1_024 * 1_024;
const MANY = 60_000;
/** What a page of the list holds. */
const ROWS = 200;

it('L5: among many letters and a large one a page stays small, and a search ends when somebody cancels it', async () => {
  const topic = await createTopic(uniqueName('many'));
  await writeLetters(topic, [
    { key: 'large', value: JSON.stringify({ text: 'x'.repeat(8 * MEBIBYTE) }) },
    ...Array.from({ length: MANY - 1 }, (_, index) => ({ key: `k${index}`, value: `value ${index}` })),
  ]);
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('key=nobody')) asked.push(request.url());
  });
  const rows = () => page.getByRole('region', { name: 'Letters, in the order of the log' }).locator('tbody tr').count();
  await goTo(`/dead-letters/${topic}`);
  await waitFor('the first page', async () => (await rows()) === ROWS);
  await shows('8 MiB');
  await press('Next page');
  await shows(`${(2 * ROWS).toLocaleString('en-US')} of 60,000 offsets looked at`);
  expect(await rows()).toBe(ROWS);

  // The second look of the search is held, so that somebody has time to cancel it.
  await page.route(/key=nobody.*from=/, () => new Promise(() => {}));
  await page.getByLabel('Key').fill('nobody');
  await press('Search');
  await waitFor('the second look', () => asked.length === 2);
  await shows('Searching: 0 letters found');
  await looksRight('letters-searching');
  await press('Cancel');
  await shows('Cancelled: 0 letters found');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  expect(asked).toHaveLength(2);
  await press('Go on');
  await shows('60,000 of 60,000 offsets looked at');
  expect(await rows()).toBe(0);

  await goTo(`/dead-letters/${topic}/0:0`);
  await shows('the beginning is shown');
  expect(await page.evaluate<number>('document.body.textContent.length')).toBeLessThan(200_000);
  await looksRight('letter-large');
  await press('Correct …');
  expect(await page.getByLabel('New value').inputValue()).toBe('keep');
});
