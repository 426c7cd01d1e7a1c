// @ts-check
/**
 * Who sits here, and what goes to the server beside the stream. Whoever has an operator's token types it where something is
 * to be changed; it stays in this tab until it is closed or its user signs out, and goes nowhere but to this console.
 *
 * @typedef {import('../view/schemas.ts').Session} Session
 * @typedef {{ readonly kind: 'ok', readonly value: any } | { readonly kind: 'failed', readonly status: number, readonly error: string } | { readonly kind: 'cancelled' }} Answer
 */

const KEY = 'tidemark.operator';

/** Shown anew when something here changes. @type {() => void} */
let onChange = () => {};

export const session = {
  /** @type {Session | undefined} */
  who: undefined,
};

/** @param {() => void} listener */
export function startSession(listener) {
  onChange = listener;
  void lookUp();
}

/** Something on the page is another way now. */
export function changed() {
  onChange();
}

export function signOut() {
  sessionStorage.removeItem(KEY);
  void lookUp();
}

/** Answers whether the token is one. @param {string} token @returns {Promise<Answer>} */
export async function signIn(token) {
  const answer = await send('/api/session', { headers: { authorization: `Bearer ${token}` } });
  if (answer.kind === 'ok') {
    sessionStorage.setItem(KEY, token);
    session.who = answer.value;
    changed();
  }
  return answer;
}

async function lookUp() {
  const answer = await send('/api/session', { headers: authorization() });
  if (answer.kind === 'failed' && answer.status === 401) {
    // The console was started anew with other operators.
    sessionStorage.removeItem(KEY);
    return lookUp();
  }
  if (answer.kind === 'ok') session.who = answer.value;
  changed();
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Answer>} */
export function ask(path, signal) {
  return send(path, signal === undefined ? {} : { signal });
}

/** As the operator that sits here. @param {string} path @param {object} body @returns {Promise<Answer>} */
export async function order(path, body) {
  const answer = await send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify(body),
  });
  // The token was changed meanwhile: it is asked for again.
  if (answer.kind === 'failed' && answer.status === 401) signOut();
  return answer;
}

/** @returns {Record<string, string>} */
function authorization() {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** @param {string} path @param {RequestInit} request @returns {Promise<Answer>} */
async function send(path, request) {
  try {
    const response = await fetch(path, { ...request, cache: 'no-store' });
    const value = await response.json();
    if (response.ok) return { kind: 'ok', value };
    return { kind: 'failed', status: response.status, error: String(value.error ?? response.statusText) };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return { kind: 'cancelled' };
    return { kind: 'failed', status: 0, error: 'the console does not answer' };
  }
}
