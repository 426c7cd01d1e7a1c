import { ErrorClass, type ErrorContext, TidemarkError } from '@tidemark/keyspace';

/** Codes of the errors this room throws, each with its class. */
const CLASS_OF_CODE = {
  /** The bytes do not begin with the magic byte and a schema id. */
  NOT_FRAMED: ErrorClass.data,
  /** The registry does not know the schema id. */
  UNKNOWN_SCHEMA_ID: ErrorClass.data,
  /** The body does not fit the schema it names, or that schema is not Avro. */
  NOT_DECODABLE: ErrorClass.data,
  /** The value does not fit the schema it should be written with. */
  NOT_ENCODABLE: ErrorClass.data,
  /** A record of another schema stands where one of ours was expected. */
  WRONG_RECORD: ErrorClass.data,
  /** One of our records in a format that a newer program wrote. */
  NEWER_FORMAT: ErrorClass.config,
  /** The registry refuses a schema because records written with the older ones could no longer be read, or the reverse. */
  INCOMPATIBLE_SCHEMA: ErrorClass.config,
  /** The text is no Avro schema, or the registry takes it for none. */
  INVALID_SCHEMA: ErrorClass.config,
  /** The registry refuses our credentials. */
  REGISTRY_REFUSED: ErrorClass.config,
  REGISTRY_UNAVAILABLE: ErrorClass.unavailable,
} as const;
type ContractsCode = keyof typeof CLASS_OF_CODE;

export function contractsError(
  code: ContractsCode,
  message: string,
  context: ErrorContext = {},
  cause?: unknown,
): TidemarkError {
  return new TidemarkError({ code, class: CLASS_OF_CODE[code], message, context, cause });
}
