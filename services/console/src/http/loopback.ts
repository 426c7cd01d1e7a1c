/** What counts as this machine talking to itself. */

/** An address or name to bind to. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The Host header of a browser that was led here by its own user. A name that somebody else's DNS points at 127.0.0.1
 * carries that name, and a page of theirs must not read ours (DNS rebinding).
 */
export function isLoopbackHostHeader(header: string | undefined): boolean {
  if (header === undefined) return false;
  const host = /^\[(.+)\](?::\d+)?$/.exec(header)?.[1] ?? header.replace(/:\d+$/, '');
  return isLoopbackHost(host.toLowerCase());
}
