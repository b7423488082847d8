// Builds elements, only from text: input of agents and people is never parsed as HTML, and no text can hide a part of
// itself.

import { pieces, visible } from "./visible.js";

export { hidesSomething, nameOf } from "./visible.js";

const read = new Set(["aria-label", "placeholder", "title"]); // attributes that are read as text
const svgNames = new Set(["svg", "g", "rect", "circle", "path", "line", "text", "title"]);

// h builds an element. Properties that begin with "on" are listeners, true and false work as in HTML, and null is
// omitted. Children are nodes, texts, or lists of both.
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

// set replaces the children of a node.
export function set(node, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  node.replaceChildren(fragment);
}

// fill replaces the children of a node. Children that are already in their places are not moved.
export function fill(node, children) {
  const stay = new Set(children);
  for (const child of [...node.childNodes]) if (!stay.has(child)) child.remove();
  children.forEach((child, i) => {
    if (node.childNodes[i] !== child) node.insertBefore(child, node.childNodes[i] ?? null);
  });
}

// shown displays an untrusted value, name or id, in which each character counts: invisible characters are named, and
// white space is not collapsed.
export function shown(text, inProse = false) {
  text = String(text);
  const parts = pieces(text, inProse);
  if (parts.length === 0) return document.createTextNode("");
  const edge = !inProse && text !== text.trim();
  if (parts.length === 1 && !parts[0].named && !edge && !/[\t\n]|  /.test(text)) return document.createTextNode(text);
  return h("span", { class: edge ? "shown edge" : "shown" }, parts.map((part) => part.named
    ? h("span", { class: "unseen" }, document.createTextNode(part.text)) : document.createTextNode(part.text)));
}

// prose displays an untrusted text that is read as language.
export function prose(text) {
  return shown(text, true);
}

// said displays a block of untrusted text with its own direction and line breaks.
export function said(text, name = "p", className = "said") {
  return h(name, { class: className, dir: "auto" }, prose(text));
}

let ids = 0;

// newID returns an id that is unique in the page.
export function newID(what) {
  return `${what}-${++ids}`;
}

// announce reads a change to users of screen readers.
export function announce(text) {
  const region = document.getElementById("announce");
  if (region.textContent === text) region.textContent = ""; // the same text would not count as a change
  region.textContent = text;
}

// once disables a button while its action runs.
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

// button returns a button that starts an action.
export function button(label, className, begin) {
  return once(h("button", { type: "button", class: className }, label), begin);
}
