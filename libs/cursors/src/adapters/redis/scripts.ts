/** The Lua scripts as the store gets them: flags, preludes and the operation's own file, joined once when the module loads. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

const TEXT = 'prelude-text';
const RANGE = 'prelude-range';
const PARKED = 'prelude-parked';

/**
 * The first line makes Redis refuse a script as a whole (READONLY, OOM) before its first command, never halfway through.
 * What removes data may run when the memory is full, what only looks may run then, too.
 */
const Flags = {
  writes: '#!lua',
  removes: '#!lua flags=allow-oom',
  looks: '#!lua flags=no-writes',
} as const;
type Flags = (typeof Flags)[keyof typeof Flags];

export const scripts = {
  lease: script('lease', Flags.writes, [TEXT, RANGE]),
  renew: script('renew', Flags.writes, [TEXT, RANGE]),
  claim: script('claim', Flags.writes, [TEXT, RANGE]),
  advance: script('advance', Flags.writes, [TEXT, RANGE]),
  settle: script('settle', Flags.writes, [TEXT, RANGE]),
  parked: script('parked', Flags.looks, [TEXT, PARKED]),
  release: script('release', Flags.writes, [TEXT, RANGE]),
  stop: script('stop', Flags.writes, [TEXT, RANGE]),
  candidates: script('candidates', Flags.looks, [TEXT]),
  installBegin: script('install-begin', Flags.writes, [TEXT]),
  installPut: script('install-put', Flags.writes, [TEXT]),
  installFinish: script('install-finish', Flags.writes, [TEXT]),
  drop: script('drop', Flags.removes, []),
  forget: script('forget', Flags.removes, [TEXT]),
  split: script('split', Flags.writes, [TEXT, RANGE]),
  setMode: script('set-mode', Flags.removes, []),
  snapshot: script('snapshot', Flags.looks, [TEXT, PARKED]),
  scheduleEnlist: script('schedule-enlist', Flags.writes, []),
  scheduleWithdraw: script('schedule-withdraw', Flags.removes, []),
  schedulePropose: script('schedule-propose', Flags.writes, []),
  schedulePermit: script('schedule-permit', Flags.writes, [TEXT]),
  scheduleReturnPermit: script('schedule-return-permit', Flags.removes, []),
  scheduleBookRate: script('schedule-book-rate', Flags.writes, [TEXT]),
  scheduleNoteWaiting: script('schedule-note-waiting', Flags.writes, [TEXT]),
  scheduleWaiting: script('schedule-waiting', Flags.removes, [TEXT]),
  scheduleHurry: script('schedule-hurry', Flags.writes, [TEXT]),
  scheduleHurried: script('schedule-hurried', Flags.removes, [TEXT]),
  scheduleAnnounce: script('schedule-announce', Flags.writes, [TEXT]),
  scheduleWorkers: script('schedule-workers', Flags.removes, [TEXT]),
  leadershipLead: script('leadership-lead', Flags.writes, [TEXT]),
  leadershipResign: script('leadership-resign', Flags.removes, []),
  floorReserve: script('floor-reserve', Flags.writes, [TEXT]),
  floorConfirm: script('floor-confirm', Flags.writes, [TEXT]),
  floorRaise: script('floor-raise', Flags.writes, [TEXT]),
  floorDrop: script('floor-drop', Flags.removes, [TEXT]),
  floorPropose: script('floor-propose', Flags.writes, [TEXT]),
  floorHoldsMark: script('floor-holds-mark', Flags.looks, [TEXT]),
  floorWithhold: script('floor-withhold', Flags.writes, [TEXT]),
  floorInstall: script('floor-install', Flags.writes, [TEXT]),
  floorLook: script('floor-look', Flags.looks, [TEXT]),
} as const;

function script(name: string, flags: Flags, preludes: readonly string[]): Script {
  const source = [flags, ...[...preludes, name].map(readLua)].join('\n');
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

function readLua(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}
