/** Logical types from JSON: text in the form of Postgres, or the plain number below the logical type. */
import type { Type } from 'avsc';
import avro from 'avsc';
import { isInt64, type LogicalAttributes, logicalAttributesOf } from './avro-type.ts';
import { isNumberText, type JsonNode, misfit } from './json-node.ts';
import { bytesOfUnscaled, fixedBytesOfUnscaled, unscaledOf } from './number-text.ts';
import type { AvroValue } from './ports.ts';
import { dateOf, instantOf, localTimeOf, type TimeUnit, timeOfDayOf } from './time-text.ts';

/** Undefined when the type has no logical type that is known here, or the value is a plain one for the type below. */
export function convertLogical(type: Type, node: JsonNode): AvroValue | undefined {
  const attributes = logicalAttributesOf(type);
  if (attributes === undefined) return undefined;
  if (attributes.logicalType === 'decimal') return convertDecimal(type, attributes, node);
  return typeof node === 'string' ? convertTimeText(attributes.logicalType, node) : undefined;
}

function convertTimeText(logicalType: string, text: string): AvroValue | undefined {
  if (logicalType === 'date') return dateOf(text) ?? misfit('a date like 2024-02-29', text);
  const [, kind, unit] = /^(timestamp|local-timestamp|time)-(millis|micros|nanos)$/.exec(logicalType) ?? [];
  if (!isUnit(unit)) return undefined;
  if (kind === 'timestamp') {
    const expected = 'an ISO instant with a zone (for a timestamp without time zone use local-timestamp)';
    return within64(instantOf(text, unit)) ?? misfit(expected, text);
  }
  if (kind === 'local-timestamp') {
    return within64(localTimeOf(text, unit)) ?? misfit('an ISO date and time without a zone', text);
  }
  const time = timeOfDayOf(text, unit) ?? misfit('a time of day like 23:59:59.5', text);
  // Avro keeps milliseconds of a day in an int and everything finer in a long.
  return unit === 'millis' ? Number(time) : time;
}

function isUnit(unit: string | undefined): unit is TimeUnit {
  return unit === 'millis' || unit === 'micros' || unit === 'nanos';
}

function within64(value: bigint | undefined): bigint | undefined {
  return isInt64(value) ? value : undefined;
}

/** Exact or refused: a digit more than the scale holds would be rounded away. */
function convertDecimal(type: Type, attributes: LogicalAttributes, node: JsonNode): AvroValue {
  const { precision, scale } = attributes;
  const expected = `a decimal of ${precision === undefined ? '' : `${precision} digits and `}${scale} of them after the point`;
  const text = isNumberText(node) ? node.value : typeof node === 'string' ? node : '';
  const unscaled = unscaledOf(text, scale);
  if (unscaled === undefined) return misfit(expected, node);
  if (precision !== undefined && unscaled.toString().replace('-', '').length > precision) return misfit(expected, node);
  if (!(type instanceof avro.types.FixedType)) return bytesOfUnscaled(unscaled);
  return fixedBytesOfUnscaled(unscaled, type.size) ?? misfit(`${expected} in ${type.size} bytes`, node);
}
