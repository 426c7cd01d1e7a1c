/** Whether a host takes connections: one that does not says nothing about the record that was to be sent to it. */
import { connect } from 'node:net';

/** False when the host refuses, cannot be found, or has not answered within `patienceMs`. Sends nothing. */
export function canConnect({ hostname, port, protocol }: URL, patienceMs: number): Promise<boolean> {
  const byDefault = protocol === 'https:' ? 443 : 80;
  // Addresses of version 6 stand in brackets in a URL, and nowhere else.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: port === '' ? byDefault : Number(port), timeout: patienceMs });
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
