/** What every worker offers without any module of a user's. */
import type { Codec } from '@tidemark/contracts';
import { createCountHandler, type Handler } from '@tidemark/handlers';
import type { LogCluster } from '@tidemark/log';
import { createRepublish } from './republish.ts';
import { createWebhook } from './webhook.ts';

export function builtInHandlers({
  cluster,
  codec,
}: {
  readonly cluster: LogCluster;
  readonly codec: Codec;
}): readonly Handler[] {
  return [createCountHandler().handler, createRepublish(cluster), createWebhook({ codec, nowMs: Date.now })];
}
