// @ts-check
/** Dead letters: topics that have some, and of one topic what went wrong, counted while somebody looks. */
import { actionBar } from './act.js';
import { h } from './dom.js';
import { amount, count, percent, portion, shellWord, UNKNOWN } from './format.js';
import { leaveSearch, searchFault, searchIn, searchView } from './letter-search.js';
import { letterPath } from './letter-words.js';
import {
  badge,
  commandLine,
  empty,
  heading,
  jobLink,
  link,
  notice,
  section,
  table,
  time,
  unknownNotice,
} from './parts.js';
import { leavePlan, redriveAction } from './redrive.js';

/** @typedef {import('../view/letter-schemas.ts').LetterTopics} LetterTopics @typedef {import('../view/letter-schemas.ts').LetterGroups} LetterGroups */

/** When the reader goes elsewhere: what nobody waits for is not searched. */
export function leaveLetters() {
  leaveSearch();
  leavePlan();
}

/** @param {LetterTopics} list */
export function deadLettersPage(list) {
  return [
    heading(
      'Dead letters',
      h('p', { class: 'lead' }, 'Records that jobs gave up on. They wait until somebody hands them over again.'),
    ),
    unknownNotice(list.unknown),
    list.topics.length === 0 && list.unknown === null
      ? empty('No topic that jobs know has dead letters.', 'npx tidemark deadletter list TOPIC')
      : list.topics.length > 0 &&
        table(
          'Topics with dead letters',
          [
            { title: 'Topic', of: (row) => link(letterPath(row.topic), row.topic, { class: 'mono' }), class: 'breaks' },
            { title: 'Letters lie in', of: (row) => h('span', { class: 'mono' }, row.letterTopic), class: 'breaks' },
            { title: 'Partitions', of: (row) => count(row.partitions), number: true },
            { title: 'Letters, at most', of: (row) => count(row.offsets), number: true, class: 'strong' },
          ],
          list.topics,
          (row) => row.topic,
        ),
    list.omitted > 0 &&
      h('p', { class: 'quiet' }, `${count(list.omitted)} more topics, of older jobs, are not looked at.`),
    section('Another topic', topicForm()),
    commandLine('npx tidemark deadletter list TOPIC'),
  ];
}

function topicForm() {
  return h(
    'form',
    {
      class: 'search',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const { value } = /** @type {HTMLInputElement} */ (document.getElementById('field-topic'));
        if (value.trim() !== '') location.assign(letterPath(value.trim()));
      },
    },
    h('label', { for: 'field-topic', class: 'field-label' }, 'Name of the topic whose records they are'),
    h(
      'div',
      { class: 'action-buttons' },
      h('input', { id: 'field-topic', name: 'topic', autocomplete: 'off', spellcheck: 'false', required: true }),
      h('button', { type: 'submit', class: 'button' }, 'Look'),
    ),
  );
}

/** @param {string} topic @param {LetterGroups | null | undefined} groups @param {number} nowMs */
export function letterTopicPage(topic, groups, nowMs) {
  searchIn(topic);
  if (groups === undefined) return [heading(topic, h('p', { class: 'quiet' }, 'Looking it up …'))];
  if (groups === null)
    return [
      heading(topic),
      h(
        'div',
        { class: 'empty' },
        h('p', {}, searchFault() ?? 'Nobody can say now whether this topic has dead letters.'),
        link('/dead-letters', 'All dead letters'),
      ),
      commandLine(`npx tidemark deadletter list ${shellWord(topic)}`),
    ];
  const isEmpty = groups.letterTopic === null || (groups.offsetsTotal === '0' && groups.groups.length === 0);
  return [
    heading(
      topic,
      h(
        'p',
        { class: 'lead' },
        groups.letterTopic === null
          ? 'It never had a dead letter.'
          : ['Its dead letters lie in ', h('span', { class: 'mono' }, groups.letterTopic), '.'],
      ),
    ),
    groups.cutShort.map(({ partition, reason }) =>
      h(
        'div',
        { key: `cut ${partition}` },
        notice('warn', `partition ${partition} cannot be read to its end now: ${reason}`),
      ),
    ),
    isEmpty
      ? empty('There are no dead letters.', `npx tidemark deadletter list ${shellWord(topic)}`)
      : [
          section('By what went wrong', groupProgress(groups), groupTable(groups, nowMs)),
          actionBar('Orders about the dead letters', [redriveAction(topic, groups)]),
          section('Letters', searchView(topic, groups, nowMs)),
        ],
    commandLine(
      `npx tidemark deadletter list ${shellWord(topic)}`,
      `npx tidemark deadletter redrive ${shellWord(topic)} --job JOB --dry-run`,
    ),
  ];
}

/** @param {LetterGroups} groups */
function groupProgress({ offsetsPassed, offsetsTotal }) {
  if (offsetsPassed === offsetsTotal) return false;
  const done = portion(BigInt(offsetsPassed), BigInt(offsetsTotal));
  return h(
    'div',
    { class: 'counting', key: 'counting' },
    h(
      'p',
      { class: 'quiet' },
      `Counting: ${count(offsetsPassed)} of ${count(offsetsTotal)} offsets looked at, ${percent(done)}.`,
    ),
    h(
      'div',
      { class: 'bar', role: 'img', 'aria-label': `Counted ${done} %` },
      h('span', { class: 'settled', style: { width: `${done}%` } }),
    ),
  );
}

/** @param {LetterGroups} groups @param {number} nowMs */
function groupTable({ topic, groups, groupsOmitted, others }, nowMs) {
  if (groups.length === 0) return h('p', { class: 'quiet' }, 'None found so far.');
  return [
    table(
      'Dead letters by what went wrong, the most first',
      [
        {
          title: 'What went wrong',
          of: (group) => h('span', { class: 'clamp', title: group.error }, group.error || UNKNOWN),
          class: 'breaks long',
        },
        { title: 'Class', of: (group) => badge(group.faultClass || 'unknown') },
        { title: 'Letters', of: (group) => count(group.letters), number: true, class: 'strong' },
        { title: 'Corrected', of: (group) => (group.edited === 0 ? '' : count(group.edited)), number: true },
        { title: 'Job', of: (group) => jobLink(group.jobId), class: 'breaks' },
        { title: 'First', of: (group) => time(group.firstAt, nowMs), number: true },
        { title: 'Last', of: (group) => time(group.lastAt, nowMs), number: true },
        {
          title: 'Newest',
          of: ({ newest }) =>
            link(`${letterPath(topic)}/${newest.partition}:${newest.offset}`, `${newest.partition}:${newest.offset}`, {
              class: 'mono',
            }),
        },
      ],
      groups,
      (group) => JSON.stringify([group.jobId, group.handler, group.faultClass, group.error]),
    ),
    groupsOmitted + others > 0 &&
      h(
        'p',
        { class: 'quiet' },
        [
          groupsOmitted > 0 ? `${amount(groupsOmitted, 'more kind')} of letters not listed.` : '',
          others > 0 ? `${amount(others, 'letter')} of yet other kinds.` : '',
        ]
          .filter((text) => text !== '')
          .join(' '),
      ),
  ];
}
