/** A traversal with two guards, and what they must heed: a series, a group, jobs; and who watches. */
import { chanceOf } from '@tidemark/testkit/chance';
import { keep, type OnClose, type Opened, openInOrder } from '../openings.ts';
import type { RunOptions } from '../system.ts';
import { type Layout, openScene as openTraversal } from '../traversal/installation.ts';
import { CHUNK_RECORDS } from '../traversal/limits.ts';
import { startGroup } from './group.ts';
import {
  CUT_POLICY,
  FILL_PER_SECOND,
  GROUP,
  GROUP_STREAM,
  GUARD_EVERY_MS,
  GUARDS,
  KEPT_STREAM,
  RELEASED_STREAM,
  SERIES,
  SERIES_EVERY,
  SERIES_STREAM,
} from './limits.ts';
import { startLoad } from './load.ts';
import { tidemark } from './programs.ts';
import { startSampler } from './sampler.ts';
import type { GuardScene } from './scene.ts';

const STREAMS = [SERIES_STREAM, GROUP_STREAM] as const;
const HELD = [RELEASED_STREAM, KEPT_STREAM] as const;

const LAYOUT: Layout = {
  streams: STREAMS,
  others: HELD,
  fillPerSecond: FILL_PER_SECOND,
  guards: GUARDS,
  isAsking: false,
  guardSettings: (namespace) => ({
    TIDEMARK_GUARD_TOPICS: [...STREAMS, ...HELD, { name: 'cut', policy: CUT_POLICY }]
      .map(({ name, policy }) => `${namespace}.${name}=${policy}`)
      .join(','),
    TIDEMARK_GUARD_GROUPS: `${namespace}.${GROUP_STREAM.name}=${GROUP}`,
    TIDEMARK_GUARD_HOLD: HELD.map(({ name, hold }) => `${namespace}.${name}=${hold}`).join(','),
    TIDEMARK_GUARD_EVERY_MS: String(GUARD_EVERY_MS),
  }),
};

export function install(options: RunOptions): Promise<Opened<GuardScene>> {
  return openInOrder((onClose) => openScene(options, onClose), options.progress);
}

async function openScene(options: RunOptions, onClose: OnClose): Promise<GuardScene> {
  const scene = await openTraversal(options, LAYOUT, onClose);
  const { kafka, namespace, filledTopics, env } = scene;
  const seriesTopic = `${namespace}.${SERIES_STREAM.name}`;
  const groupTopic = `${namespace}.${GROUP_STREAM.name}`;
  const group = await keep(onClose, startGroup(kafka, groupTopic), (opened) => opened.stop());
  await createSeries(env, seriesTopic);
  const load = startLoad(scene, chanceOf(options.seed));
  onClose(() => load.stop());
  const releasedTopic = `${namespace}.${RELEASED_STREAM.name}`;
  const keptTopic = `${namespace}.${KEPT_STREAM.name}`;
  const topics = [...filledTopics, releasedTopic, keptTopic];
  const sampler = startSampler({ ...scene, topics, groupTopic, releasedTopic });
  onClose(() => sampler.stop());
  return { ...scene, seriesTopic, groupTopic, releasedTopic, keptTopic, group, load, sampler };
}

/** As an operator does it. Nothing has been cut by then: no job has covered anything. */
async function createSeries(env: NodeJS.ProcessEnv, topic: string): Promise<void> {
  const { code, notes } = await tidemark(
    env,
    ...['series', 'create', SERIES, '--topic', topic, '--handler', 'chaos-ledger', '--every', SERIES_EVERY],
    ...['--chunk', String(CHUNK_RECORDS), '--ordering', 'key', '--allow-unknown-handler'],
  );
  if (code !== 0) throw new Error(`the series was not created (${code}): ${notes}`);
}
