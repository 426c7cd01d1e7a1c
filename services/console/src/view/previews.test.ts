import { visibleText } from '@tidemark/control';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutText, previewOf } from './previews.ts';

it('null, nothing, text and bytes are different things, each with its true size', () => {
  expect(previewOf(null, 10)).toMatchObject({ kind: 'none', bytes: 0 });
  expect(previewOf(Buffer.alloc(0), 10)).toMatchObject({ kind: 'text', text: '', bytes: 0, isCut: false });
  expect(previewOf(Buffer.from('null'), 10)).toMatchObject({ kind: 'text', text: 'null', bytes: 4 });
  expect(previewOf(Buffer.from([0, 255]), 10)).toMatchObject({ kind: 'binary', text: 'AP8=', bytes: 2 });
});

it('L4: what nobody sees, or turns the direction of a text, is written out; lines and tabs stay', () => {
  const text = 'a\u202eb\u200bc\n\t\u{e0041}';
  expect(previewOf(Buffer.from(text), 100)).toMatchObject({
    text: 'a\\u202eb\\u200bc\n\t\\udb40\\udc41',
    isEscaped: true,
  });
  expect(visibleText('plain <b> ä 🌊')).toBe('plain <b> ä 🌊');
});

it('L5: a text of any size is still a text when only its beginning is shown', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 60 }),
      (text, max) => {
        const bytes = Buffer.from(text);
        const shown = previewOf(bytes, max);
        fc.pre(visibleText(text) === text && !shown.isEscaped);
        expect(shown.bytes).toBe(bytes.length);
        expect(shown.text.length).toBeLessThanOrEqual(max);
        if (shown.kind === 'binary') return; // control characters are no text for people
        expect(text.startsWith(shown.text)).toBe(true);
        expect(shown.isCut).toBe(shown.text !== text);
        expect(shown.text.isWellFormed()).toBe(true);
      },
    ),
  );
  const [half, whole] = [
    previewOf(Buffer.from('🌊'.repeat(1_000)), 9),
    previewOf(Buffer.from('ä'.repeat(100_000)), 1_000),
  ];
  expect(half).toMatchObject({ kind: 'text', text: '🌊'.repeat(4), isCut: true });
  expect(whole).toMatchObject({ kind: 'text', text: 'ä'.repeat(1_000), bytes: 200_000, isCut: true });
  // Forty bytes end within the fourteenth character.
  expect(previewOf(Buffer.from('€'.repeat(1_000)), 10)).toMatchObject({ kind: 'text', text: '€'.repeat(10) });
  expect(cutText('a🌊', 2)).toBe('a');
});
