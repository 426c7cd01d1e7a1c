import { expect, it } from 'vitest';
import { DOWN, jobState, known, NOW_MS, present, rangeState, sightOf, workOf } from '../testing/sights.ts';
import type { Snapshot } from '../view/schemas.ts';
import { snapshotView } from '../view/snapshot.ts';

type View = string | { readonly key?: string; readonly children: readonly View[] };
type Content = View | boolean | null | undefined | readonly Content[];

// The pages are plain JavaScript, which the type checker of the programs does not read.
const { overviewPage } = (await import(new URL('./overview.js', import.meta.url).href)) as {
  overviewPage(snapshot: Snapshot, nowMs: number): Content;
};

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined || typeof content === 'boolean') return '';
  return 'children' in content ? textOf(content.children) : content.map(textOf).join(' ');
}

function overviewText(sight: ReturnType<typeof sightOf>): string {
  return textOf(overviewPage(snapshotView(sight, { namespace: 'test', relay: 'main' }), NOW_MS));
}

const ends = known(new Map([['orders', present('orders', [0, 170])]]));

it('L1: with the cursor store down the tile of the lag is a dash', () => {
  const text = overviewText(sightOf({ states: [jobState({})], work: DOWN, ends }));
  expect(text).toContain('Offsets behind – oldest –');
});

it('L1: with the states of jobs unknown the tile does not say that nothing is watched', () => {
  const text = overviewText({ ...sightOf({}), states: DOWN });
  expect(text).toContain('Offsets behind – –');
});

it('L1: with some job unknown the tile says "at least"', () => {
  const work = known(workOf({ ranges: new Map([['job-1', [rangeState({ start: -1, end: 99, cursor: 29 })]]]) }));
  const text = overviewText(sightOf({ states: [jobState({}), jobState({ jobId: 'lost' })], work, ends }));
  expect(text).toContain('Offsets behind at least 140');
});
