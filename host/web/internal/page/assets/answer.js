// The controls for answering a question: buttons, choices, text, a form, or the decisions of an approval.

import { T } from "./texts.js";
import { ArgumentsEditor } from "./approval.js";
import { Form } from "./form.js";
import { button, h, newID, prose, said, set, shown } from "./dom.js";
import { RememberControl, mayRemember } from "./remember.js";
import { visible } from "./visible.js";

// optionText shows an option with the value that is sent, unless the label shows all of it.
function optionText(o) {
  const same = o.value === o.label && o.value === o.value.trim() && visible(o.value) === visible(o.label, true);
  return [h("span", { dir: "auto" }, prose(o.label)), same ? null
    : [" ", h("code", { class: "value", dir: "auto" }, shown(o.value))]];
}

// inputs selects what a person fills in. The choice between fields and JSON comes first, but is rarely wanted.
const inputs = ":is(textarea, input, select):not(.mode input)";

// Answer has the controls for one question. It calls keep after each change, and send with a reply and a short
// description of it. keyed performs a key's action. actions maps names to the actions that keys may start. remember is
// the longest time, in seconds, for which an approval may cover later calls.
export class Answer {
  constructor(question, draft, { keep, send, keyed, remember = 0 }) {
    Object.assign(this, { question, send, remember });
    this.parts = {};
    this.actions = { answer: () => this.node.querySelector(`${inputs}, button:not([hidden])`)?.focus() };
    this.begun = {}; // texts of an approval's decisions that are not shown now
    this.fault = h("p", { class: "fault", role: "alert", id: newID("fault") });
    this.changed = () => this.ready && keep(); // ignore events while the controls are built or removed
    const form = h("form", { class: "answer", novalidate: true, "aria-label": T.answer, oninput: this.changed,
      onchange: this.changed, onsubmit: (e) => e.preventDefault() });
    form.addEventListener("keydown", (e) => {
      const begins = e.key === "Enter" && !e.repeat && (e.ctrlKey || e.metaKey || e.target.type === "radio");
      if (begins) keyed(() => this.sender()?.click());
    });
    const parts = question.subject ? this.approval(draft) : question.schema ? this.form(draft) : this.text(draft);
    set(form, question.subject?.risk || question.kind === "risk_ack" ? this.risk(draft) : null, parts, this.fault);
    this.node = form;
    form.classList.toggle("brief", this.brief());
    this.ready = true;
  }

  // brief reports whether the controls are a few buttons, which stay in view however long the question is.
  brief() {
    const { question, parts } = this;
    return !parts.mode && !parts.remember?.node.open && (Boolean(question.subject) || question.kind === "confirm" || question.kind === "risk_ack");
  }

  // sender returns the button that sends the answer as the person is giving it.
  sender() {
    return [...this.node.querySelectorAll("button.primary, .decision button.danger")].find((b) => b.checkVisibility());
  }

  // close disables the controls: a removed field may still report a change.
  close() {
    this.ready = false;
  }

  // draft returns the unsent answer.
  draft() {
    const { parts } = this;
    const draft = { ...this.begun, mode: parts.mode };
    if (parts.words) draft.text = parts.words.value;
    if (parts.reason) draft.reason = parts.reason.value;
    if (parts.risk) draft.risk = parts.risk.checked;
    if (parts.remember) draft.remember = parts.remember.draft();
    if (parts.choice) draft.choice = parts.choice();
    if (parts.named) draft.named = parts.named.map((control) => control.value);
    if (parts.form) draft.form = parts.form.draft();
    if (parts.editor) draft.editor = parts.editor.form.draft();
    return draft;
  }

  // written returns a short form of the unsent answer.
  written() {
    return [...this.node.querySelectorAll("textarea, input[type=text]")].map((control) => control.value.trim())
      .filter(Boolean).join("\n");
  }

  // clear removes error messages.
  clear() {
    this.fault.textContent = "";
    this.parts.form?.clear();
    this.parts.editor?.form.clear();
  }

  refuse(text) {
    this.fault.textContent = "";
    set(this.fault, text);
  }

  // showFaults shows the server's error messages next to their fields, and the others below.
  showFaults(faults, text) {
    const form = this.parts.form ?? this.parts.editor?.form;
    const rest = faults.filter((f) => !form?.fault(f.where, f.want)).map((f) => `${visible(f.where)}: ${f.want}`);
    this.refuse(form && faults.length ? [T.seeFields, ...rest].join(" ") : text);
    form?.focusFault();
  }

  // words returns a text field.
  words(name, label, value, { rows = 3, help } = {}) {
    const id = newID("words");
    const control = h("textarea", { id, rows, dir: "auto", "aria-describedby": help ? id + "-help" : null });
    control.value = value ?? "";
    this.parts[name] = control;
    return h("div", { class: "field" }, h("label", { for: id }, label),
      help ? h("p", { class: "help", id: id + "-help" }, help) : null, control);
  }

