// The list of open questions: the most urgent first, the questions of a run together.

import { T } from "./texts.js";
import { Problem, get, getTagged, now, query } from "./api.js";
import { callLine, commonMembers } from "./approval.js";
import { button, fill, h, nameOf, newID, prose, set, shown } from "./dom.js";
import { FilterBar, read, select, write } from "./filters.js";
import { follow, followInbox, refresh } from "./live.js";
import { decided, onReply } from "./outbox.js";
import { problemText } from "./question.js";
import { mostSeveral } from "./several.js";
import { since, until } from "./time.js";

const pageSize = 250;
const most = 2000; // questions in the list; the oldest if there are more
const slice = 60; // rows shown at once; scrolling adds more
const hour = 3600 * 1000;

// Inbox shows the list in a node.
export class Inbox {
  constructor(node) {
    this.tags = "";
    this.questions = [];
    this.everybody = false; // all open questions are listed, not only those for this person
    this.picked = new Set(); // the questions selected for one decision, by key
    this.found = null; // what a search on the server has found
    this.problem = null; // why the list cannot be read
    this.common = new Map(); // the members of arguments that are equal in all calls of a tool, by tool
    this.following = []; // what followed the displayed question when it was last listed
    this.meanwhile = new Map(); // changes while a list was being read, by run
    this.rows = new Map(); // by key: { node, q, text, state }
    this.groups = new Map(); // of rows, by section and run: { node, list, text }
    this.sections = new Map(); // by id and title: { node, list }
    this.limit = slice;
    this.filters = new Map();
    this.selected = "";
    this.count = h("span", { class: "count" });
    this.list = h("div", { class: "sections" });
    this.several = h("div", { class: "picked", hidden: true });
    this.bar = new FilterBar({ questions: () => this.questions, changed: (filters) => this.filterBy(filters) });
    this.note = h("div", { class: "note", role: "status", hidden: true });
    this.more = h("button", { type: "button", class: "more-rows", onclick: () => this.showMore() }, T.more);
    set(node, h("div", { class: "list-head" }, h("h1", null, T.inbox, " ", this.count), this.bar.node,
      this.several), this.list, this.more, this.note);
    const near = new IntersectionObserver((all) => {
      if (!all.some((one) => one.isIntersecting) || !this.showMore()) return;
      near.unobserve(this.more); // it reports only changes: a fast scroller is already at the new end
      near.observe(this.more);
    }, { root: node, rootMargin: "1200px" });
    near.observe(this.more);
    node.addEventListener("keydown", (e) => this.move(e));
    follow(() => this.read(), (change) => this.apply(change));
    onReply(() => this.show());
  }

  find(run, id) {
    return this.questions.find((q) => q.run_id === run && q.question.id === id)?.question;
  }

  // filterBy lists the questions that pass the filters, and writes them into the address.
  filterBy(filters) {
    const everybody = filters.get("scope") === "all";
    const other = everybody !== this.everybody;
    this.filters = filters;
    this.limit = slice;
    clearTimeout(this.writing);
    const { hash } = location;
    this.writing = setTimeout(() => hash === location.hash && this.writeAddress(), 200); // browsers limit such changes
    this.bar.take(filters);
    this.show();
    this.changed?.();
    if (!other) return;
    this.everybody = everybody;
    this.tags = "";
    this.loaded = false;
    followInbox(query({ all: everybody }));
    refresh();
  }

  writeAddress() {
    const path = location.hash.split("?")[0] || "#/inbox";
    const text = write(this.filters);
    if (path.startsWith("#/inbox")) history.replaceState(null, "", text ? `${path}?${text}` : path);
  }

  // address takes the filters of an address; without any, those before stay, and are added to it.
  address(text) {
    const filters = text === undefined ? this.filters : read(text);
    if (text !== undefined || filters.size) this.filterBy(filters);
  }

  async read() {
    this.reading = true;
    try {
      await this.readAll();
      this.problem = null;
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      this.problem = problemText(e);
      this.take([], false);
    } finally {
      this.reading = false;
    }
  }

