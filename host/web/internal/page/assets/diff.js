// The changes of a call or of an edit: lines removed and added, one below the other or side by side. The
// server compares the texts; until it has answered, and if it cannot, the two texts are shown.

import { T } from "./texts.js";
import { post } from "./api.js";
import { h, set, shown } from "./dom.js";
import { change, settings } from "./settings.js";

const folded = 60; // lines of a diff above which only the first are drawn at first

// changesView shows the effect of a call on texts; null without one.
export function changesView(subject) {
  const all = subject.changes ?? [];
  if (all.length === 0) return null;
  const views = all.map(() => new Diff());
  compare(all.map(({ before = "", after = "" }) => ({ before, after })), views);
  return h("section", { class: "changes", "aria-label": T.callChanges },
    h("div", { class: "changes-head" }, h("p", { class: "label" }, T.callChanges), layoutButton(() => views)),
    all.map((c, i) => h("figure", null, h("figcaption", null, T.changeKinds[c.kind] ?? c.kind, " ",
      h("code", { dir: "auto" }, shown(c.path)), " ", h("span", { class: "muted" }, T.changedLines(c.removed, c.added))),
    views[i].node)));
}

// layoutButton shows the diffs side by side, or as one column; the choice is kept.
export function layoutButton(views) {
  const button = h("button", { type: "button", class: "small quiet", "aria-pressed": String(settings.sideBySide),
    onclick: () => {
      change({ sideBySide: !settings.sideBySide });
      button.setAttribute("aria-pressed", String(settings.sideBySide));
      for (const view of views()) view.draw();
    } }, T.sideBySide);
  return button;
}

// compare has the server compare pairs of texts for the views.
export async function compare(pairs, views) {
  views.forEach((view, i) => view.expect(pairs[i]));
  try {
    const { diffs } = await post("api/diff", { pairs });
    views.forEach((view, i) => view.show(diffs[i], pairs[i]));
  } catch {
    views.forEach((view, i) => view.showTexts(pairs[i]));
  }
}

const pause = 200; // milliseconds without a change after which an edit is compared

// EditedLines shows the changes of an edit, as lines of JSON, when a person opens it.
export class EditedLines {
  constructor(before, after) {
    this.pair = { before, after };
    this.view = new Diff();
    this.node = h("details", { class: "edited-lines", ontoggle: () => this.compare() },
      h("summary", null, T.lines), layoutButton(() => [this.view]), this.view.node);
    this.node.hidden = before === after;
  }

  // update sets the edited text.
  update(after) {
    if (after === this.pair.after) return;
    this.pair = { ...this.pair, after };
    this.node.hidden = this.pair.before === after;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.compare(), pause);
  }

  compare() {
    if (this.node.open && !this.node.hidden && this.view.pair !== this.pair) compare([this.pair], [this.view]);
  }
}

// Diff draws the lines of a diff.
export class Diff {
  constructor() {
    this.node = h("div", { class: "diff" });
    this.whole = false;
  }

  // expect sets the pair to show next; its plain texts are shown until the diff arrives.
  expect(pair) {
    this.pair = pair;
    if (!this.lines) this.showTexts(pair);
  }

  showTexts(pair) {
    if (pair !== this.pair) return;
    this.lines = null;
    const { before, after } = pair;
    const text = (label, value) => value ? h("pre", { tabindex: "0", "aria-label": label }, shown(value)) : null;
    set(this.node, text(T.before, before), text(T.after, after));
  }

  show(lines, pair) {
    if (pair !== this.pair) return;
    this.lines = lines;
    this.draw();
  }

  draw() {
    const { lines } = this;
    if (!lines) return;
    if (lines.length === 0) return set(this.node, h("p", { class: "muted" }, T.emptyText));
    const drawn = this.whole ? lines : lines.slice(0, folded);
    const rest = h("button", { type: "button", class: "small", "aria-expanded": String(this.whole), onclick: () => {
      this.whole = !this.whole;
      this.draw();
      this.node.querySelector("button").focus({ preventScroll: true });
    } }, this.whole ? T.foldArguments : T.wholeDiff(lines.length));
    set(this.node, h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": T.lines },
      h("table", { class: settings.sideBySide ? "sides" : null },
        h("tbody", null, settings.sideBySide ? sides(drawn) : drawn.map(row)))),
    lines.length > folded ? rest : null);
  }
}

const signs = { removed: "-", added: "+" };

function row(line) {
  if (line.change === "skipped") return skipped(line, 4);
  return h("tr", { class: line.change }, number(line.before), number(line.after), h("td", null, signs[line.change] ?? ""),
    text(line));
}

// sides puts the removed lines of each place next to the added ones.
function sides(lines) {
  const rows = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if (line.change === "skipped" || line.change === "same") {
      rows.push(line.change === "skipped" ? skipped(line, 6)
        : h("tr", { class: "same" }, half(line, line.before), half(line, line.after)));
      i++;
      continue;
    }
    const removed = [], added = [];
    for (; lines[i]?.change === "removed"; i++) removed.push(lines[i]);
    for (; lines[i]?.change === "added"; i++) added.push(lines[i]);
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      rows.push(h("tr", null, half(removed[n], removed[n]?.before), half(added[n], added[n]?.after)));
    }
  }
  return rows;
}

function half(line, at) {
  if (!line) return [number(), h("td"), h("td", { class: "text none" })];
  return [number(at), h("td", { class: line.change }, signs[line.change] ?? ""), text(line)];
}

function number(n) {
  return h("td", { class: "number" }, n ? String(n) : "");
}

function skipped(line, columns) {
  return h("tr", { class: "skipped" }, h("td", { colspan: columns }, T.equalLines(line.before)));
}

function text(line) {
  return h("td", { class: `text ${line.change}`, dir: "auto" }, (line.parts ?? []).map((part) => part.kind === "br"
    ? h("span", { class: "muted" }, " ", T.noLineBreak)
    : part.kind === "token" ? h("strong", null, shown(part.text)) : shown(part.text ?? "")));
}
