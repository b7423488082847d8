// The arguments of a tool call: displayed, edited, and compared with the proposal.

import { T } from "./texts.js";
import { Form } from "./form.js";
import { Exact, entries, isObject, parse, stringify } from "./exact.js";
import { EditedLines } from "./diff.js";
import { h, set, shown } from "./dom.js";
import { schemaOf } from "./schema.js";
import { visible } from "./visible.js";

// argumentsOf returns the arguments of a subject, with numbers as written.
export function argumentsOf(subject) {
  return typeof subject.arguments_text === "string" ? parse(subject.arguments_text) : subject.arguments;
}

// readable shows a JSON value as a table of its members.
export function readable(value) {
  if (value === undefined) return h("p", { class: "muted" }, T.noArguments);
  if (isObject(value) && Object.keys(value).length) {
    return h("dl", { class: "members" }, entries(value).map(([name, inner]) => h("div", null,
      h("dt", { dir: "auto" }, shown(name)), h("dd", null, readable(inner)))));
  }
  if (Array.isArray(value) && value.length) {
    return h("ol", { class: "listed" }, value.map((inner) => h("li", null, readable(inner))));
  }
  return scalar(value);
}

function scalar(value) {
  if (typeof value === "string") {
    return value === "" ? h("span", { class: "muted" }, T.emptyText)
      : h("span", { class: value.includes("\n") ? "text long" : "text", dir: "auto" }, shown(value));
  }
  const kind = typeof value === "number" || value instanceof Exact ? "number" : "literal";
  return h("span", { class: kind }, stringify(value));
}

const mostShort = 100; // characters of a value in a list
const folded = 1500; // characters of arguments above which only their beginning is shown at first
const parsed = new WeakMap(); // the arguments of subjects in lists

function argumentsOnce(subject) {
  if (!parsed.has(subject)) parsed.set(subject, argumentsOf(subject));
  return parsed.get(subject);
}

// commonMembers returns, for each tool with several calls, the members whose values are equal in all of them: lists
// show the others first.
export function commonMembers(questions) {
  const tools = new Map();
  for (const { question: { subject } } of questions) {
    if (!subject) continue;
    const value = argumentsOnce(subject);
    const members = new Map(isObject(value) ? entries(value).map(([name, inner]) => [name, stringify(inner)]) : []);
    const seen = tools.get(subject.tool);
    if (!seen) {
      tools.set(subject.tool, { members, calls: 1 });
      continue;
    }
    seen.calls++;
    for (const [name, text] of seen.members) if (members.get(name) !== text) seen.members.delete(name);
  }
  return new Map([...tools].filter(([, { calls }]) => calls > 1).map(([tool, { members }]) =>
    [tool, new Set(members.keys())]));
}

// callLine shows a tool and its arguments in a line of a list; arguments that tell calls apart come first.
export function callLine({ subject }, common = new Set()) {
  const value = argumentsOnce(subject);
  const all = isObject(value) ? entries(value) : value === undefined ? [] : [["", value]];
  const sorted = [...all.filter(([name]) => !common.has(name)), ...all.filter(([name]) => common.has(name))];
  return h("span", { class: "call-line" }, h("code", { dir: "auto" }, shown(subject.tool)),
    sorted.slice(0, 8).map(([name, inner]) => [" ", h("span",
      { class: common.has(name) ? "argument common" : "argument" },
      name ? h("span", { class: "name", dir: "auto" }, shown(name), " ") : null,
      h("span", { dir: "auto" }, shown(short(inner))))]), sorted.length > 8 ? " …" : null);
}

function short(value) {
  const text = typeof value === "string" ? value : stringify(value);
  return text.length > mostShort ? text.slice(0, mostShort) + "…" : text;
}

// argumentsView shows the arguments of a call, as a table or as JSON; of long ones at first only the beginning.
export function argumentsView(subject) {
  const value = argumentsOf(subject);
  const body = h("div", { class: "arguments" });
  const whole = stringify(value, "  ") ?? "";
  const long = whole.length > folded || whole.split("\n").length > 24;
  const all = h("button", { type: "button", class: "small", "aria-expanded": "false", onclick: () => {
    const open = body.classList.toggle("folded") === false;
    all.setAttribute("aria-expanded", String(open));
    all.textContent = open ? T.foldArguments : T.wholeArguments(whole.length);
  } }, T.wholeArguments(whole.length));
  if (long) body.classList.add("folded");
  const raw = h("button", { type: "button", class: "small quiet", "aria-pressed": "false" }, T.showJSON);
  raw.addEventListener("click", () => {
    const on = raw.getAttribute("aria-pressed") !== "true";
    raw.setAttribute("aria-pressed", String(on));
    show(on);
  });
  const show = (asJSON) => set(body, asJSON
    ? h("pre", { tabindex: "0", "aria-label": T.argumentsOf(visible(subject.tool)) }, shown(stringify(value, "  ")))
    : readable(value));
  show(false);
  return h("div", { class: "call" },
    h("div", { class: "call-head" }, h("code", { class: "tool", dir: "auto" }, shown(subject.tool)), raw), body,
    long ? h("div", { class: "call-foot" }, all) : null);
}

// ArgumentsEditor edits the arguments, in fields or as JSON, and lists the differences from the proposal.
export class ArgumentsEditor {
  constructor(question, draft, changed) {
    this.proposed = argumentsOf(question.subject);
    this.list = h("div", { class: "differences", "aria-live": "polite" });
    this.form = new Form(question.schema ?? schemaOf(this.proposed), { value: this.proposed, draft,
      label: T.argumentsAsJSON, mode: isObject(this.proposed) ? "fields" : "json", changed: () => {
        this.compare();
        changed();
      } });
    this.lines = new EditedLines(indented(this.proposed), indented(this.proposed));
    this.node = h("div", { class: "editor" }, this.form.node, this.list, this.lines.node);
    this.compare();
  }

  // compare marks the changed fields and lists the differences.
  compare() {
    const all = this.form.mark(this.proposed);
    const edited = this.form.read();
    if (edited !== undefined) this.lines.update(indented(edited));
    set(this.list, all.length === 0 ? h("p", { class: "muted" }, T.nothingChanged)
      : [h("p", { class: "label" }, T.changes(all.length)), h("ul", null, all.map((d) => h("li", null,
        h("code", { dir: "auto" }, shown(d.pointer.slice(1) || T.all)), " ",
        d.before === undefined ? h("ins", null, T.added, " ", brief(d.after))
          : d.after === undefined ? h("del", null, brief(d.before))
            : [h("del", null, brief(d.before)), h("span", { "aria-label": T.becomes }, " → "),
              h("ins", null, brief(d.after))])))]);
    return all.length > 0;
  }
}

// editOf shows the lines that an edit of a call's arguments has changed.
export function editOf(subject, edited) {
  return new EditedLines(indented(argumentsOf(subject)), indented(edited)).node;
}

function indented(value) {
  return value === undefined ? "" : stringify(value, "  ") + "\n";
}

function brief(value) {
  const text = stringify(value);
  return shown(text.length > 400 ? text.slice(0, 400) + "…" : text);
}
