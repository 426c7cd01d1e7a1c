/**
 * Who of several candidates for one role leads: a hint in the `{sched}` slot, never truth. It spares a standby from disturbing
 * the one that works; whoever is told that he leads must still be fenced by what he writes to.
 */
export interface Leadership {
  /** Granted when nobody else was granted the role within his `ttlMs`, and to whoever holds it, for `ttlMs` from now. */
  lead(request: {
    readonly role: string;
    readonly candidate: string;
    readonly ttlMs: number;
  }): Promise<LeadershipAnswer>;
  /** Gives the role up, if the candidate has it. */
  resign(request: { readonly role: string; readonly candidate: string }): Promise<void>;
  close(): Promise<void>;
}

export type LeadershipAnswer =
  | { readonly kind: 'leading' }
  /** `remainingMs`: when the role is free, unless its leader asks again. */
  | { readonly kind: 'led'; readonly leader: string; readonly remainingMs: number };
