/** Words that several schemas are made of. */
import { z } from '@tidemark/observability';
import { REASON_CHARACTERS_MAX } from '../limits.ts';

export const digits = z
  .string()
  .regex(/^-?\d+$/)
  .describe('A whole number of 64 bits as text: JSON readers round numbers.');
export const instant = z.iso.datetime().describe('UTC');
/** Why a part is not known now; null when it is. */
export const unknown = z.string().nullable().describe('Why this part is not known now; null when it is.');

/** Of every order. */
export const reason = z.string().trim().min(1).max(REASON_CHARACTERS_MAX).describe('Why, for the audit trail.');
