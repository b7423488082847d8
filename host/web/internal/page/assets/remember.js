// Approvals that also count for later calls of the tool in the same run.

import { T } from "./texts.js";
import { argumentsOf } from "./approval.js";
import { button, h, nameOf, newID, said, shown } from "./dom.js";
import { entries, escape, isObject } from "./exact.js";
import { duration, moment } from "./time.js";
import { visible } from "./visible.js";

const lengths = [1, 8, 24].map((hours) => hours * 3600); // seconds that are offered, within the host's limit
const mostNames = 16; // arguments that a server compares

// mayRemember reports whether the person's approval of the question can count for later calls, too.
export function mayRemember(question) {
  const several = question.need > 1 || question.rejects > 1;
  return Boolean(question.subject) && !several && !question.files?.length && !question.subject.changes?.length && !question.for;
}

// RememberControl offers to let an approval count for later calls, for at most so many seconds.
export class RememberControl {
  constructor(question, most, draft = {}) {
    const value = argumentsOf(question.subject);
    const names = isObject(value) ? entries(value).map(([name]) => name) : [];
    this.boxes = (names.length > 1 && names.length <= mostNames ? names : []).map((name) =>
      ({ name, box: h("input", { type: "checkbox", checked: !draft.differ?.includes(name) }) }));
    const within = lengths.filter((seconds) => seconds <= most);
    this.length = h("select", { id: newID("remember") }, h("option", { value: "" }, T.rememberNot),
      (within.length ? within : [most]).map((seconds) => h("option", { value: String(seconds) },
        T.rememberFor(duration(seconds * 1000)))));
    this.length.value = draft.seconds ?? "";
    this.node = h("details", { open: Boolean(draft.seconds) }, h("summary", null, T.remember),
      h("p", { class: "help" }, T.rememberHelp(visible(question.subject.tool))),
      h("div", { class: "field" }, h("label", { for: this.length.id }, T.rememberHow), this.length),
      this.boxes.length ? h("fieldset", { class: "field" }, h("legend", null, T.rememberSame), h("div",
        { class: "picks" }, this.boxes.map(({ name, box }) => h("label", { class: "pick" }, box,
          h("span", { dir: "auto" }, shown(name)))))) : null);
  }

  draft() {
    return { seconds: this.length.value, differ: this.boxes.filter(({ box }) => !box.checked).map(({ name }) => name) };
  }

  // part returns the part of an approval; undefined if it counts once. Without equal, all arguments must be the same.
  part() {
    if (!this.length.value) return undefined;
    const same = this.boxes.filter(({ box }) => box.checked);
    return { seconds: Number(this.length.value), equal: same.length === this.boxes.length ? undefined
      : same.map(({ name }) => "/" + escape(name)) };
  }
}

// rememberedList lists the decisions that a run remembers; end ends one.
export function rememberedList(run, end) {
  if (!run.remembered?.length) return null;
  return [h("h2", null, T.remembered), h("ul", { class: "plain" }, run.remembered.map((m) => h("li", null,
    h("p", null, h("code", { class: "tool", dir: "auto" }, shown(m.tool)), ": ", boundOf(m)),
    m.risk ? [h("p", { class: "label" }, T.risk), said(m.risk)] : null,
    h("p", { class: "muted" }, h("a", { href: `#/inbox/${encodeURIComponent(run.id)}/${m.question}` },
      T.questionNumber(m.question)), " ", h("span", { dir: "auto" },
      shown(T.rememberedBy(nameOf(m), moment(m.until))))),
    button(T.endDecision(m.question), "small", () => end(m)))))];
}

// boundOf says which calls a decision covers.
function boundOf({ equal = [], most = [] }) {
  if (!equal.length && !most.length) return T.anyArguments;
  const named = (path, text) => [h("code", { dir: "auto" }, shown(path.slice(1))), " ", text];
  const parts = [...equal.map((path) => path ? named(path, T.asApproved) : T.sameArguments),
    ...most.map(({ path, limit }) => named(path, T.upTo(limit)))];
  return parts.map((part, i) => i ? [", ", part] : part);
}
