// A field for several names of people or groups: typed, or picked from the host's directory.

import { T } from "./texts.js";
import { announce, h, newID, prose, set, shown } from "./dom.js";
import { get, query } from "./api.js";

const pause = 150; // milliseconds after the last key

// suggester returns a function that searches the directory for the names to whom a question may be reassigned.
export function suggester(path) {
  return async (text, signal) => {
    const { people, groups } = await get(`${path}/names` + query({ q: text }), signal);
    return { people, groups: groups.map((id) => ({ id })) };
  };
}

// NamesField is the field. kind is people or groups, and search is a suggester, or null without a directory.
export class NamesField {
  constructor(kind, search) {
    Object.assign(this, { kind, search, chosen: [], found: [], active: -1 });
    const id = newID("names");
    this.listID = `${id}-list`;
    this.input = h("input", { type: "text", id, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-help`,
      ...search ? { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
        "aria-controls": this.listID } : {},
      oninput: () => this.typed(), onkeydown: (e) => this.key(e), onblur: () => this.close() });
    this.list = h("ul", { class: "suggestions", role: "listbox", id: this.listID, "aria-label": T[kind], hidden: true });
    this.chips = h("span", { class: "chips" });
    this.node = h("div", { class: "field names" }, h("label", { for: id }, T[kind]), h("p", { class: "help",
      id: `${id}-help` }, search ? T.pickHelp : T.namesHelp), this.chips, h("div", { class: "picker" }, this.input,
      search ? this.list : null));
  }

  // names returns the chosen names, and those still in the input.
  names() {
    const typed = this.input.value.split(",").map((name) => name.trim()).filter(Boolean);
    return [...new Set([...this.chosen.map(({ id }) => id), ...typed])];
  }

  focus() {
    this.input.focus();
  }

  typed() {
    if (!this.search) return;
    clearTimeout(this.soon);
    this.asking?.abort();
    const text = this.input.value.split(",").at(-1).trim();
    if (text === "" || [...text].length > 64) {
      this.close();
      return;
    }
    this.soon = setTimeout(async () => {
      this.asking = new AbortController();
      const { signal } = this.asking;
      let found;
      try {
        found = (await this.search(text, signal))[this.kind];
      } catch { // the name can still be typed
        found = [];
      }
      if (!signal.aborted && document.activeElement === this.input) this.open(found);
    }, pause);
  }

  open(found) {
    this.found = found.filter(({ id }) => !this.chosen.some((one) => one.id === id));
    if (!this.found.length) {
      this.close();
      return;
    }
    this.active = -1;
    set(this.list, this.found.map(({ id, name }, i) => h("li", { role: "option", id: `${this.listID}-${i}`,
      "aria-selected": "false", onmousedown: (e) => { // before the input loses the focus
        e.preventDefault();
        this.pick(i);
      } }, h("span", { dir: "auto" }, name ? prose(name) : shown(id)),
    name ? h("span", { class: "muted mono", dir: "auto" }, " ", shown(id)) : null)));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(-1);
    announce(T.suggested(this.found.length));
  }

  close() {
    clearTimeout(this.soon);
    this.asking?.abort();
    this.found = [];
    set(this.list);
    this.list.hidden = true;
    if (this.search) this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  mark(active) {
    this.active = active;
    [...this.list.children].forEach((one, i) => one.setAttribute("aria-selected", String(i === active)));
    if (active < 0) this.input.removeAttribute("aria-activedescendant");
    else {
      this.input.setAttribute("aria-activedescendant", `${this.listID}-${active}`);
      this.list.children[active].scrollIntoView({ block: "nearest" });
    }
  }

  key(e) {
    const n = this.found.length;
    const text = this.input.value;
    if (e.isComposing) return;
    if (n && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      const step = e.key === "ArrowDown" ? 1 : -1;
      this.mark(this.active < 0 ? (step > 0 ? 0 : n - 1) : (this.active + step + n) % n);
    } else if (n && e.key === "Escape") {
      this.close();
      e.stopPropagation();
    } else if (e.key === "Enter" && n && this.active >= 0) {
      this.pick(this.active);
    } else if (this.search && (e.key === "Enter" || e.key === ",") && text.trim()) {
      for (const id of this.names().filter((id) => !this.chosen.some((one) => one.id === id))) this.add({ id });
      this.input.value = "";
    } else if (e.key === "Backspace" && text === "" && this.chosen.length) {
      this.remove(this.chosen.at(-1));
    } else {
      return;
    }
    e.preventDefault();
  }

  pick(i) {
    this.add(this.found[i]);
  }

  add(one) {
    this.input.value = "";
    this.close();
    if (!this.chosen.some(({ id }) => id === one.id)) this.chosen.push(one);
    this.showChosen();
    announce(T.nameAdded(one.name || one.id));
  }

  remove(one) {
    this.chosen = this.chosen.filter((other) => other !== one);
    this.showChosen();
    announce(T.nameRemoved(one.name || one.id));
    this.input.focus();
  }

  showChosen() {
    set(this.chips, this.chosen.map((one) => h("button", { type: "button", class: "chip", dir: "auto",
      "aria-label": T.removeName(one.name || one.id), onclick: () => this.remove(one) }, one.name ? prose(one.name)
      : shown(one.id), h("span", { "aria-hidden": "true" }, " ×"))));
  }
}
