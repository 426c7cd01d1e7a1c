/** A fault is over when work goes on. */
import { waitFor } from '@tidemark/testkit';
import { RECOVERY_MAX_MS } from '../limits.ts';
import type { Scene } from '../scene.ts';

/** The newest write of the sink, and the newest life of the store that granted a write. */
export async function sinkState({
  pool,
}: Pick<Scene, 'pool'>): Promise<{ readonly seq: bigint; readonly epoch: string }> {
  const { rows } = await pool.query<{ seq: string; epoch: string }>(
    `select coalesce(max(seq), 0)::text as seq, coalesce(max(split_part(token, ':', 1)), '') as epoch from deliveries`,
  );
  return { seq: BigInt(rows[0]?.seq ?? '0'), epoch: rows[0]?.epoch ?? '' };
}

/** Resolves when `isNewer` accepts what the sink has; notes a complaint when nothing comes. */
export async function awaitSink(
  scene: Scene,
  after: string,
  isNewer: (state: { readonly seq: bigint; readonly epoch: string }) => boolean,
): Promise<void> {
  try {
    await waitFor(`deliveries after ${after}`, async () => isNewer(await sinkState(scene)), {
      timeoutMs: RECOVERY_MAX_MS,
      intervalMs: 200,
    });
  } catch (error) {
    scene.notes.complaints.push(
      `nothing was delivered for ${RECOVERY_MAX_MS / 1_000} s after ${after}: ${String(error)}`,
    );
  }
}
