// Elements are made here, and only from text: nothing that an agent or a person wrote is ever read as HTML, and no
// text hides a part of itself.

import { pieces, visible } from "./visible.js";

export { hidesSomething } from "./visible.js";

const read = new Set(["aria-label", "placeholder", "title"]); // attributes that are read as texts
const svgNames = new Set(["svg", "g", "rect", "circle", "path", "line", "text", "title"]);

// h makes an element. Properties that begin with "on" are listeners, true and false are as in HTML, and null is
// left out. Children are nodes, texts, or lists of both.
export function h(name, properties, ...children) {
  const node = svgNames.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") node[key] = value;
    else node.setAttribute(key, value === true ? "" : read.has(key) ? visible(value, true) : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (typeof child === "string") node.append(prose(child));
    else if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

// set replaces what is in a node.
export function set(node, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  node.replaceChildren(fragment);
}

// shown is a text of somebody else as a node: a value, a name or an id, of which each character counts. What a screen
// would hide is named, and no white space is folded.
export function shown(text, inProse = false) {
  text = String(text);
  const parts = pieces(text, inProse);
  if (parts.length === 0) return document.createTextNode("");
  const edge = !inProse && text !== text.trim();
  if (parts.length === 1 && !parts[0].named && !edge && !/[\t\n]|  /.test(text)) return document.createTextNode(text);
  return h("span", { class: edge ? "shown edge" : "shown" }, parts.map((part) => part.named
    ? h("span", { class: "unseen" }, document.createTextNode(part.text)) : document.createTextNode(part.text)));
}

// prose is shown for what is read as language.
export function prose(text) {
  return shown(text, true);
}

// said is a block of somebody's text, in its own direction and with its line breaks.
export function said(text, name = "p", className = "said") {
  return h(name, { class: className, dir: "auto" }, prose(text));
}

let ids = 0;

// newID is an id that no other element of the page has.
export function newID(what) {
  return `${what}-${++ids}`;
}

// announce tells those who listen to the page what has changed.
export function announce(text) {
  const region = document.getElementById("announce");
  if (region.textContent === text) region.textContent = ""; // else the same words would not be a change
  region.textContent = text;
}

// once keeps a button from being pressed again while what it began goes on.
export function once(button, begin) {
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    try {
      await begin();
    } finally {
      button.removeAttribute("aria-busy");
    }
  });
  return button;
}

// button is a button that begins something.
export function button(label, className, begin) {
  return once(h("button", { type: "button", class: className }, label), begin);
}
