import { expect, it } from 'vitest';
import { describeServer, serverAddress } from './server-address.ts';

it.each([
  ['postgres://u:geheim@db/shop', { host: 'db', port: 5432 }, 'db:5432'],
  ['rediss://:geheim@cache', { host: 'cache', port: 6379 }, 'cache:6379'],
  ['http://registry/apis', { host: 'registry', port: 80 }, 'registry:80'],
  ['https://[::1]:8443/', { host: '::1', port: 8443 }, '[::1]:8443'],
  ['kafka', { host: 'kafka', port: 9092 }, 'kafka:9092'],
  ['[::1]:19092', { host: '::1', port: 19_092 }, '[::1]:19092'],
])('%s', (text, address, words) => {
  expect([serverAddress(text), describeServer(text)]).toEqual([address, words]);
});

it('refuses what is no address', () => {
  expect(() => serverAddress('a b')).toThrow(TypeError);
});
