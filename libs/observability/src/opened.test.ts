import { expect, it } from 'vitest';
import { createOpened } from './opened.ts';

it('closes what was kept, the youngest first, also when one of them cannot be closed', async () => {
  const opened = createOpened();
  const closed: string[] = [];
  const part = (name: string, fault?: Error) => ({
    async close() {
      closed.push(name);
      if (fault !== undefined) throw fault;
    },
  });
  const first = part('first');
  expect(opened.keep(first)).toBe(first);
  opened.keep(part('second', new Error('broken pipe')));
  opened.keep(part('third'));
  await opened.closeAll();
  expect(closed).toEqual(['third', 'second', 'first']);
});
