// The arguments of a call: shown so that they can be read, edited, and compared with what was proposed.

import { T } from "./texts.js";
import { Form, schemaOf } from "./form.js";
import { Exact, differences, isObject, parse, stringify } from "./exact.js";
import { h, newID, set, shown } from "./dom.js";

// argumentsOf are the arguments of a subject, with their numbers as they were written.
export function argumentsOf(subject) {
  return typeof subject.arguments_text === "string" ? parse(subject.arguments_text) : subject.arguments;
}

// readable is a JSON value as a table of its members.
export function readable(value) {
  if (value === undefined) return h("p", { class: "muted" }, T.noArguments);
  if (isObject(value) && Object.keys(value).length) {
    return h("dl", { class: "members" }, Object.entries(value).map(([name, inner]) => h("div", null,
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

// Arguments shows the arguments of a call, as a table or as JSON.
export function argumentsView(subject) {
  const value = argumentsOf(subject);
  const body = h("div", { class: "arguments" });
  const raw = h("button", { type: "button", class: "small quiet", "aria-pressed": "false" }, T.showJSON);
  raw.addEventListener("click", () => {
    const on = raw.getAttribute("aria-pressed") !== "true";
    raw.setAttribute("aria-pressed", String(on));
    show(on);
  });
  const show = (asJSON) => set(body, asJSON
    ? h("pre", { tabindex: "0", "aria-label": T.argumentsOf(subject.tool) }, shown(stringify(value, "  ")))
    : readable(value));
  show(false);
  return h("div", { class: "call" },
    h("div", { class: "call-head" }, h("code", { class: "tool", dir: "auto" }, shown(subject.tool)), raw), body);
}

// ArgumentsEditor edits the arguments, in fields or as JSON, and lists what differs from the proposal.
export class ArgumentsEditor {
  constructor(question, draft, changed) {
    this.proposed = argumentsOf(question.subject);
    this.schema = question.schema ?? schemaOf(this.proposed);
    this.changed = changed;
    this.mode = draft?.mode ?? (isObject(this.proposed) ? "fields" : "json");
    this.body = h("div");
    this.list = h("div", { class: "differences", "aria-live": "polite" });
    const name = newID("mode");
    const mode = (id, label) => h("label", { class: "pick small" }, h("input", { type: "radio", name,
      checked: this.mode === id, onchange: () => this.change(id) }), label);
    this.node = h("div", { class: "editor" },
      h("div", { class: "picks", role: "radiogroup", "aria-label": T.editAs }, mode("fields", T.fields),
        mode("json", "JSON")), this.body, this.list);
    let value = this.proposed;
    try {
      if (typeof draft?.value === "string") value = parse(draft.value);
    } catch { // an older draft: the proposal will do
    }
    this.show(value, draft?.typed);
  }

  show(value, raw = {}) {
    const schema = this.mode === "json" ? {} : this.schema;
    this.form = new Form(schema, value, { raw: { ...raw }, label: this.mode === "json" ? T.argumentsAsJSON : T.fields,
      changed: () => {
        this.compare();
        this.changed();
      } });
    set(this.body, this.form.node);
    this.compare();
  }

  change(mode) {
    if (!this.form.check()) { // what is no JSON has no fields
      this.node.querySelectorAll("input[type=radio]").forEach((r, i) => {
        if (r.closest("[role=radiogroup]")?.parentNode === this.node) r.checked = (i === 1) === (this.mode === "json");
      });
      return;
    }
    const value = this.form.read();
    this.mode = mode;
    this.show(value);
    this.changed();
  }

  draft() {
    return { mode: this.mode, value: stringify(this.form.read() ?? null), typed: this.form.typed() };
  }

  // compare marks the fields that differ and lists the differences.
  compare() {
    const all = differences(this.proposed, this.form.read());
    for (const field of this.form.node.querySelectorAll("[data-pointer]")) {
      field.classList.toggle("changed", this.mode === "fields" && field.matches(".field")
        && all.some((d) => d.pointer === field.dataset.pointer));
    }
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

function brief(value) {
  const text = stringify(value);
  return shown(text.length > 400 ? text.slice(0, 400) + "…" : text);
}
