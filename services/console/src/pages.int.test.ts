/** The pages in a real browser, on real services, with everything going on at once. */
import { uniqueNamespace, waitFor } from '@tidemark/testkit';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openBrowser, PICTURES, picture, SIZES, settled, textOf, violations, visit } from './testing/browser.ts';
import { consoleOn, type TestConsole } from './testing/console-on.ts';
import { HOSTILE } from './testing/hostile.ts';
import { openScene, playEverything, type Scene } from './testing/scene.ts';

/** Elements that none of our pages has. */
const MARKUP = `document.querySelectorAll('main script, main img, main iframe, main [onerror], [href^="javascript"]').length`;

/** Tables that are wider than their place. */
const CUT = `[...document.querySelectorAll('.scroll')].filter((place) => place.scrollWidth > place.clientWidth).map((place) => place.getAttribute('aria-label'))`;

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
  scene = await openScene();
  play = await playEverything(scene);
  running = await consoleOn(scene.namespace);
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
  await running?.stop('test');
  await play?.close();
  await scene?.close();
});

const PATHS = (): Readonly<Record<string, string>> => ({
  overview: '/',
  lag: '/lag',
  retention: '/retention',
  relay: '/relay',
  workers: '/workers',
  nowhere: '/jobs/no-such-job',
  series: '/series',
  'no-series': '/series/no-such-series',
  ...Object.fromEntries(play.series.map((name) => [`series-${name}`, `/series/${name}`])),
  'dead-letters': '/dead-letters',
  'letters-of-topic': `/dead-letters/${play.letters}`,
  'no-letters': '/dead-letters/no-such-topic',
  letter: `/dead-letters/${play.letters}/0:1`,
  'no-letter': `/dead-letters/${play.letters}/0:99`,
  ...Object.fromEntries(play.jobIds.map((jobId) => [`job-${jobId}`, `/jobs/${jobId}`])),
});

it.each(LOOKS)('L4: every page in %s and %s shows texts as texts, without a fault', async (colorScheme, size) => {
  const context = await browser.newContext({ colorScheme, viewport: SIZES[size], reducedMotion: 'reduce' });
  const { page, faults } = await visit(context, new URL(running.url).origin);
  const cut: string[] = [];
  for (const [name, path] of Object.entries(PATHS())) {
    await page.goto(new URL(path, running.url).href);
    await settled(page);
    await picture(page, `${name}-${size}-${colorScheme}.png`);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name} fits`).toBe(true);
    if (size === 'wide') cut.push(...(await page.evaluate<readonly string[]>(CUT)).map((table) => `${name}: ${table}`));
    expect(await page.evaluate(MARKUP), `${name} holds no markup but ours`).toBe(0);
    expect(await textOf(page), `${name} shows no nonsense`).not.toMatch(/NaN|undefined|\[object/);
    expect(await violations(page), name).toEqual([]);
  }
  expect(cut, 'tables that are cut').toEqual([]);
  // Two of the pages are about what is not there.
  expect(faults.filter((fault) => !/status of 404/.test(fault))).toEqual([]);
  await context.close();
});

/** As the browser lays it out: a line break is a space. */
const HOSTILE_AS_TEXT = HOSTILE.replaceAll('\n', ' ');

it('L4: the texts are there to be read, as they were written', async () => {
  const context = await browser.newContext();
  const { page } = await visit(context, new URL(running.url).origin);
  for (const path of [
    '/',
    '/jobs/pick-letters',
    '/jobs/send-invoices',
    '/jobs/refused-markup',
    '/jobs/rests',
    '/series',
    `/dead-letters/${play.letters}/0:1`,
  ]) {
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
  for (const name of ['Skip to the content', 'Tidemark', 'Overview', 'Series', 'Lag']) {
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
