import { describe, expect, it } from 'vitest';
import { isLoopbackHost, isLoopbackHostHeader } from './loopback.ts';

describe('loopback', () => {
  it.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost'])('%s may be bound', (host) =>
    expect(isLoopbackHost(host)).toBe(true),
  );
  it.each(['0.0.0.0', '::', '10.0.0.1', '192.168.0.7', 'example.com', '127.0.0.1.example.com', ''])(
    '%s may not',
    (host) => expect(isLoopbackHost(host)).toBe(false),
  );
  it.each(['127.0.0.1:19099', 'localhost:8080', 'LOCALHOST', '[::1]:19099'])(
    'a browser led to %s is answered',
    (header) => expect(isLoopbackHostHeader(header)).toBe(true),
  );
  it.each([undefined, '', 'rebound.example:19099', '[2001:db8::1]:19099', 'localhost.example'])(
    'one led to %s is not',
    (header) => expect(isLoopbackHostHeader(header)).toBe(false),
  );
});
