/** How a record ended; small numbers, because a chunk keeps a byte for each. */
export const Settlement = { ok: 1, skipped: 2, deadLettered: 3, filtered: 4 } as const;
export type Settlement = (typeof Settlement)[keyof typeof Settlement];
