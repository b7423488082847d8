// Elements are made here, and only from text: nothing that an agent or a person wrote is ever read as HTML.

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
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

// set replaces what is in a node.
export function set(node, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  node.replaceChildren(fragment);
}

// Characters that change how others look, or cannot be seen: direction overrides, zero-width ones, controls.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;

export function hidesSomething(text) {
  return unseen.test(text);
}

// shown is a text of somebody else as a node. Characters that could make it look like another text are named, so
// that what is approved is what is seen.
export function shown(text) {
  text = String(text);
  if (!unseen.test(text)) return document.createTextNode(text);
  const fragment = document.createDocumentFragment();
  let plain = "";
  for (const c of text) {
    if (!unseen.test(c)) {
      plain += c;
      continue;
    }
    fragment.append(plain, h("span", { class: "unseen" },
      "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")));
    plain = "";
  }
  fragment.append(plain);
  return fragment;
}

// said is a block of somebody's text, in its own direction and with its line breaks.
export function said(text, name = "p", className = "said") {
  return h(name, { class: className, dir: "auto" }, shown(text));
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
