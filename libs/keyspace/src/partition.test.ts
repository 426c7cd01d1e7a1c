import { describe, expect, it } from 'vitest';
import { JAVA_PARTITIONS } from './java-partitions-vectors.ts';
import { murmur2, partitionOfKey } from './partition.ts';

describe('the partition of a key', () => {
  it.each(JAVA_PARTITIONS)('of %s is what the Java client says', (keyHex, hash, of12, of100) => {
    const key = Buffer.from(keyHex, 'hex');
    expect([murmur2(key), partitionOfKey(key, 12), partitionOfKey(key, 100)]).toEqual([hash, of12, of100]);
  });
});
