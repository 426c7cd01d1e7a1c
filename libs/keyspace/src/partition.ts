/** The partition of a key, as the Java client computes it (KafkaProducer, `BuiltInPartitioner.partitionForKey`). */

const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;

/** MurmurHash2 (Austin Appleby, public domain), 32 bits, with the seed that Kafka uses. Returns an int32. */
export function murmur2(data: Uint8Array): number {
  const length = data.length;
  let hash = (SEED ^ length) | 0;
  const wholeWords = length & ~3;
  for (let i = 0; i < wholeWords; i += 4) {
    let word =
      byteAt(data, i) | (byteAt(data, i + 1) << 8) | (byteAt(data, i + 2) << 16) | (byteAt(data, i + 3) << 24) | 0;
    word = Math.imul(word, MULTIPLIER);
    word ^= word >>> 24;
    word = Math.imul(word, MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  for (let i = length - 1; i >= wholeWords; i--) hash ^= byteAt(data, i) << ((i - wholeWords) * 8);
  if (length > wholeWords) hash = Math.imul(hash, MULTIPLIER);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, MULTIPLIER);
  return (hash ^ (hash >>> 15)) | 0;
}

function byteAt(data: Uint8Array, index: number): number {
  return data[index] ?? 0;
}

export function partitionOfKey(key: Uint8Array, partitionCount: number): number {
  return (murmur2(key) & 0x7fffffff) % partitionCount;
}
