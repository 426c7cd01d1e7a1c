import { expect, it } from 'vitest';
import { requestInFormat, seriesInFormat, seriesOrderInFormat, stateInFormat } from './formats.ts';
import { sampleDefinition, sampleRequest, sampleSeries, sampleState } from './testing/index.ts';

const held = sampleRequest({ holdForAuditMs: 1_000n });
const bounded = sampleRequest({ to: '2026-01-01T00:00:00Z', disorderMs: 0n });

it('what an older program would drop is in a format that it refuses; all else it reads', () => {
  expect([sampleRequest(), held, bounded].map((request) => requestInFormat(request).formatVersion)).toEqual([1, 2, 2]);
  expect(requestInFormat({ ...held, formatVersion: 3 }).formatVersion).toBe(3);
  const states = [
    sampleState(),
    sampleState({ request: held, heldForAuditUntilMs: -1n }),
    // Its hold was released; that it asked for one is what it is known by.
    sampleState({ request: held }),
    sampleState({ request: held, state: 'COMPLETED', heldForAuditUntilMs: 5n }),
    sampleState({ request: held, state: 'COMPLETED' }),
    sampleState({ request: bounded }),
  ];
  expect(states.map((state) => stateInFormat(state).formatVersion)).toEqual([1, 2, 2, 2, 1, 2]);
});

it('series are, too, as long as they can have a run', () => {
  const definition = { ...sampleDefinition(), request: held };
  const series = [sampleSeries(), sampleSeries({ definition }), sampleSeries({ definition, status: 'DELETED' })];
  expect(series.map((state) => seriesInFormat(state).formatVersion)).toEqual([1, 2, 1]);
  const order = { formatVersion: 1, orderId: 'o', series: 's', order: 'create', definition, reason: '', actor: 'a' };
  const orders = [order, { ...order, definition: sampleDefinition() }, { ...order, definition: null }];
  expect(orders.map((each) => seriesOrderInFormat(each).formatVersion)).toEqual([2, 1, 1]);
});
