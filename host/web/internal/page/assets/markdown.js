// Draws texts in Markdown. The server parses them; until it has answered, and if it cannot, the source is shown.

import { post } from "./api.js";
import { h, prose, said, set, shown } from "./dom.js";

// Texts without these characters look the same as their source.
const marked = /[*_`#~|<>[\]\\]|^\s*([-+]|\d+[.)])\s|^ {4}|^\t|https?:|\n\s*\n/m;

const known = new Map(); // source → document, the newest last
let waiting = new Map(); // source → functions to call with its document

// written displays an untrusted text as Markdown, as a block.
export function written(text) {
  const node = h("div", { class: "written", dir: "auto" }, said(text));
  if (marked.test(text)) documentOf(text, (nodes) => set(node, nodes.map(draw)));
  return node;
}

// entitle displays a text in Markdown as a heading and what follows it: its first paragraph fills the heading.
export function entitle(heading, text) {
  const rest = h("div", { class: "written", dir: "auto" });
  if (marked.test(text)) {
    documentOf(text, (nodes) => {
      if (nodes[0]?.kind !== "p" && nodes[0]?.kind !== "h") return;
      set(heading, nodes[0].children.map(draw));
      set(rest, nodes.slice(1).map(draw));
    });
  }
  return [heading, rest];
}

const most = 32, kept = 200;

function documentOf(text, use) {
  if (known.has(text)) {
    use(known.get(text));
    return;
  }
  if (waiting.size === 0) queueMicrotask(ask);
  waiting.set(text, [...waiting.get(text) ?? [], use]);
}

async function ask() {
  const all = [...waiting];
  waiting = new Map();
  for (let i = 0; i < all.length; i += most) {
    const part = all.slice(i, i + most);
    let documents;
    try {
      ({ documents } = await post("api/render", { texts: part.map(([text]) => text) }));
    } catch {
      continue; // the source stays
    }
    part.forEach(([text, uses], n) => {
      known.set(text, documents[n]);
      for (const use of uses) use(documents[n]);
    });
    for (const text of [...known.keys()].slice(0, Math.max(0, known.size - kept))) known.delete(text);
  }
}

const names = { p: "p", quote: "blockquote", ul: "ul", em: "em", strong: "strong", del: "del", br: "br", hr: "hr" };

// draw returns the element of a node of a document.
function draw(node) {
  const within = () => (node.children ?? []).map(draw);
  switch (node.kind) {
    case "text": return prose(node.text ?? "");
    case "token": return h("span", { class: `token-${node.class}` }, shown(node.text));
    case "code": return h("code", null, shown(node.text ?? ""));
    case "source": return said(node.text ?? "");
    case "h": return h("p", { class: `heading level-${node.number}`, role: "heading",
      "aria-level": Math.min(node.number + 1, 6) }, within());
    case "ol": return h("ol", { class: "numbered" }, within());
    case "li": return h("li", null, node.text ? h("span", { class: "number" }, shown(node.text), " ") : null, within());
    case "pre": return h("figure", { class: "code" }, node.text ? h("figcaption", null, shown(node.text)) : null,
      h("pre", { tabindex: "0" }, h("code", null, (node.children ?? []).map((part) => part.kind === "token" ? draw(part)
        : shown(part.text ?? "")))));
    case "table": return h("div", { class: "table", tabindex: "0" }, h("table", null, node.children.map((row, i) =>
      h("tr", null, row.children.map((cell) => h(i === 0 ? "th" : "td", { class: cell.class || null },
        (cell.children ?? []).map(draw)))))));
    case "link": return h("a", { href: node.address, rel: "noopener noreferrer", target: "_blank" }, within());
    default: return h(names[node.kind] ?? "span", null, within());
  }
}
