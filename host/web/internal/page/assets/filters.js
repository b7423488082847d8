// Which questions the inbox lists, and in which order. The choice is kept in the address after the #, so that it can be
// sent to others and saved in this browser under a name.

import { T } from "./texts.js";
import { now } from "./api.js";
import { button, h, newID, prose, set, shown } from "./dom.js";
import { change, onChange, settings } from "./settings.js";
import { visible } from "./visible.js";

const hour = 3600 * 1000;
const ages = { hour, day: 24 * hour, week: 7 * 24 * hour };
const mostOptions = 100; // of a menu, the most frequent
const mostViews = 20;

// tests report whether a question passes a filter with a value.
const tests = {
  text: (q, text) => textOf(q).includes(text.toLowerCase()),
  kind: ({ question }, kind) => question.kind === kind,
  tool: ({ question }, tool) => question.subject?.tool === tool,
  group: ({ question }, group) => question.to?.groups?.includes(group),
  label: ({ labels }, label) => Object.entries(labels ?? {}).some(([name, value]) => `${name}=${value}` === label),
  risk: ({ question }, risk) => Boolean(question.subject?.risk || question.kind === "risk_ack") === (risk === "yes"),
  age: ({ question }, age) => now() - Date.parse(question.asked_at) >= (ages[age] ?? 0),
  claimed: ({ question: { claim } }, by) => by === "none" ? !claim : by === "mine" ? claim?.mine : claim && !claim.mine,
};

// options are the values that questions have, for the menus whose values depend on them.
const options = {
  tool: ({ question }) => question.subject ? [question.subject.tool] : [],
  group: ({ question }) => question.to?.groups ?? [],
  label: ({ labels }) => Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`),
};

const choices = { kind: () => T.kinds, risk: () => T.riskFilter, age: () => T.ages, claimed: () => T.claimFilter,
  scope: () => T.scopes, sort: () => T.sorts };

// textOf returns the text of a question in which a person searches.
function textOf({ run_id: run, title, labels, question: { prompt, context, subject } }) {
  return [run, title, prompt, context, subject?.title, subject?.tool, subject?.risk, subject && argumentsText(subject),
    ...Object.values(labels ?? {})].join("\n").toLowerCase();
}

function argumentsText(subject) {
  return subject.arguments_text ?? JSON.stringify(subject.arguments) ?? "";
}

// read returns the filters of an address; unknown ones are ignored.
export function read(text) {
  const known = [...Object.keys(tests), "scope", "sort"];
  return new Map([...new URLSearchParams(text)].filter(([name, value]) => known.includes(name) && value));
}

// write is the reverse of read.
export function write(filters) {
  return new URLSearchParams([...filters].filter(([, value]) => value)).toString();
}

// select returns the questions that pass all filters.
export function select(questions, filters) {
  const active = [...filters].filter(([name]) => tests[name]);
  return active.length ? questions.filter((q) => active.every(([name, value]) => tests[name](q, value))) : questions;
}

// FilterBar shows the filters, and calls changed with new ones.
export class FilterBar {
  constructor({ changed, questions }) {
    Object.assign(this, { changed, questions, filters: new Map() });
    this.search = h("input", { type: "search", placeholder: T.filter, "aria-label": T.filter,
      oninput: () => this.put("text", this.search.value.trim()) });
    this.menus = h("div", { class: "menus" });
    this.details = h("details", { class: "filters", ontoggle: () => this.showMenus() }, h("summary", null, T.filters),
      this.menus);
    this.chips = h("div", { class: "chips", role: "group", "aria-label": T.activeFilters });
    this.views = h("nav", { class: "chips", "aria-label": T.savedViews });
    this.node = h("div", { class: "filter-bar" }, this.search, this.views, this.chips, this.details);
    onChange(() => this.showViews());
  }

  // take shows the filters of an address.
  take(filters) {
    this.filters = filters;
    const text = filters.get("text") ?? "";
    if (this.search.value.trim() !== text) this.search.value = text;
    this.showChips();
    this.showViews();
    this.showMenus();
  }

  put(name, value) {
    const filters = new Map(this.filters);
    if (value) filters.set(name, value);
    else filters.delete(name);
    this.changed(filters);
  }

  showChips() {
    const active = [...this.filters].filter(([name]) => name !== "text");
    set(this.chips, active.map(([name, value]) => h("button", { type: "button", class: "chip", "aria-pressed": "true",
      "aria-label": T.removeFilter(T.filterNames[name], visible(this.label(name, value))),
      onclick: () => this.put(name, "") }, T.filterNames[name], ": ", h("span", { dir: "auto" },
      shown(this.label(name, value))), " ×")),
    active.length > 1 ? h("button", { type: "button", class: "chip", onclick: () => this.changed(new Map()) }, T.clear)
      : null);
    this.chips.hidden = active.length === 0;
  }

  label(name, value) {
    return choices[name]?.()[value] ?? value;
  }

  // showMenus shows the menus with the values of the listed questions, while they are open.
  showMenus() {
    if (!this.details.open || this.menus.contains(document.activeElement) && this.menus.firstChild) return;
    set(this.menus, ["kind", "tool", "group", "label", "risk", "age", "claimed", "scope", "sort"].map((name) =>
      this.menu(name)), this.saver());
  }

  menu(name) {
    const id = newID("filter");
    const value = this.filters.get(name) ?? "";
    const all = choices[name] ? Object.entries(choices[name]()) : this.values(name);
    if (value && !all.some(([one]) => one === value)) all.push([value, visible(value)]);
    const first = name === "sort" ? T.sortDefault : name === "scope" ? T.scopeDefault : T.any;
    return h("div", { class: "menu" }, h("label", { for: id }, T.filterNames[name]), h("select", { id,
      onchange: (e) => this.put(name, e.currentTarget.value) }, h("option", { value: "" }, first),
    all.map(([one, label]) => h("option", { value: one, selected: one === value }, label))));
  }

  // values returns the values of a filter with the numbers of their questions.
  values(name) {
    const counts = new Map();
    for (const q of this.questions()) for (const one of options[name](q)) counts.set(one, (counts.get(one) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, mostOptions)
      .map(([one, n]) => [one, `${visible(one)} (${n})`]);
  }

  // saver saves the current filters under a name.
  saver() {
    const name = h("input", { type: "text", id: newID("view"), autocomplete: "off", maxlength: 40 });
    const save = () => {
      const chosen = name.value.trim();
      if (!chosen) {
        name.focus();
        return;
      }
      const views = { ...settings.views, [chosen]: write(this.filters) };
      change({ views: Object.fromEntries(Object.entries(views).slice(-mostViews)) });
      name.value = "";
    };
    name.addEventListener("keydown", (e) => e.key === "Enter" && save());
    return h("div", { class: "menu saver" }, h("label", { for: name.id }, T.saveView),
      h("div", { class: "inline" }, name, button(T.save, "small", save)));
  }

  showViews() {
    const all = Object.entries(settings.views);
    const now = write(this.filters);
    this.views.hidden = all.length === 0;
    set(this.views, all.map(([name, query]) => h("span", { class: "view" }, h("a", { class: "chip", dir: "auto",
      href: `#/inbox?${query}`, "aria-current": query === now ? "true" : null }, prose(name)),
    h("button", { type: "button", class: "chip remove", "aria-label": T.removeView(visible(name, true)),
      onclick: () => {
        const { [name]: gone, ...views } = settings.views;
        change({ views });
      } }, "×"))));
  }
}
