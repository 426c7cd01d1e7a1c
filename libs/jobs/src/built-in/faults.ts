/** What is wrong with the parameters of a handler that every worker has. Those of other handlers are for their authors to judge. */
import type { JobRequested } from '@tidemark/contracts';
import { REPUBLISH, republishFaults } from './republish.ts';
import { readWebhook, WEBHOOK } from './webhook.ts';

export function builtInFaults(request: JobRequested): readonly string[] {
  if (request.handler === REPUBLISH) return republishFaults(request);
  if (request.handler !== WEBHOOK) return [];
  const read = readWebhook(request.parameters);
  return read.kind === 'faults' ? read.faults : [];
}
