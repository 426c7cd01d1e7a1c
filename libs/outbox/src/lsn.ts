/** Places in the write-ahead log, as Postgres prints them: two hexadecimal halves, `16/B374D848`. */

/** A text that `lsnValue` understands. */
export type Lsn = string;

/** Throws a RangeError for anything else. The halves are 32 bits each, so texts do not sort like the numbers. */
export function lsnValue(lsn: Lsn): bigint {
  const match = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(lsn);
  if (match === null) throw new RangeError(`not a WAL location: ${JSON.stringify(lsn)}`);
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`);
}
