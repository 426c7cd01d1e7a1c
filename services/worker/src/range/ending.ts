import type { LetGo } from '../lease/grant.ts';

/** How a range is left. */
export type RangeEnding =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped'; readonly note: string }
  | { readonly kind: 'released'; readonly why: string }
  | LetGo;
