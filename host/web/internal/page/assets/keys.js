// Single keys, for people who decide all day. They can be switched off (WCAG 2.1.4), and a field, a menu or an open
// dialog keeps its keys.

import { T } from "./texts.js";
import { h, newID, set, shown } from "./dom.js";
import { languages } from "./language.js";
import { change, onChange, settings } from "./settings.js";

const sequence = 1500; // milliseconds for the second key of a pair
const fields = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const undoTimes = [0, 5, 10, 30, 60];
const themes = ["auto", "light", "dark"];

// Keys calls the actions of a table: the key, or two keys of which the first is g, to { name, act, repeats }. act
// returns false if there is nothing to do.
export class Keys {
  constructor(table) {
    this.table = table;
    this.first = null;
    document.addEventListener("keydown", (e) => this.press(e));
    onChange(() => { document.body.dataset.shortcuts = settings.keys ? "on" : "off"; });
  }

  press(e) {
    if (e.defaultPrevented || e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (e.target.closest?.(fields)) {
      if (e.key === "Escape") this.table.Escape?.act(e.target);
      return;
    }
    if (!settings.keys || e.key === "Shift") return;
    const first = this.first && e.timeStamp - this.first.at < sequence ? this.first.key : "";
    this.first = null;
    const action = this.table[first ? `${first} ${e.key}` : e.key];
    if (e.key === "g" && !first) {
      this.first = { key: "g", at: e.timeStamp };
      return;
    }
    if (!action || e.repeat && !action.repeats) return; // a held key decides once
    const digit = /^[1-9]$/.test(e.key) ? Number(e.key) : undefined;
    if (action.act(e.target, digit) !== false) e.preventDefault();
  }
}

// Preferences is the dialog with the keys, the settings, and who the person is.
export class Preferences {
  constructor(me, table, { mayNotify }) {
    Object.assign(this, { me, table, mayNotify });
    this.node = h("dialog", { class: "preferences", "aria-labelledby": "preferences-title" });
    this.node.addEventListener("click", (e) => { // outside of the dialog
      if (e.target === this.node) this.node.close();
    });
    document.body.append(this.node);
    onChange(() => this.node.open && this.show());
  }

  open() {
    if (this.node.open) return;
    this.show();
    this.node.showModal();
  }

  show() {
    const focused = this.node.contains(document.activeElement) ? document.activeElement.id : "";
    set(this.node, h("div", { class: "dialog-head" }, h("h1", { id: "preferences-title" }, T.preferences),
      h("button", { type: "button", class: "small", onclick: () => this.node.close() }, T.close)),
    this.who(), h("h2", null, T.settings), this.settings(), h("h2", null, T.keysTitle), this.keys());
    if (focused) document.getElementById(focused)?.focus();
  }

  who() {
    const { me } = this;
    if (!me.identified) return h("p", null, T.notSignedIn);
    return h("p", null, T.signedInAs, " ", h("strong", { dir: "auto" }, shown(me.id)),
      me.groups.length ? [" ", T.inGroups, " ", me.groups.map((group, i) => [i ? ", " : "",
        h("span", { dir: "auto" }, shown(group))])] : null, me.via ? [" ", h("span", { class: "muted" },
      shown(T.via(me.via)))] : null, me.sign_out ? [" ", h("a", { href: me.sign_out }, T.signOut)] : null);
  }

  settings() {
    const pick = (id, label, value, all, text, take) => h("div", { class: "setting" }, h("label", { for: id }, label),
      h("select", { id, onchange: (e) => take(e.currentTarget.value) }, all.map((one) => h("option",
        { value: String(one), selected: String(one) === String(value) }, text(one)))));
    const check = (id, label, on, take) => h("label", { class: "pick" }, h("input", { type: "checkbox", id, checked: on,
      onchange: (e) => take(e.currentTarget.checked) }), label);
    const times = undoTimes.includes(settings.undo) ? undoTimes : [...undoTimes, settings.undo];
    return h("div", { class: "settings" },
      check("set-keys", T.useKeys, settings.keys, (keys) => change({ keys })),
      this.mayNotify() ? check("set-notify", T.notifyMe, settings.notify, (on) => this.notify(on)) : null,
      pick("set-undo", T.undoTime, settings.undo, times, T.undoTimes, (undo) => change({ undo: Number(undo) })),
      pick("set-theme", T.theme, settings.theme, themes, (one) => T.themes[one], (theme) => change({ theme })),
      pick("set-language", T.language, settings.language, ["auto", ...languages], (one) => T.languages[one],
        (language) => {
          change({ language });
          location.reload();
        }));
  }

  // notify asks the browser for its permission, which only a press may do.
  async notify(on) {
    const granted = on && await Notification.requestPermission() === "granted";
    change({ notify: granted });
    if (on && !granted) this.node.querySelector(".settings").append(h("p", { class: "fault", role: "alert",
      id: newID("fault") }, T.notifyDenied));
  }

  keys() {
    const all = Object.entries(this.table).map(([key, { name }]) => [name, key]);
    const of = (name) => all.filter(([one]) => one === name).map(([, key]) => key);
    const shownKeys = (keys) => keys.length > 2 ? [keys[0], "…", keys.at(-1)] : keys;
    const caps = (key) => key === "…" ? " … " : key.split(" ").map((one) => h("kbd", null, T.keyNames[one] ?? one));
    return h("dl", { class: "key-list" }, Object.keys(T.keys).filter((name) => of(name).length).map((name) =>
      h("div", null, h("dt", null, shownKeys(of(name)).map(caps)), h("dd", null, T.keys[name]))));
  }
}
