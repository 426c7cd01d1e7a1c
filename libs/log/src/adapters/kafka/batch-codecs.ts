/**
 * How the bytes of a batch are checked and unpacked. Checksums run native where they can: they go over every byte of the
 * log. The codecs that Node lacks are loaded at the first batch that needs one.
 */
import { createRequire } from 'node:module';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Bytes } from '../../ports.ts';
import type { BatchCodecs } from '../../record-batch.ts';

const require = createRequire(import.meta.url);

type Wasm = typeof import('@platformatic/wasm-utils');
let wasm: Wasm | undefined;

function loadWasm(): Wasm {
  wasm ??= require('@platformatic/wasm-utils') as Wasm;
  return wasm;
}

function loadChecksum(): (bytes: Bytes) => number {
  try {
    return (require('@node-rs/crc32') as typeof import('@node-rs/crc32')).crc32c;
  } catch {
    // No build of it for this platform.
    return loadWasm().crc32c;
  }
}

/** The numbers that the attributes of a batch hold. */
const Codec = { gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

export const batchCodecs: BatchCodecs = {
  checksum: loadChecksum(),
  decompress: (codec, bytes) => {
    switch (codec) {
      case Codec.gzip:
        return gunzipSync(bytes);
      case Codec.snappy:
        return unpackSnappy(bytes);
      case Codec.lz4:
        return loadWasm().lz4Decompress(bytes);
      case Codec.zstd:
        return zstdDecompressSync(bytes);
      default:
        return undefined;
    }
  },
};

/** The frame that the Java client's library puts around snappy blocks: magic, two versions, then length and block in turns. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEAD_BYTES = 16;
const XERIAL_LENGTH_BYTES = 4;

function unpackSnappy(bytes: Bytes): Bytes {
  const { snappyDecompress } = loadWasm();
  if (!bytes.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappyDecompress(bytes);
  const blocks: Bytes[] = [];
  for (let position = XERIAL_HEAD_BYTES; position < bytes.length; ) {
    const begin = position + XERIAL_LENGTH_BYTES;
    const end = begin + bytes.readUInt32BE(position);
    if (end > bytes.length) throw new RangeError('a snappy block is longer than its batch');
    blocks.push(snappyDecompress(bytes.subarray(begin, end)));
    position = end;
  }
  return Buffer.concat(blocks);
}
