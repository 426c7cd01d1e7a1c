/** A real browser for tests of the pages, and what none of them may do in it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium as findChromium, waitFor } from '@tidemark/testkit';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** A browser on two cores with much else to do. */
const PAGE_TIMEOUT_MS = 90_000;

export const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 400, height: 800 } } as const;

/** Where pictures for people go, if somebody wants them: a tall one costs a second. */
export const PICTURES = process.env['TIDEMARK_SCREENSHOTS'] || undefined;

export async function openBrowser(): Promise<Browser> {
  if (PICTURES !== undefined) mkdirSync(PICTURES, { recursive: true });
  const { executablePath, args } = await findChromium();
  return chromium.launch({ executablePath, args: [...args] });
}

export interface Visit {
  readonly page: Page;
  /** Whatever a page must not do. */
  readonly faults: string[];
}

export async function visit(context: BrowserContext, origin: string): Promise<Visit> {
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

export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, name), fullPage: true });
}

/** Scripts of a test are texts: they run in the browser, whose names this program does not know. */
export function textOf(page: Page): Promise<string> {
  return page.evaluate<string>('document.body.innerText');
}

/** The figures of the first picture are all there. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector('.pulse.on');
  await waitFor('the first picture', async () => !(await textOf(page)).includes('Looking'));
}

/** Serious findings of axe. */
export async function violations(page: Page): Promise<readonly string[]> {
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