  risk(draft) {
    const fault = h("p", { class: "fault", role: "alert" }); // in view with the box, however long the answer is
    const control = h("input", { type: "checkbox", checked: draft.risk === true, onchange: () => {
      fault.textContent = "";
      control.removeAttribute("aria-invalid");
    } });
    Object.assign(this.parts, { risk: control, riskFault: fault });
    this.actions.acknowledge = () => control.click();
    const text = this.question.subject?.risk;
    return h("div", { class: "risk" }, text ? [h("p", { class: "label" }, T.risk), said(text)] : null,
      h("label", { class: "pick", "data-shortcut": "y" }, control, T.riskSeen), fault);
  }

  // riskSeen reports whether the risk is acknowledged; otherwise it shows a message.
  riskSeen() {
    const { risk, riskFault } = this.parts;
    if (!risk || risk.checked) return true;
    this.refuse("");
    riskFault.textContent = T.riskFirst;
    risk.setAttribute("aria-invalid", "true");
    risk.focus();
    return false;
  }

  // accepted is the part of a reply that says that the risk was acknowledged.
  accepted() {
    return this.parts.risk?.checked ? { accept_risk: true } : {};
  }

  // text builds the controls of a question that takes a text: choices, yes and no, or free text.
  text(draft) {
    const { question } = this;
    const options = question.options ?? [];
    if (question.kind === "confirm" || question.kind === "risk_ack") {
      const all = options.length ? options
        : question.kind === "confirm" ? [{ label: T.yes, value: "yes", yes: true }, { label: T.no, value: "no" }]
          : [{ label: T.accept, value: "yes", yes: true }, { label: T.decline, value: "no" }];
      const yes = all.find((o) => o.yes); // without one, every answer may accept the risk
      const text = options.length ? optionText : (o) => o.label;
      const say = (o) => yes && o !== yes ? this.send({ text: o.value }, T.answered(o.label))
        : this.riskSeen() && this.send({ text: o.value, ...this.accepted() }, T.answered(o.label));
      const no = all.length === 2 && yes ? all.find((o) => o !== yes) : null;
      if (yes) this.actions.approve = () => say(yes);
      if (no) this.actions.reject = () => say(no);
      return [h("div", { class: "buttons" }, all.map((o) => this.key(o === yes ? "a" : o === no ? "r" : null,
        button(text(o), o === yes ? "primary" : "", () => say(o))))), question.only ? null : this.ownWords(draft)];
    }
    if (question.kind === "choose_one" && options.length) return this.choices(options, draft);
    if (question.required_fields?.length) return this.named(question.required_fields, draft);
    return [this.words("words", T.yourAnswer, draft.text, { rows: 4 }), h("div", { class: "buttons" },
      button(T.send, "primary", () => this.sendWords()), this.hint())];
  }

  // key names the key of a button.
  key(name, control) {
    if (name) control.dataset.shortcut = name;
    if (name) control.setAttribute("aria-keyshortcuts", name);
    return control;
  }

  hint() {
    return h("span", { class: "muted small-screen-off" }, T.sendHint);
  }

  sendWords() {
    const { words } = this.parts;
    if (!words.value.trim()) {
      this.refuse(T.writeFirst);
      words.focus();
      return undefined;
    }
    if (/^\s*(yes|true|accept)\s*$/i.test(words.value) && !this.riskSeen()) return undefined;
    return this.send({ text: words.value, ...this.accepted() }, T.answered(words.value));
  }

  ownWords(draft) {
    return h("details", { open: Boolean(draft.text) }, h("summary", null, T.inOwnWords),
      this.words("words", T.yourAnswer, draft.text), h("div", { class: "buttons" },
        button(T.send, "", () => this.sendWords())));
  }

  choices(options, draft) {
    const name = newID("choice");
    let picked = draft.choice ?? -1;
    this.parts.choice = () => picked;
    const own = h("div", { hidden: picked !== options.length },
      this.words("words", T.yourAnswer, draft.text));
    const card = (label, i) => h("label", { class: "card", "data-shortcut": i < 9 ? String(i + 1) : null }, h("input",
      { type: "radio", name, checked: picked === i, onchange: () => {
        picked = i;
        own.hidden = i !== options.length;
      } }), h("span", { dir: "auto" }, label));
    this.actions.pick = (n) => {
      const pick = this.node.querySelectorAll(".cards input")[n - 1];
      pick?.click();
      pick?.focus();
    };
    return [h("fieldset", { class: "cards" }, h("legend", { class: "hidden" }, T.choose),
      options.map((o, i) => card(optionText(o), i)),
      this.question.only ? null : card(T.inOwnWords, options.length)), own,
    h("div", { class: "buttons" }, button(T.send, "primary", () => {
      if (picked < 0) return this.refuse(T.chooseFirst);
      return picked === options.length ? this.sendWords()
        : this.send({ text: options[picked].value }, T.answered(options[picked].label));
    }), this.hint())];
  }

