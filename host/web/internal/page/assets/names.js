// Names of people and groups: typed, or picked from the host's directory.

import { T } from "./texts.js";
import { announce, h, newID, prose, set, shown } from "./dom.js";
import { get, query } from "./api.js";

const pause = 150; // milliseconds after the last key

// suggester returns a function that searches the directory for people and groups, for a question.
export function suggester(path) {
  return async (text, signal) => {
    const { people, groups } = await get(`${path}/names` + query({ q: text }), signal);
    return { people, groups: groups.map((id) => ({ id })) };
  };
}

// fullName shows the name of a person, if the directory has one, and the id.
export function fullName({ id, name }) {
  return [h("span", { dir: "auto" }, name ? prose(name) : shown(id)),
    name ? h("span", { class: "muted mono", dir: "auto" }, " ", shown(id)) : null];
}

// who shows who has acted: "you", or the name and the id.
export function who({ actor, name, mine }) {
  return mine ? T.you : actor ? fullName({ id: actor, name }) : T.somebody;
}

// forWhom shows the absent person for whom a deputy has acted, if any.
export function forWhom({ for: id, for_name: name }) {
  return id ? [" ", T.onBehalfOf, " ", fullName({ id, name })] : null;
}

// Suggestions is the list of names below an input. search returns the names for a text, and pick gets the chosen one.
export class Suggestions {
  constructor(input, { label, search, pick }) {
    Object.assign(this, { input, search, pick, found: [], active: -1, box: input.getAttribute("role") === "combobox" });
    this.id = newID("suggestions");
    this.node = h("ul", { class: "suggestions", role: "listbox", id: this.id, "aria-label": label, hidden: true });
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", this.id);
    input.addEventListener("blur", () => this.close());
    this.close();
  }

  // look suggests names for a text after a pause; an empty text closes the list.
  look(text) {
    clearTimeout(this.soon);
    this.asking?.abort();
    if (text === "" || [...text].length > 64) {
      this.close();
      return;
    }
    this.soon = setTimeout(async () => {
      this.asking = new AbortController();
      const { signal } = this.asking;
      let found;
      try {
        found = await this.search(text, signal);
      } catch { // the name can still be typed
        found = [];
      }
      if (!signal.aborted && document.activeElement === this.input) this.open(found);
    }, pause);
  }

  open(found) {
    if (!found.length) {
      this.close();
      return;
    }
    this.found = found;
    set(this.node, found.map((one, i) => h("li", { role: "option", id: `${this.id}-${i}`, "aria-selected": "false",
      onmousedown: (e) => { // before the input loses the focus
        e.preventDefault();
        this.pick(one);
      } }, fullName(one))));
    this.node.hidden = false;
    if (this.box) this.input.setAttribute("aria-expanded", "true");
    this.mark(-1);
    announce(T.suggested(found.length));
  }

  close() {
    clearTimeout(this.soon);
    this.asking?.abort();
    this.found = [];
    set(this.node);
    this.node.hidden = true;
    if (this.box) this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  mark(active) {
    this.active = active;
    [...this.node.children].forEach((one, i) => one.setAttribute("aria-selected", String(i === active)));
    if (active < 0) this.input.removeAttribute("aria-activedescendant");
    else {
      this.input.setAttribute("aria-activedescendant", `${this.id}-${active}`);
      this.node.children[active].scrollIntoView({ block: "nearest" });
    }
  }

  // key moves in the open list, picks or closes. It reports whether the key was for the list.
  key(e) {
    const n = this.found.length;
    if (!n || e.isComposing) return false;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      const step = e.key === "ArrowDown" ? 1 : -1;
      this.mark(this.active < 0 ? (step > 0 ? 0 : n - 1) : (this.active + step + n) % n);
    } else if (e.key === "Escape") {
      this.close();
      e.stopPropagation();
    } else if (e.key === "Enter" && this.active >= 0 && !e.ctrlKey && !e.metaKey) {
      this.pick(this.found[this.active]);
    } else {
      return false;
    }
    e.preventDefault();
    return true;
  }
}

// NamesField is a field for several names. kind is people or groups, and search is a suggester, or null without a
// directory.
export class NamesField {
  constructor(kind, search) {
    Object.assign(this, { chosen: [] });
    const id = newID("names");
    this.input = h("input", { type: "text", id, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-help`,
      role: search ? "combobox" : null, oninput: () => this.list?.look(this.input.value.split(",").at(-1).trim()),
      onkeydown: (e) => this.key(e) });
    this.list = search && new Suggestions(this.input, { label: T[kind], pick: (one) => this.add(one),
      search: async (text, signal) => (await search(text, signal))[kind].filter((one) => !this.has(one)) });
    this.chips = h("span", { class: "chips" });
    this.node = h("div", { class: "field names" }, h("label", { for: id }, T[kind]), h("p", { class: "help",
      id: `${id}-help` }, search ? T.pickHelp : T.namesHelp), this.chips, h("div", { class: "picker" }, this.input,
      this.list?.node));
  }

  // names returns the chosen names, and those still in the input.
  names() {
    const typed = this.input.value.split(",").map((name) => name.trim()).filter(Boolean);
    return [...new Set([...this.chosen.map(({ id }) => id), ...typed])];
  }

  has({ id }) {
    return this.chosen.some((one) => one.id === id);
  }

  focus() {
    this.input.focus();
  }

  key(e) {
    const text = this.input.value;
    if (e.isComposing || this.list?.key(e)) return;
    if (this.list && (e.key === "Enter" || e.key === ",") && text.trim()) {
      for (const id of this.names()) this.add({ id });
    } else if (e.key === "Backspace" && text === "" && this.chosen.length) {
      this.remove(this.chosen.at(-1));
    } else {
      return;
    }
    e.preventDefault();
  }

  add(one) {
    this.input.value = "";
    this.list?.close();
    if (this.has(one)) return;
    this.chosen.push(one);
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