  async readAll() {
    let questions = [];
    this.meanwhile.clear();
    const tags = [];
    let after = "";
    do {
      const { value, tag } = await getTagged("api/inbox" + query({ limit: pageSize, after, all: this.everybody }));
      tags.push(tag);
      questions.push(...value.questions);
      after = value.next;
      if (this.questions.length === 0 && questions.length) this.take(questions, true); // the first page
    } while (after && questions.length < most);
    this.loaded = true;
    if (this.tags === tags.join()) return;
    this.tags = this.meanwhile.size ? "" : tags.join();
    if (this.meanwhile.size) { // the list may be older than the changes
      questions = [...questions.filter((q) => !this.meanwhile.has(q.run_id)), ...[...this.meanwhile.values()].flat()];
    }
    this.take(questions, Boolean(after));
  }

  // apply replaces the listed questions of a run.
  apply({ run_id: run, questions }) {
    if (!this.loaded) return true;
    this.tags = "";
    if (this.reading) this.meanwhile.set(run, questions);
    this.take([...this.questions.filter((q) => q.run_id !== run), ...questions], this.unlisted);
    return this.reading; // the running read may be older than the change: read once more
  }

  take(questions, there) {
    this.questions = questions;
    this.common = commonMembers(questions);
    if (this.picked.size) {
      const there = new Set(questions.map(keyOf));
      for (const key of this.picked) if (!there.has(key)) this.picked.delete(key);
    }
    this.unlisted = there;
    this.show();
    this.changed?.();
  }

  select(run, id) {
    this.selected = run ? `${run}/${id}` : "";
    this.following = [];
    this.mayBeHidden = true;
    this.show();
  }

  // showSelected scrolls to the displayed question, once the list has it. Rows get their sizes when they come into
  // view, so it looks again in the next frames.
  showSelected(again = 5) {
    const row = this.mayBeHidden && this.list.querySelector("a.row[aria-current]");
    if (!row) return;
    row.scrollIntoView({ block: "nearest" });
    if (again > 0) requestAnimationFrame(() => this.showSelected(again - 1));
    else this.mayBeHidden = !this.loaded;
  }

  // order returns the questions as listed.
  order(sections = arrange(this.wanted(), this.filters.get("sort"))) {
    return sections.flatMap((s) => s.groups).flatMap((g) => g.questions);
  }

  // step returns the question before or after the displayed one, for which pass holds. After the last comes the first:
  // the skipped ones come again. If the displayed question has left the list, its former followers follow.
  step(by, pass = () => true) {
    const all = this.order();
    let at = all.findIndex((q) => keyOf(q) === this.selected);
    if (at < 0 && this.selected) {
      const left = new Map(all.map((q, i) => [keyOf(q), i]));
      const follower = this.following.find((key) => left.has(key));
      at = (follower === undefined ? 0 : left.get(follower)) - (by > 0 ? 1 : 0);
    }
    if (at < 0 && by < 0) at = 0;
    for (let i = 1; i <= all.length; i++) {
      const q = all[(at + i * by + all.length * 2) % all.length];
      if (keyOf(q) !== this.selected && pass(q)) return q;
    }
    return null;
  }

  // next returns the next question of the list that needs a decision of this person.
  next() {
    const found = this.step(1, (q) => q.question.may_reply && !decided(q.run_id, q.question.id));
    return found && { href: hrefOf(found), title: titleOf(found.question) };
  }

  // neighbour returns the address of the next or previous question, whether it can be answered or not.
  neighbour(by) {
    const found = this.step(by);
    return found ? hrefOf(found) : null;
  }

