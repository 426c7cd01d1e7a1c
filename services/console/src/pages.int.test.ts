/** The pages in a real browser, on real services, with everything going on at once. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium as findChromium, uniqueNamespace, waitFor } from '@tidemark/testkit';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleOn, type TestConsole } from './testing/console-on.ts';
import { HOSTILE } from './testing/hostile.ts';
import { openScene, playEverything, type Scene } from './testing/scene.ts';

/** A browser on two cores with much else to do. */
const PAGE_TIMEOUT_MS = 90_000;

/** Elements that none of our pages has. */
const MARKUP = `document.querySelectorAll('main script, main img, main iframe, main [onerror], [href^="javascript"]').length`;

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 400, height: 800 } } as const;

/** Where pictures for people go, if somebody wants them: a tall one costs a second. */
const PICTURES = process.env['TIDEMARK_SCREENSHOTS'] || undefined;

/** Widths change the layout and schemes the colours: each of both once; all four where a person wants the pictures. */
const LOOKS = [
  ['light', 'wide'],
  ['dark', 'narrow'],
  ...(PICTURES !== undefined
    ? ([
        ['dark', 'wide'],
        ['light', 'narrow'],
      ] as const)
    : []),
] as const;

let scene: Scene;
let play: Awaited<ReturnType<typeof playEverything>>;
let running: TestConsole;
let browser: Browser;

beforeAll(async () => {
  if (PICTURES !== undefined) mkdirSync(PICTURES, { recursive: true });
  const { executablePath, args } = await findChromium();
  scene = await openScene();
  play = await playEverything(scene);
  running = await consoleOn(scene.namespace);
  browser = await chromium.launch({ executablePath, args: [...args] });
});

afterAll(async () => {
  await browser?.close();
  await running?.stop('test');
  await play?.close();
  await scene?.close();
});

interface Visit {
  readonly page: Page;
  /** Whatever a page must not do. */
  readonly faults: string[];
}

async function visit(context: BrowserContext, origin: string = new URL(running.url).origin): Promise<Visit> {
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_TIMEOUT_MS);
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin && !request.url().startsWith('data:'))
      faults.push(`request to elsewhere: ${request.url()}`);
  });
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))",
  );
  return { page, faults };
}

const PATHS = (): Readonly<Record<string, string>> => ({
  overview: '/',
  lag: '/lag',
  retention: '/retention',
  relay: '/relay',
  workers: '/workers',
  nowhere: '/jobs/no-such-job',
  ...Object.fromEntries(play.jobIds.map((jobId) => [`job-${jobId}`, `/jobs/${jobId}`])),
});

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, name), fullPage: true });
}

/** Scripts of a test are texts: they run in the browser, whose names this program does not know. */
function textOf(page: Page): Promise<string> {
  return page.evaluate<string>('document.body.innerText');
}

/** The figures of the first picture are all there. */
async function settled(page: Page): Promise<void> {
  await page.waitForSelector('.pulse.on');
  await waitFor('the first picture', async () => !(await textOf(page)).includes('Looking'));
}

it.each(LOOKS)('L4: every page in %s and %s shows texts as texts, without a fault', async (colorScheme, size) => {
  const context = await browser.newContext({ colorScheme, viewport: SIZES[size], reducedMotion: 'reduce' });
  const { page, faults } = await visit(context);
  for (const [name, path] of Object.entries(PATHS())) {
    await page.goto(new URL(path, running.url).href);
    await settled(page);
    await picture(page, `${name}-${size}-${colorScheme}.png`);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name} fits`).toBe(true);
    expect(await page.evaluate(MARKUP), `${name} holds no markup but ours`).toBe(0);
    expect(await textOf(page), `${name} shows no nonsense`).not.toMatch(/NaN|undefined|\[object/);
    expect(await violations(page), name).toEqual([]);
  }
  expect(faults).toEqual([]);
  await context.close();
});

/** As the browser lays it out: a line break is a space. */
const HOSTILE_AS_TEXT = HOSTILE.replaceAll('\n', ' ');

it('L4: the texts are there to be read, as they were written', async () => {
  const context = await browser.newContext();
  const { page } = await visit(context);
  for (const path of ['/', '/jobs/pick-letters', '/jobs/send-invoices', '/jobs/refused-markup', '/jobs/rests']) {
    await page.goto(new URL(path, running.url).href);
    await settled(page);
    await waitFor(`the text on ${path}`, async () => (await textOf(page)).includes(HOSTILE_AS_TEXT));
  }
  await context.close();
});

it('goes by keyboard, keeps the place of the reader, and tells a lost connection', async () => {
  const own = await consoleOn(uniqueNamespace('console'), { redis: 'redis://127.0.0.1:1' });
  const context = await browser.newContext({ viewport: SIZES.wide });
  const { page, faults } = await visit(context, new URL(own.url).origin);
  await page.goto(own.url);
  await settled(page);
  await waitFor('the fault of Redis', async () => (await textOf(page)).includes('Redis is down'));
  await picture(page, 'empty-and-redis-down.png');
  await waitFor('the jobs', async () => (await textOf(page)).includes('No job was ever submitted here.'));

  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  for (const name of ['Skip to the content', 'Tidemark', 'Overview', 'Lag']) {
    await page.keyboard.press('Tab');
    expect(await focused()).toBe(name);
  }
  await page.keyboard.press('Enter');
  await waitFor('the page of the lag', () => new URL(page.url()).pathname === '/lag');
  expect(await focused()).toBe('Lag');
  expect(await page.title()).toBe('Lag · Tidemark');
  const seenAt = () => page.evaluate<string>('document.querySelector("footer").textContent');
  const before = await seenAt();
  await waitFor('the next picture', async () => (await seenAt()) !== before);
  expect(await focused(), 'after the news of a second').toBe('Lag');

  expect(faults).toEqual([]);
  await own.stop('test');
  await waitFor('the loss to be told', async () => (await textOf(page)).includes('connection lost'));
  await picture(page, 'connection-lost.png');
  await context.close();
});

async function violations(page: Page): Promise<readonly string[]> {
  // Given to the debugger and not to the page, whose policy would refuse it.
  await page.evaluate(axe.source);
  const found = await page.evaluate<readonly Violation[]>('axe.run().then(({ violations }) => violations)');
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .slice(0, 3)
          .join(' | ')}`,
    );
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}
