import { describe, expect, it } from 'vitest';
import { readArguments } from './arguments.ts';

const RELAYS = ['debezium', 'debezium-poll10'];
const USUAL = ['plain', 'plain-raw', 'springbatch', 'flink'];

describe('the command line', () => {
  it.each([
    ['traverse', { work: 'traverse', peers: [] }],
    ['traverse --peers', { work: 'traverse', peers: USUAL }],
    ['traverse --peers --peers-dir d', { work: 'traverse', peers: USUAL, peersDir: 'd' }],
    ['traverse --peers plain,flink', { work: 'traverse', peers: ['plain', 'flink'] }],
    ['traverse --sizes', { work: 'sizes' }],
    ['blocking --peers', { work: 'blocking', peers: ['blocking-parallel'] }],
    ['relay --rows 5', { work: 'relay', rows: 5, peers: [] }],
    ['relay --peers --peers-dir d', { work: 'relay', rows: 200_000, peers: RELAYS, peersDir: 'd' }],
    ['bloat', { work: 'bloat', rowsPerDay: 1_000_000, days: 3, valueBytes: 256 }],
    [
      'bloat --days 4 --rows 10 --bytes 64 --storage a=1',
      { work: 'bloat', rowsPerDay: 10, days: 4, valueBytes: 64, storage: 'a=1' },
    ],
  ])('%s', (line, expected) => {
    expect(readArguments(line.split(' '))).toEqual(expected);
  });

  it.each([
    ['', 'unknown work ""'],
    ['traverse --peers spring', 'unknown peers spring'],
    ['traverse --peers debezium', 'unknown peers debezium'],
    ['relay --peers plain', 'unknown peers plain'],
    ['relay --rows 1.5', '--rows must be a whole number from 1'],
    ['relay --columns 1', '--columns'],
    ['bloat --days 2', '--days must be a whole number from 3'],
  ])('refuses "%s"', (line, reason) => {
    expect(() => readArguments(line.split(' ').filter((word) => word !== ''))).toThrow(reason);
  });
});