  // waiting describes the list, for the pane of a person who has not chosen a question.
  waiting() {
    const all = this.wanted().filter((q) => q.question.may_reply && !decided(q.run_id, q.question.id));
    if (!this.loaded || all.length === 0) {
      const none = this.loaded && this.wanted().length === 0;
      return h("p", { class: "empty muted" }, !none ? T.pickQuestion : this.filters.size ? T.nothingFound : T.allDone);
    }
    const count = (of) => [...Map.groupBy(all, of)].map(([name, some]) => [name, some.length]);
    const first = this.step(1, (q) => q.question.may_reply && !decided(q.run_id, q.question.id));
    const oldest = all.reduce((a, b) => a.question.asked_at < b.question.asked_at ? a : b);
    const chip = (label, n, name = "") => h("li", { class: `label-chip ${name}` }, label, ": ", String(n));
    return h("div", { class: "empty waiting" },
      h("h1", { class: "big", tabindex: "-1" }, T.waiting(all.length, this.unlisted)),
      h("ul", { class: "chips" }, arrange(all).filter((s) => s.id !== "open").map((s) =>
        chip(T.sections[s.id], this.order([s]).length, s.id)),
      count((q) => q.question.kind).map(([kind, n]) => chip(T.kinds[kind], n))),
      h("p", { class: "muted" }, T.oldestAsked, " ", since(oldest.question.asked_at), "."),
      h("p", null, h("a", { class: "button", href: hrefOf(first), "data-shortcut": "Enter" }, T.startHere)));
  }

  showMore() {
    if (this.limit >= this.questions.length) return false;
    this.limit += slice / 2; // few, so that a person who scrolls does not wait for them
    this.show();
    return true;
  }

  wanted() {
    const text = this.filters.get("text");
    const found = text && this.found?.text === text ? this.found.questions : [];
    const listed = new Set(found.length ? this.questions.map(keyOf) : []);
    return [...select(this.questions, this.filters),
      ...select(found, this.filters).filter((q) => !listed.has(keyOf(q)))];
  }

  show() {
    const wanted = this.wanted();
    this.count.textContent = String(wanted.length) + (this.unlisted ? "+" : "");
    const focused = document.activeElement?.closest?.("[data-key]")?.dataset.key;
    const arranged = arrange(wanted, this.filters.get("sort"));
    if (this.selected) this.keepPlace(this.order(arranged));
    let left = this.limit;
    const sections = [];
    for (const { id, title, groups } of arranged) {
      if (left <= 0) break;
      const parts = [];
      for (const group of groups) {
        if (left <= 0) break;
        left -= group.questions.length;
        parts.push(this.group(id, group));
      }
      const section = this.section(id, title ?? T.sections[id]);
      fill(section.list, parts);
      sections.push(section.node);
    }
    if (sections.length) {
      fill(this.list, sections);
      if (!this.painted) performance.mark("first-row");
      this.painted = true;
    }
    else set(this.list, h("div", { class: "empty" }, this.problem ? h("p", { role: "alert" }, this.problem)
      : !this.loaded ? T.loading : this.filters.size ? h("p", { class: "big" }, T.nothingFound)
        : [h("p", { class: "big" }, T.allDone), h("p", null, T.allDoneHelp)]));
    this.more.hidden = left > 0;
    this.showNote();
    this.showPicked();
    this.showSelected();
    if (focused && !this.list.contains(document.activeElement)) {
      this.list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }
  }

  // searchAll searches the questions that are not listed because there are too many. The server stops after a while;
  // the next call continues there.
  async searchAll() {
    const text = this.filters.get("text");
    const before = this.found?.text === text ? this.found : { text, questions: [], next: "", searched: 0 };
    try {
      const { questions, next, searched } = await get("api/inbox" + query({ q: text, limit: pageSize,
        after: before.next, all: this.everybody }));
      this.found = { text, questions: [...before.questions, ...questions], next,
        searched: before.searched + (searched ?? 0) };
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      this.found = { ...before, problem: problemText(e) };
    }
    this.show();
  }

  // pick selects a question for a decision about several, or deselects it.
  pick(key, on = !this.picked.has(key)) {
    if (on && this.picked.size < mostSeveral) this.picked.add(key);
    else this.picked.delete(key);
    this.show();
  }

  pickedQuestions() {
    return this.order().filter((q) => this.picked.has(keyOf(q)));
  }

