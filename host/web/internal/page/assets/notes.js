// The notes on a question, and the field for another one. What is typed stays in the field until the note is stored.

import { T } from "./texts.js";
import { Problem, Unreachable, newKey, postOnce } from "./api.js";
import { announce, button, h, newID, said, set } from "./dom.js";
import { dropDraft, keepDraft, readDraft } from "./drafts.js";
import { Suggestions, forWhom, who } from "./names.js";
import { problemText } from "./question.js";
import { since } from "./time.js";

const longest = 4096; // bytes
const begun = /(?:^|[\s(])@(\S{1,64})$/; // a name that is being typed

// Notes shows the notes on one question. stored is called after a note was stored. search is a suggester, or null
// without a directory.
export class Notes {
  constructor(run, id, path, { stored, search }) {
    Object.assign(this, { run, path, stored, draft: { id: `note-${id}`, digest: "" } });
    const field = newID("note");
    const heading = newID("notes");
    this.list = h("ul", { class: "note-list" });
    this.fault = h("p", { class: "fault", role: "alert", hidden: true });
    this.field = h("textarea", { id: field, rows: 2, dir: "auto", "aria-describedby": `${field}-help`,
      oninput: () => this.typed(), onkeydown: (e) => {
        if (this.names?.key(e)) return;
        if (e.key === "Enter" && !e.repeat && (e.ctrlKey || e.metaKey)) this.send();
      } });
    this.names = search && new Suggestions(this.field, { label: T.suggestions, pick: (one) => this.mention(one),
      search: async (text, signal) => {
        const { people, groups } = await search(text, signal);
        return [...people, ...groups];
      } });
    this.help = h("p", { class: "help", id: `${field}-help` });
    this.add = button(T.addNote, "small", () => this.send());
    this.form = h("div", { class: "field" }, h("label", { for: field }, T.writeNote),
      this.help, h("div", { class: "picker" }, this.field, this.names?.node), this.fault,
      h("div", { class: "buttons" }, this.add));
    this.node = h("section", { class: "notes", "aria-labelledby": heading },
      h("h2", { id: heading }, T.notes), this.list, this.form);
    this.field.value = readDraft(run, this.draft)?.text ?? "";
  }

  // show displays the notes. Only an open question takes another one.
  show(question, open) {
    const notes = question.notes ?? [];
    this.for = question.for;
    this.form.hidden = !open;
    this.node.hidden = !open && notes.length === 0;
    const help = this.names && (question.may_reassign || question.claim) ? `${T.noteHelp} ${T.mentionHelp}` : T.noteHelp;
    const signature = [help, open, ...notes.flatMap((n) => [n.name, n.for_name])].join("\n");
    if (this.shown === signature) return;
    this.shown = signature;
    this.help.textContent = help;
    set(this.list, notes.map((n) => h("li", null, h("p", { class: "muted" },
      h("strong", { dir: "auto" }, who(n)), forWhom(n), ", ", since(n.noted_at)),
    said(n.text))));
  }

  // focus moves to the field. It reports whether the question takes notes.
  focus() {
    if (this.form.hidden || !this.node.isConnected) return false;
    this.field.focus();
    this.field.scrollIntoView({ block: "nearest" });
    return true;
  }

  typed() {
    this.keep();
    this.names?.look(begun.exec(this.field.value.slice(0, this.field.selectionStart))?.[1] ?? "");
  }

  // mention replaces the typed beginning by the picked name.
  mention({ id }) {
    const { value, selectionStart: end } = this.field;
    const typed = begun.exec(value.slice(0, end))?.[1] ?? "";
    this.field.setRangeText(`${id} `, end - typed.length, end, "end");
    this.names.close();
    this.keep();
  }

  keep() {
    this.key = undefined; // another text is another note
    if (this.field.value.trim()) keepDraft(this.run, this.draft, { text: this.field.value });
    else dropDraft(this.run, this.draft);
  }

  async send() {
    const text = this.field.value.trim();
    if (this.sending) return;
    if (!text || new TextEncoder().encode(text).length > longest) {
      this.say(text ? T.noteTooLong : T.noteBlank);
      this.field.focus();
      return;
    }
    this.sending = true;
    this.say("");
    this.key ??= newKey();
    try {
      await postOnce(`${this.path}/notes`, { text, for: this.for }, this.key, () => this.say(T.sendingAgain));
      if (this.field.value.trim() === text) this.field.value = "";
      this.keep();
      this.say("");
      announce(T.noteStored);
      await this.stored();
    } catch (e) {
      if (!(e instanceof Problem || e instanceof Unreachable)) throw e;
      this.say(e instanceof Unreachable ? T.notReached : e.code === "TOO_MANY" ? T.notesFull : problemText(e));
    } finally {
      this.sending = false;
    }
  }

  say(text) {
    this.fault.textContent = text;
    this.fault.hidden = !text;
  }
}