  // named are the named parts of a text that the agent asked for.
  named(names, draft) {
    const controls = names.map((_, i) => h("input", { type: "text", id: newID("named"), dir: "auto",
      autocomplete: "off", value: draft.named?.[i] ?? "" }));
    this.parts.named = controls;
    return [names.map((name, i) => h("div", { class: "field" }, h("label", { for: controls[i].id, dir: "auto" },
      shown(name)), controls[i])), this.words("words", T.moreToSay, draft.text), h("div", { class: "buttons" },
      button(T.send, "primary", () => {
        const empty = controls.findIndex((control) => !control.value.trim());
        if (empty >= 0) {
          this.refuse(T.missing(visible(names[empty])));
          controls[empty].focus();
          return undefined;
        }
        const lines = names.map((name, i) => `${name}: ${controls[i].value}`);
        return this.send({ text: [...lines, this.parts.words.value].join("\n").trim() }, T.says.answer);
      }), this.hint())];
  }

  form(draft) {
    const { question } = this;
    const form = new Form(question.schema, { draft: draft.form, changed: () => this.changed() });
    this.parts.form = form;
    return [form.node, h("div", { class: "buttons" }, button(T.send, "primary", () => {
      if (!form.check()) return this.refuse(T.seeFields);
      return this.send({ value: form.exact() }, T.says.answer);
    }), this.hint()), question.also_text ? this.ownWords(draft) : null];
  }

  // approval builds the controls of an approval: approve immediately; edit, reject and respond with their inputs.
  approval(draft) {
    const { question, parts } = this;
    const several = question.need > 1 || question.rejects > 1;
    const place = h("div", { class: "decision" });
    const buttons = h("div", { class: "buttons" });
    this.begun = { editor: draft.editor, reason: draft.reason };
    const remember = this.remember && mayRemember(question)
      ? new RememberControl(question, this.remember, draft.remember) : null;
    remember?.node.addEventListener("toggle", () => this.node.classList.toggle("brief", this.brief()));
    parts.remember = remember;
    const open = (mode) => {
      this.begun = this.draft();
      parts.mode = mode;
      delete parts.editor;
      delete parts.reason;
      set(place, mode ? this.decision(mode, this.begun) : null);
      buttons.hidden = Boolean(mode);
      if (remember) remember.node.hidden = mode === "reject" || mode === "respond";
      this.node?.classList.toggle("brief", this.brief());
      place.querySelector(inputs)?.focus();
    };
    parts.back = () => {
      open(null);
      this.changed();
      buttons.querySelector("button").focus();
    };
    const approve = () => this.sendApproval({ decision: "approve" }, T.says.approve);
    const begin = (mode) => () => parts.mode ? this.actions.answer() : open(mode);
    const mayEdit = !several && question.schema !== false;
    Object.assign(this.actions, { approve: () => parts.mode ? this.actions.answer() : approve(),
      reject: begin("reject"), edit: mayEdit ? begin("edit") : undefined });
    set(buttons, this.key("a", button(T.approve, "primary", approve)),
      mayEdit ? this.key("e", button(T.edit, "", () => open("edit"))) : null,
      this.key("r", button(T.reject, "danger", () => open("reject"))),
      several ? null : button(T.respond, "quiet", () => open("respond")));
    if (draft.mode) open(draft.mode);
    return [buttons, place, remember?.node];
  }

  // sendApproval sends an approval, with its acknowledged risk, and with what later calls it also counts for.
  sendApproval(reply, says) {
    const remember = this.parts.remember?.part();
    if (!this.riskSeen()) return undefined;
    if (remember?.equal?.length === 0) {
      this.parts.remember.node.open = true;
      return this.refuse(T.rememberSome);
    }
    return this.send({ ...reply, ...this.accepted(), remember }, says);
  }

  decision(mode, draft) {
    const { question } = this;
    const back = h("button", { type: "button", class: "quiet", onclick: () => this.parts.back() }, T.goBack);
    if (mode === "edit") {
      const editor = new ArgumentsEditor(question, draft.editor, () => this.changed());
      this.parts.editor = editor;
      return [h("h2", null, T.editTitle), editor.node, h("div", { class: "buttons" },
        button(T.approveEdited, "primary", () => {
          if (!editor.form.check()) return this.refuse(T.seeFields);
          if (!editor.compare()) return this.refuse(T.editSomething);
          return this.sendApproval({ decision: "edit", value: editor.form.exact() }, T.says.edit);
        }), back)];
    }
    const rejects = mode === "reject";
    return [this.words("reason", rejects ? T.reason : T.response, draft.reason,
      { help: rejects ? T.reasonHelp : T.responseHelp }), h("div", { class: "buttons" },
      button(rejects ? T.reject : T.sendResponse, rejects ? "danger" : "primary", () => {
        const text = this.parts.reason.value;
        if (!rejects && !text.trim()) return this.refuse(T.writeFirst);
        return this.send({ decision: mode, text: text.trim() ? text : undefined }, T.says[mode]);
      }), back)];
  }
}