  showPicked() {
    const { size } = this.picked;
    this.several.hidden = size === 0;
    if (size === 0) return;
    set(this.several, h("span", null, T.picked(size)), " ", h("a", { class: "button small", href: "#/several",
      "data-shortcut": "b" }, T.compare), button(T.deselect, "small quiet", () => {
      this.picked.clear();
      this.show();
    }));
  }

  showNote() {
    const text = this.filters.get("text");
    const found = text && this.found?.text === text ? this.found : null;
    this.note.hidden = !this.unlisted || !text;
    if (this.note.hidden) return;
    set(this.note, h("p", null, found ? T.searched(found.searched, found.next) : T.onlyListed(this.questions.length)),
      found?.problem ? h("p", { class: "fault", role: "alert" }, found.problem) : null,
      found && !found.next ? null : button(found ? T.searchOn : T.searchAll, "small", () => this.searchAll()));
  }

  // keepPlace remembers the place of the displayed question, and lists enough to show it.
  keepPlace(order) {
    const at = order.findIndex((q) => keyOf(q) === this.selected);
    if (at < 0) return;
    this.following = order.slice(at + 1).map(keyOf);
    this.limit = Math.max(this.limit, at + slice);
  }

  section(id, title) {
    const key = `${id} ${title}`;
    if (!this.sections.has(key)) {
      const list = h("ul");
      const heading = newID("section");
      this.sections.set(key, { list, node: h("section", { "aria-labelledby": heading },
        h("h2", { id: heading, class: id, dir: "auto" }, title), list) });
    }
    return this.sections.get(key);
  }

  // group returns the rows of a run with its name. The node stays the same while its name does, so that only new rows
  // are laid out.
  group(id, group) {
    const key = `${id} ${group.run}`;
    const text = JSON.stringify([group.title, group.labels]);
    if (this.groups.get(key)?.text !== text) {
      const list = h("ul");
      this.groups.set(key, { text, list, node: h("li", { class: "run-group" }, h("h3", { dir: "auto" },
        group.title ? [prose(group.title), " ", h("span", { class: "label-chip" }, shown(group.run))]
          : shown(group.run),
        group.labels.map(([name, value]) => h("span", { class: "label-chip" }, shown(`${name}: ${value}`)))), list) });
    }
    const { list, node } = this.groups.get(key);
    if (this.groups.size > 2 * most) this.groups.clear();
    fill(list, group.questions.map((q) => this.row(q)));
    return node;
  }

  // row returns the row of a question, rebuilt only if it would show something else.
  row(q) {
    const key = keyOf(q);
    const answered = decided(q.run_id, q.question.id);
    const { question } = q;
    const common = this.common.get(question.subject?.tool);
    const picked = this.picked.has(key);
    const known = this.rows.get(key);
    const state = [key === this.selected, answered, picked, common ? [...common].join() : ""].join();
    if (known?.q === q && known.state === state) return known.node;
    const text = JSON.stringify(q);
    if (known?.text === text && known.state === state) {
      known.q = q;
      return known.node;
    }
    const title = titleOf(question);
    const node = h("li", { class: picked ? "pickable picked-row" : "pickable" }, h("input", { type: "checkbox",
      class: "row-pick", checked: picked, "aria-label": T.pickRow(title.slice(0, 80)),
      onchange: (e) => this.pick(key, e.currentTarget.checked) }), h("a", { href: hrefOf(q),
      "data-key": key, class: answered ? "row answered" : "row",
      "aria-current": key === this.selected ? "true" : null },
    h("span", { class: "title", dir: "auto" }, prose(title.slice(0, 300))),
    question.prompt !== title ? h("span", { class: "asked", dir: "auto" }, prose(question.prompt.slice(0, 200))) : null,
    question.subject?.summary ? h("strong", { class: "summary", dir: "auto" }, shown(question.subject.summary)) : null,
    question.subject ? callLine(question, common) : null,
    h("span", { class: "meta" }, h("span", { class: "kind" }, T.kinds[question.kind]), this.standing(q, answered))));
    this.rows.set(key, { node, q, text, state });
    if (this.rows.size > 2 * most) this.rows.clear();
    return node;
  }

