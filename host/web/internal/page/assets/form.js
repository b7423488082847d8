// Forms from JSON Schema. A form is edited in fields or, as a whole, as JSON: a value that fields cannot show exactly
// is shown as JSON. The server validates; Form.fault shows its errors, which name a JSON pointer, at their fields.

import { T } from "./texts.js";
import { Exact, compact, differences, parse, parseOnce, same, stringify } from "./exact.js";
import { h, newID, set, shown } from "./dom.js";
import { Fields } from "./fields.js";
import { escaped, visible } from "./visible.js";

// Form is a form for one value.
export class Form {
  // value is the initial value; without one, the form has only defaults. draft is an earlier result of draft(). changed
  // is called after each change by the person.
  constructor(schema, { value, draft, changed = () => {}, label = T.answer, mode = "fields" } = {}) {
    Object.assign(this, { schema, changed, label, mode: draft?.mode ?? mode });
    this.body = h("div");
    const name = newID("mode");
    this.radios = ["fields", "json"].map((id) => h("input", { type: "radio", name, value: id,
      onchange: (e) => this.change(id, e) }));
    this.notice = h("p", { class: "help", role: "status" });
    this.node = h("div", { class: "form", oninput: () => this.changed(), onchange: () => this.changed() },
      h("div", { class: "picks mode", role: "radiogroup", "aria-label": T.editAs },
        this.radios.map((radio, i) => h("label", { class: "pick small" }, radio, [T.fields, "JSON"][i]))),
      this.notice, this.body);
    if (this.mode === "json") return this.showJSON(draft?.value ?? stringify(value, "  "));
    try {
      if (draft) value = draft.value === undefined ? undefined : parse(draft.value);
    } catch { // an old draft: fall back to the initial value
    }
    if (!this.showFields(value, draft?.typed)) this.showJSON(stringify(value, "  "), T.onlyJSON);
  }

  // showFields reports whether fields can show the value completely and exactly.
  showFields(value, typed) {
    const options = { label: this.label, changed: () => this.changed() };
    let fields = new Fields(this.schema, value, options);
    if (!fields.inFields || value !== undefined && !same(fields.read(), value)) return false;
    if (typed && Object.keys(typed).length) fields = new Fields(this.schema, value, { ...options, raw: { ...typed } });
    this.show("fields", fields);
    return true;
  }

  showJSON(text, notice = "") {
    this.show("json", new Whole(text ?? "", this.label, this.schema), notice);
  }

  show(mode, editor, notice = "") {
    this.mode = mode;
    this.editor = editor;
    for (const radio of this.radios) radio.checked = radio.value === mode;
    this.notice.textContent = notice;
    set(this.body, editor.node);
  }

  // change switches between fields and JSON; unreadable input must be corrected first.
  change(mode, event) {
    event.stopPropagation();
    this.editor.clear();
    if (!this.complain((report) => this.editor.check(report), true)) {
      for (const radio of this.radios) radio.checked = radio.value === this.mode;
      return;
    }
    const value = this.editor.read();
    if (mode === "json") this.showJSON(value === undefined ? "" : stringify(value, "  "));
    else if (!this.showFields(value)) {
      this.show("json", this.editor, T.onlyJSON);
      return;
    }
    this.changed();
  }

  // read returns the value, or undefined if there is none.
  read() {
    return this.editor.read();
  }

  // exact returns the text to send: typed JSON is sent as typed.
  exact() {
    return new Exact(this.editor.text());
  }

  draft() {
    return { mode: this.mode, ...this.editor.draft() };
  }

  // check reports whether the value can be sent; otherwise it shows a message at each fault.
  check() {
    this.editor.clear();
    return this.complain((report) => {
      let good = true;
      this.editor.check((...fault) => {
        good = false;
        return report(...fault);
      });
      if (good && this.read() === undefined) report("", T.fillIn);
    });
  }

  // complain shows the faults that a check reports, and returns whether there are none. The check learns whether a
  // fault is shown.
  complain(check, onlyUnreadable = false) {
    let good = true;
    check((pointer, message, unreadable) => {
      if (onlyUnreadable && !unreadable) return false;
      good = false;
      this.fault(pointer, message);
      return true;
    });
    if (!good) this.focusFault();
    return good;
  }

  clear() {
    this.editor.clear();
  }

  // fault shows a message at the pointer's place, or at the nearest enclosing one.
  fault(pointer, text) {
    const { places } = this.editor;
    let at = pointer;
    while (!places.has(at)) {
      if (at === "") return false;
      at = at.slice(0, at.lastIndexOf("/"));
    }
    const { control, message } = places.get(at);
    const said = visible(at === pointer ? text : `${visible(pointer)}: ${text}`, true);
    control?.setAttribute("aria-invalid", "true");
    message.textContent = message.textContent ? `${message.textContent}; ${said}` : said;
    return true;
  }

  focusFault() {
    const invalid = this.node.querySelector("[aria-invalid=true]");
    (invalid?.matches("input, select, textarea, button") ? invalid : invalid?.querySelector("input, select, textarea"))
      ?.focus();
  }

  // mark marks the fields that differ from a value, and returns the differences.
  mark(value) {
    const all = differences(value, this.read());
    for (const field of this.node.querySelectorAll("[data-pointer]")) {
      field.classList.toggle("changed", this.mode === "fields" && field.matches(".field")
        && all.some((d) => d.pointer === field.dataset.pointer));
    }
    return all;
  }
}

// Whole edits a value as JSON text.
class Whole {
  constructor(text, label, schema) {
    const id = newID("json");
    const message = h("p", { class: "fault", id: id + "-fault" });
    this.control = h("textarea", { id, rows: 6, class: "code", spellcheck: "false", autocomplete: "off", dir: "ltr",
      "aria-describedby": message.id });
    this.control.value = escaped(text);
    this.places = new Map([["", { control: this.control, message }]]);
    const help = h("details", { class: "schema", ontoggle: () => {
      if (help.childElementCount === 1) help.append(h("pre", { tabindex: "0" }, shown(stringify(schema, "  "))));
    } }, h("summary", null, T.schema));
    this.node = h("div", { class: "field", "data-pointer": "" }, h("label", { for: id }, label), this.control, message,
      help);
  }

  read() {
    try {
      return parseOnce(this.control.value);
    } catch {
      return undefined;
    }
  }

  text() {
    return compact(this.control.value);
  }

  draft() {
    return { value: this.control.value };
  }

  check(report) {
    try {
      if (this.control.value.trim() === "") report("", T.fillIn);
      else parseOnce(this.control.value);
    } catch (e) {
      report("", T.noJSON(e.message), true);
    }
  }

  clear() {
    for (const { control, message } of this.places.values()) {
      control?.removeAttribute("aria-invalid");
      message.textContent = "";
    }
  }
}
