/**
 * Instants, dates and times of day from ISO text as Postgres prints it in JSON: six fraction digits, offsets with
 * minutes or seconds, years beyond 9999, ` BC` behind. Exact, in bigint, never through Date (which ends at milliseconds).
 */

export type TimeUnit = 'millis' | 'micros' | 'nanos';

const FRACTION_DIGITS: Readonly<Record<TimeUnit, number>> = { millis: 3, micros: 6, nanos: 9 };

const DATE = String.raw`(?<year>\d{4,6})-(?<month>\d\d)-(?<day>\d\d)`;
const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?)?`;
const ZONE = String.raw`(?<zone>[Zz]|(?<zoneSign>[+-])(?<zoneHours>\d\d)(?::?(?<zoneMinutes>\d\d)(?::?(?<zoneSeconds>\d\d))?)?)`;
const BC = '(?<bc> BC)?';

const DATE_TEXT = new RegExp(`^${DATE}${BC}$`);
const TIME_TEXT = new RegExp(`^${TIME}$`);
const INSTANT_TEXT = new RegExp(`^${DATE}[T ]${TIME}${ZONE}${BC}$`);
const LOCAL_TEXT = new RegExp(`^${DATE}[T ]${TIME}${BC}$`);

type Groups = Readonly<Record<string, string | undefined>>;

/** Since 1970-01-01T00:00Z. Digits below the unit are cut off. Undefined for text without a zone: that is no instant. */
export function instantOf(text: string, unit: TimeUnit): bigint | undefined {
  const groups = INSTANT_TEXT.exec(text)?.groups;
  const days = groups && daysOf(groups);
  const seconds = groups && secondsOfDay(groups);
  if (groups === undefined || days === undefined || seconds === undefined) return undefined;
  return inUnit(days * 86_400 + seconds - zoneSeconds(groups), groups, unit);
}

/** Since 1970-01-01T00:00 on a clock without a zone. */
export function localTimeOf(text: string, unit: TimeUnit): bigint | undefined {
  const groups = LOCAL_TEXT.exec(text)?.groups;
  const days = groups && daysOf(groups);
  const seconds = groups && secondsOfDay(groups);
  if (groups === undefined || days === undefined || seconds === undefined) return undefined;
  return inUnit(days * 86_400 + seconds, groups, unit);
}

/** Days since 1970-01-01. */
export function dateOf(text: string): number | undefined {
  const groups = DATE_TEXT.exec(text)?.groups;
  return groups && daysOf(groups);
}

/** Since midnight. */
export function timeOfDayOf(text: string, unit: TimeUnit): bigint | undefined {
  const groups = TIME_TEXT.exec(text)?.groups;
  const seconds = groups && secondsOfDay(groups);
  return groups === undefined || seconds === undefined ? undefined : inUnit(seconds, groups, unit);
}

function inUnit(wholeSeconds: number, groups: Groups, unit: TimeUnit): bigint {
  const digits = FRACTION_DIGITS[unit];
  const fraction = (groups['fraction'] ?? '').padEnd(digits, '0').slice(0, digits);
  return BigInt(wholeSeconds) * 10n ** BigInt(digits) + BigInt(fraction);
}

function daysOf(groups: Groups): number | undefined {
  const written = Number(groups['year']);
  // There is no year 0: 1 BC is the year before 1.
  const year = groups['bc'] === undefined ? written : 1 - written;
  const month = Number(groups['month']);
  const day = Number(groups['day']);
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  return daysFromCivil(year, month, day);
}

function daysInMonth(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2) return leap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Proleptic Gregorian days, counted in eras of 400 years that begin in March (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function secondsOfDay(groups: Groups): number | undefined {
  const hour = Number(groups['hour']);
  const minute = Number(groups['minute']);
  const second = Number(groups['second'] ?? 0);
  return hour > 23 || minute > 59 || second > 59 ? undefined : hour * 3_600 + minute * 60 + second;
}

function zoneSeconds(groups: Groups): number {
  if (groups['zoneSign'] === undefined) return 0;
  const size =
    Number(groups['zoneHours']) * 3_600 + Number(groups['zoneMinutes'] ?? 0) * 60 + Number(groups['zoneSeconds'] ?? 0);
  return groups['zoneSign'] === '-' ? -size : size;
}