  // standing describes a question's status in a few words.
  standing(q, answered) {
    const { question } = q;
    const parts = answered ? [h("span", { class: "answered" }, T.answeredByYou)] : [];
    const ends = endOf(q);
    if (question.claim) {
      parts.push(h("span", { class: "claim", dir: "auto" },
        question.claim.mine ? T.yours : shown(T.with(nameOf(question.claim)))));
    }
    if (question.need > 1) {
      parts.push(h("span", { class: "votes" }, T.votesOf((question.votes ?? []).filter((v) => v.decision === "approve")
        .length, question.need)));
    }
    if (q.notes) parts.push(h("span", { class: "noted" }, T.notesOf(q.notes)));
    if (question.subject?.risk) parts.push(h("span", { class: "risky" }, T.risk));
    parts.push(ends ? until(ends, "due") : since(question.asked_at));
    return parts;
  }

  // move moves through the rows with the arrow keys.
  move(e) {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const rows = [...this.list.querySelectorAll("a.row")];
    const at = rows.indexOf(document.activeElement);
    const to = rows[at < 0 ? 0 : at + (e.key === "ArrowDown" ? 1 : -1)];
    if (!to) return;
    e.preventDefault();
    to.focus();
  }
}

function keyOf(q) {
  return `${q.run_id}/${q.question.id}`;
}

function hrefOf(q) {
  return `#/inbox/${encodeURIComponent(q.run_id)}/${q.question.id}`;
}

function titleOf(question) {
  return question.subject?.title || question.prompt;
}

// endOf returns when a question is due; reminders do not count.
function endOf(q) {
  return q.question.ends_at;
}

// arrange divides questions into sections: by urgency, and all questions of a run follow its most urgent one; or in
// another order.
export function arrange(questions, sort) {
  if (sort) return sorted(questions, sort);
  const at = now();
  const runs = new Map();
  for (const q of questions) {
    const end = Date.parse(endOf(q) ?? "") || Infinity;
    const { claim } = q.question;
    const section = !q.question.may_reply ? claim && !claim.mine ? "others" : "elsewhere" : claim?.mine ? "mine"
      : end < at ? "overdue" : end < at + hour ? "soon" : end < at + 24 * hour ? "today" : "open";
    const key = `${section} ${q.run_id}`;
    const group = runs.get(key) ?? { ...groupOf(q), section, end, asked: q.question.asked_at };
    group.end = Math.min(group.end, end);
    group.questions.push(q);
    runs.set(key, group);
  }
  const groups = [...runs.values()];
  groups.sort((a, b) => (a.end === b.end ? 0 : a.end - b.end) || (a.asked < b.asked ? -1 : 1));
  return ["overdue", "mine", "soon", "today", "open", "others", "elsewhere"]
    .map((id) => ({ id, groups: groups.filter((g) => g.section === id) })).filter((s) => s.groups.length);
}

function groupOf(q) {
  return { run: q.run_id, title: q.title, labels: Object.entries(q.labels ?? {}), questions: [] };
}

// sorted lists questions by their time, or those of each tool together.
function sorted(questions, sort) {
  const tool = (q) => sort === "tool" ? q.question.subject?.tool ?? "" : "";
  const sign = sort === "newest" ? -1 : 1;
  const all = [...questions].sort((a, b) => (tool(a) < tool(b) ? -1 : tool(a) > tool(b) ? 1 : 0) ||
    sign * (a.question.asked_at < b.question.asked_at ? -1 : a.question.asked_at > b.question.asked_at ? 1 : 0));
  const sections = [];
  for (const q of all) {
    if (!sections.length || tool(q) !== sections.at(-1).tool) {
      sections.push({ id: `sorted-${sections.length}`, tool: tool(q), groups: [],
        title: sort !== "tool" ? T.sorts[sort] ?? "" : tool(q) ? shown(tool(q)) : T.noTool });
    }
    const { groups } = sections.at(-1);
    if (groups.at(-1)?.run !== q.run_id) groups.push(groupOf(q));
    groups.at(-1).questions.push(q);
  }
  return sections;
}
