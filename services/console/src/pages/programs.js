// @ts-check
/** Who works: the relay and the workers. */
import { h } from './dom.js';
import { amount, count, duration, UNKNOWN } from './format.js';
import { badge, commandLine, empty, factList, heading, notice, section, table, time, unknownNotice } from './parts.js';

/** @typedef {import('../view/schemas.ts').Relay} Relay @typedef {import('../view/schemas.ts').Workers} Workers */

/** @param {Relay} relay @param {number} nowMs */
export function relayPage(relay, nowMs) {
  const topics = Object.entries(relay.partitionCounts);
  return [
    heading(
      'Relay',
      h('p', { class: 'lead' }, 'Carries committed outbox rows into their topics, each once and in order.'),
    ),
    unknownNotice(relay.unknown),
    relay.hint !== '' && notice('warn', relay.hint),
    h(
      'div',
      { class: 'card summary', key: 'summary' },
      h(
        'div',
        { class: 'card-numbers' },
        h(
          'span',
          { class: 'huge' },
          relay.backlogRows === null ? UNKNOWN : `${relay.backlogIsAtLeast ? 'over ' : ''}${count(relay.backlogRows)}`,
        ),
        h('span', {}, 'rows wait'),
        badge(relay.state),
        h('span', { class: 'quiet' }, `oldest ${duration(relay.lagSeconds)}`),
      ),
    ),
    section(
      'Position',
      factList([
        ['Relay', h('span', { class: 'mono' }, relay.relay)],
        ['Published by', relay.publisher === null ? UNKNOWN : h('span', { class: 'mono' }, relay.publisher)],
        [
          'Newest position',
          relay.publishedAt === null ? UNKNOWN : [time(relay.publishedAt), ' (', time(relay.publishedAt, nowMs), ')'],
        ],
        ['Snapshot', h('span', { class: 'mono wrap' }, relay.snapshot ?? UNKNOWN)],
        [
          'Topics',
          topics.length === 0
            ? UNKNOWN
            : topics.map(([topic, partitions]) => `${topic} (${amount(partitions, 'partition')})`).join(', '),
        ],
      ]),
    ),
    relay.parked.length > 0 &&
      section(
        'Parked keys',
        table(
          'Keys of which nothing is sent, because their first row cannot be',
          [
            { title: 'Topic', of: (parked) => parked.topic },
            { title: 'Key', of: (parked) => h('span', { class: 'mono wrap' }, parked.key) },
            { title: 'Table', of: (parked) => parked.table || UNKNOWN },
            { title: 'Position', of: (parked) => parked.position, number: true },
            { title: 'Bytes', of: (parked) => count(parked.bytes), number: true },
            { title: 'Rows wait', of: (parked) => count(parked.rows), number: true },
            { title: 'Since', of: (parked) => time(parked.parkedAt, nowMs) },
            { title: 'Tried', of: (parked) => time(parked.triedAt, nowMs) },
            { title: 'Why', of: (parked) => parked.reason },
          ],
          relay.parked,
          (parked) => `${parked.topic} ${parked.key}`,
        ),
        relay.parkedOmitted > 0 && h('p', { class: 'quiet' }, `${count(relay.parkedOmitted)} more are not shown.`),
      ),
    section(
      'Held back by',
      relay.blockers.length === 0
        ? h('p', { class: 'quiet' }, 'No open transaction holds rows back.')
        : table(
            'Transactions that hold rows back',
            [
              { title: 'Who', of: (blocker) => blocker.name },
              { title: 'Application', of: (blocker) => blocker.application || UNKNOWN },
              { title: 'User', of: (blocker) => blocker.user },
              { title: 'State', of: (blocker) => blocker.state || UNKNOWN },
              { title: 'Open for', of: (blocker) => duration(blocker.openSeconds), number: true },
            ],
            relay.blockers,
            (blocker) => blocker.name,
          ),
    ),
    commandLine('npx tidemark relay status'),
  ];
}

/** @param {Workers} workers */
export function workersPage(workers) {
  return [
    heading(
      'Workers',
      h(
        'p',
        { class: 'lead' },
        'Each announces itself every few seconds; one that stopped doing so is silent, and forgotten after ten minutes.',
      ),
    ),
    unknownNotice(workers.unknown),
    workers.workers.length === 0 && workers.unknown === null
      ? empty('Nobody works here.', 'npx tidemark worker --handlers FILE.ts')
      : workers.workers.length > 0 &&
        table(
          'Workers',
          [
            { title: 'Worker', of: (worker) => h('span', { class: 'mono' }, worker.workerId) },
            { title: 'State', of: (worker) => badge(worker.state) },
            { title: 'Ranges', of: (worker) => count(worker.ranges), number: true },
            { title: 'Seen', of: (worker) => `${duration(worker.seenSecondsAgo)} ago`, number: true },
            { title: 'Host', of: (worker) => worker.host },
            { title: 'Process', of: (worker) => String(worker.pid), number: true },
            {
              title: 'Handlers',
              of: (worker) =>
                worker.handlers
                  .map(({ name, idempotent }) => (idempotent ? name : `${name} (not idempotent)`))
                  .join(', ') || UNKNOWN,
              class: 'breaks long',
            },
          ],
          workers.workers,
          (worker) => worker.workerId,
        ),
    commandLine('npx tidemark status', 'npx tidemark worker --handlers FILE.ts'),
  ];
}
