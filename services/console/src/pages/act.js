// @ts-check
/**
 * Something that an operator can do: a button that opens a form, which says what will happen, shows the same on the command
 * line, asks for a reason, and tells what became of it. The server decides who may; here it is only said beforehand.
 */
import { h } from './dom.js';
import { commandList, jobLink, notice } from './parts.js';
import { changed, order, session, signIn } from './session.js';

/**
 * @typedef {import('./dom.js').Content} Content
 * @typedef {Readonly<Record<string, string>>} Fields What was typed, by name.
 * @typedef {{
 *   readonly key: string,
 *   readonly label: string,
 *   readonly confirm: string,
 *   readonly isGrave?: boolean,
 *   readonly explain: Content,
 *   readonly fields?: (values: Fields) => Content,
 *   readonly command: (reason: string, values: Fields) => string,
 *   readonly path: string,
 *   readonly body: (reason: string, values: Fields) => object,
 *   readonly onDone?: () => void,
 * }} Action
 */

/** At most one form is open, of the page that is shown. */
const form = {
  key: '',
  /** @type {Record<string, string>} */
  values: {},
  isBusy: false,
  /** @type {{ readonly tone: 'good' | 'bad', readonly text: string, readonly jobId: string | null } | undefined} */
  answer: undefined,
};

/** When the reader goes elsewhere. */
export function closeForm() {
  form.key = '';
  form.values = {};
  form.answer = undefined;
}

/** @param {string} label @param {readonly Action[]} actions */
export function actionBar(label, actions) {
  const open = actions.find(({ key }) => key === form.key);
  return h(
    'div',
    { class: 'actions', key: `actions ${label}` },
    h(
      'div',
      { class: 'action-buttons', role: 'group', 'aria-label': label },
      actions.map((action) =>
        h(
          'button',
          {
            key: action.key,
            type: 'button',
            id: idOf(action),
            class: `button ${action.isGrave === true ? 'grave' : ''}`,
            'aria-expanded': action.key === form.key ? 'true' : 'false',
            onclick: () => toggle(action),
          },
          action.label,
        ),
      ),
    ),
    open === undefined ? form.key === '' && form.answer !== undefined && answerNotice() : actionForm(open),
  );
}

/** @param {Action} action */
function idOf({ key }) {
  return `act-${key.replaceAll(/[^A-Za-z0-9]+/g, '-')}`;
}

/** @param {Action} action */
function toggle(action) {
  const isOpen = form.key === action.key;
  closeForm();
  if (!isOpen) form.key = action.key;
  changed();
  if (!isOpen) /** @type {HTMLElement | null} */ (document.querySelector('.action-form [name]'))?.focus();
}

/** @param {Action} action */
function dismiss(action) {
  closeForm();
  changed();
  document.getElementById(idOf(action))?.focus();
}

/** The fields of an action never see the token, so that it gets into no address and no command. */
function typedHere() {
  const { reason = '', token = '', ...values } = form.values;
  return { reason, token, values };
}

/** @param {Action} action */
function actionForm(action) {
  const { who } = session;
  const isOperator = who?.role === 'operator';
  const { reason, values } = typedHere();
  return h(
    'form',
    {
      key: action.key,
      class: 'card action-form',
      'aria-label': action.label,
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void act(action);
      },
      onkeydown: (/** @type {Event} */ event) => {
        if (event instanceof KeyboardEvent && event.key === 'Escape') dismiss(action);
      },
    },
    h('div', { class: 'action-text' }, action.explain),
    action.fields?.(values),
    field({ name: 'reason', label: 'Reason, for the audit trail', isNeeded: true }),
    !isOperator &&
      who?.hasOperators === true &&
      field({ name: 'token', label: 'Token of an operator', type: 'password', isNeeded: true }),
    who?.hasOperators === false &&
      h(
        'p',
        { class: 'quiet' },
        'This console has no operators, so it only looks: the command below does it, and TIDEMARK_CONSOLE_OPERATOR_TOKENS names operators.',
      ),
    h('p', { class: 'field-label' }, 'The same on the command line'),
    commandList([action.command(reason === '' ? '…' : reason, values)]),
    h(
      'div',
      { class: 'action-buttons' },
      h(
        'button',
        {
          type: 'submit',
          class: `button main ${action.isGrave === true ? 'grave' : ''}`,
          disabled: form.isBusy || who?.hasOperators !== true,
        },
        form.isBusy ? 'Under way …' : action.confirm,
      ),
      h('button', { type: 'button', class: 'button', onclick: () => dismiss(action) }, 'Not now'),
    ),
    form.answer !== undefined && answerNotice(),
  );
}

/**
 * What is typed is kept here, so that news of every second change nothing of it.
 * @param {{ readonly name: string, readonly label: string, readonly type?: string, readonly isNeeded?: boolean, readonly hint?: string, readonly first?: string, readonly rows?: number }} options
 */
export function field({ name, label, type = 'text', isNeeded = false, hint, first, rows }) {
  const id = `field-${name}`;
  const attributes = {
    id,
    name,
    required: isNeeded,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: (/** @type {Event} */ event) => typed(event),
    ...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }),
  };
  return h(
    'div',
    { class: 'field', key: name },
    h('label', { for: id, class: 'field-label' }, label),
    rows === undefined
      ? h('input', { ...attributes, type, value: first })
      : h('textarea', { ...attributes, rows, class: 'mono' }, first ?? ''),
    hint !== undefined && h('p', { class: 'quiet small', id: `${id}-hint` }, hint),
  );
}

/** @param {{ readonly name: string, readonly label: string, readonly options: readonly (readonly [value: string, word: string])[], readonly chosen: string }} options */
export function choice({ name, label, options, chosen }) {
  const id = `field-${name}`;
  return h(
    'div',
    { class: 'field', key: name },
    h('label', { for: id, class: 'field-label' }, label),
    h(
      'select',
      { id, name, onchange: (/** @type {Event} */ event) => typed(event) },
      options.map(([value, word]) => h('option', { key: value, value, selected: value === chosen }, word)),
    ),
  );
}

/** @param {Event} event */
function typed(event) {
  const { name, value } = /** @type {HTMLInputElement} */ (event.target);
  form.values = { ...form.values, [name]: value };
  changed();
}

function answerNotice() {
  const { answer } = form;
  if (answer === undefined) return false;
  if (answer.tone === 'bad') return notice('bad', answer.text);
  return h(
    'p',
    { class: 'notice good', role: 'status' },
    h('strong', {}, 'Done: '),
    answer.text,
    answer.jobId !== null && [' ', jobLink(answer.jobId)],
  );
}

/** @param {Action} action */
async function act(action) {
  if (form.isBusy) return;
  form.isBusy = true;
  form.answer = undefined;
  changed();
  const { reason, token, values } = typedHere();
  const key = form.key;
  const signed = token === '' ? undefined : await signIn(token);
  const answer =
    signed !== undefined && signed.kind !== 'ok' ? signed : await order(action.path, action.body(reason, values));
  form.isBusy = false;
  if (form.key === key) {
    form.answer =
      answer.kind === 'ok'
        ? { tone: 'good', text: `${answer.value.text}.`, jobId: answer.value.jobId }
        : { tone: 'bad', text: answer.kind === 'failed' ? answer.error : 'cancelled', jobId: null };
    // What was done is not done once more by the same press.
    if (answer.kind === 'ok') {
      form.key = '';
      form.values = {};
      action.onDone?.();
    }
  }
  changed();
  if (answer.kind === 'ok') document.getElementById(idOf(action))?.focus();
}
