const HIDDEN = '***';

/** Words in a setting's name that make its whole value a secret. */
const SECRET_NAME = /PASSWORD|SECRET|TOKEN|CREDENTIAL|PRIVATE_KEY|API_KEY/;

/** Query parameters of connection URLs that carry secrets. */
const SECRET_PARAMETER = /pass|secret|token|key/i;

/** The user's name stays, because it helps to find a wrong login; the password does not. Anything but a URL is returned as it is. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  const secretParameters = [...url.searchParams.keys()].filter((name) => SECRET_PARAMETER.test(name));
  if (url.password === '' && secretParameters.length === 0) return text;
  if (url.password !== '') url.password = HIDDEN;
  for (const name of secretParameters) url.searchParams.set(name, HIDDEN);
  return url.toString();
}

/** A configuration as it may be logged. */
export function redactSettings(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, redactSetting(name, value)]));
}

function redactSetting(name: string, value: unknown): unknown {
  if (SECRET_NAME.test(name)) return HIDDEN;
  if (typeof value === 'string') return redactUrl(value);
  if (Array.isArray(value)) return value.map((item) => redactSetting(name, item));
  return value;
}
