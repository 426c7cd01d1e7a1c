import { expect, it } from 'vitest';
import { faultOf } from './faults.ts';

function reply(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

it.each([
  [reply("READONLY You can't write against a read only replica."), 'passing'],
  [reply('LOADING Redis is loading the dataset in memory'), 'passing'],
  [reply("OOM command not allowed when used memory > 'maxmemory'."), 'passing'],
  [reply('CLUSTERDOWN The cluster is down'), 'passing'],
  [reply('BUSY Redis is busy running a script.'), 'passing'],
  [reply('NOSCRIPT No matching script.'), 'scriptUnknown'],
  [reply("CROSSSLOT Keys in request don't hash to the same slot"), 'lasting'],
  [reply('WRONGPASS invalid username-password pair'), 'denied'],
  [reply('NOAUTH Authentication required.'), 'denied'],
  [reply('ERR user_script:12: attempt to compare nil with number'), 'lasting'],
  [new Error('Connection is closed.'), 'passing'],
  [new Error("Stream isn't writeable and enableOfflineQueue options is false"), 'passing'],
  ['thrown text', 'lasting'],
])('%s is %s', (error, kind) => {
  expect(faultOf(error)).toBe(kind);
});
