// @ts-check
/**
 * Views as plain values, and a patch that brings the page to them: what did not change is not touched, so focus, selection
 * and scroll positions survive the news of every second. Texts only ever become text nodes and attribute values; there is
 * no way to hand in markup.
 *
 * @typedef {string | number | boolean | undefined | ((event: Event) => void) | Record<string, string>} Value
 * @typedef {{ readonly tag: string, readonly key: string | undefined, readonly attributes: Record<string, Value>, readonly children: readonly Child[] }} View
 * @typedef {View | string} Child
 * @typedef {Child | boolean | null | undefined | readonly Content[]} Content
 */

/**
 * @param {string} tag
 * @param {Record<string, Value>} [attributes] `key` names a child among its siblings; `style` is an object; `onclick` and the like are functions.
 * @param {...Content} content
 * @returns {View}
 */
export function h(tag, attributes = {}, ...content) {
  const { key, ...rest } = attributes;
  return { tag, key: typeof key === 'string' ? key : undefined, attributes: rest, children: flatten(content) };
}

/** @param {readonly Content[]} content @returns {Child[]} */
function flatten(content) {
  /** @type {Child[]} */
  const children = [];
  for (const item of content) {
    if (item === null || item === undefined || typeof item === 'boolean' || item === '') continue;
    if (Array.isArray(item)) children.push(...flatten(item));
    else children.push(/** @type {Child} */ (item));
  }
  return children;
}

/** What a node was made from. @type {WeakMap<Node, View>} */
const made = new WeakMap();

/** Brings the children of a node to the views. @param {Element} parent @param {readonly Child[]} children */
export function patch(parent, children) {
  const byKey = new Map();
  for (const node of parent.childNodes) {
    const key = made.get(node)?.key;
    if (key !== undefined) byKey.set(key, node);
  }
  let here = parent.firstChild;
  for (const child of children) {
    const wanted = typeof child === 'string' || child.key === undefined ? here : (byKey.get(child.key) ?? null);
    const node = reuse(wanted, child) ?? create(child);
    if (node === here) here = here.nextSibling;
    else parent.insertBefore(node, here);
  }
  while (here !== null) {
    const next = here.nextSibling;
    here.remove();
    here = next;
  }
}

/** The node brought to the view, when it is of its kind. @param {ChildNode | null} node @param {Child} child */
function reuse(node, child) {
  if (node === null) return undefined;
  if (typeof child === 'string') {
    if (node.nodeType !== Node.TEXT_NODE) return undefined;
    if (node.nodeValue !== child) node.nodeValue = child;
    return node;
  }
  const before = made.get(node);
  if (before === undefined || before.tag !== child.tag || before.key !== child.key) return undefined;
  update(/** @type {HTMLElement} */ (node), before, child);
  return node;
}

/** @param {Child} child @returns {ChildNode} */
function create(child) {
  if (typeof child === 'string') return document.createTextNode(child);
  const element = document.createElement(child.tag);
  update(element, undefined, child);
  return element;
}

/** @param {HTMLElement} element @param {View | undefined} before @param {View} view */
function update(element, before, view) {
  for (const name of Object.keys(before?.attributes ?? {}))
    if (!(name in view.attributes)) set(element, name, undefined);
  for (const [name, value] of Object.entries(view.attributes))
    if (before?.attributes[name] !== value || typeof value === 'object') set(element, name, value);
  made.set(element, view);
  patch(element, view.children);
}

/** @param {HTMLElement} element @param {string} name @param {Value} value */
function set(element, name, value) {
  if (name.startsWith('on')) {
    // A view hands in functions; a text could never become one here.
    Object.assign(element, { [name]: typeof value === 'function' ? value : null });
  } else if (typeof value === 'object') {
    for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
  } else if (value === undefined || value === false) {
    element.removeAttribute(name);
  } else if (name === 'href' && !/^[/#]/.test(String(value))) {
    // Only addresses of this console: a text of somebody's must not become a javascript: link.
    element.removeAttribute('href');
  } else {
    const text = value === true ? '' : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}
