// The list of open questions: the most urgent first, the questions of a run together.

import { T } from "./texts.js";
import { getTagged, now, query } from "./api.js";
import { h, prose, set, shown } from "./dom.js";
import { follow } from "./live.js";
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
    this.meanwhile = new Map(); // changes while a list was being read, by run
    this.rows = new Map(); // by key: { node, text }
    this.limit = slice;
    this.filter = "";
    this.selected = "";
    this.count = h("span", { class: "count" });
    this.list = h("div", { class: "sections" });
    const search = h("input", { type: "search", placeholder: T.filter, "aria-label": T.filter,
      oninput: () => {
        this.filter = search.value.trim().toLowerCase();
        this.limit = slice;
        this.show();
      } });
    this.more = h("button", { type: "button", class: "more-rows", onclick: () => this.showMore() }, T.more);
    set(node, h("div", { class: "list-head" }, h("h1", null, T.inbox, " ", this.count), search), this.list, this.more);
    new IntersectionObserver((all) => {
      if (all.some((one) => one.isIntersecting)) this.showMore();
    }, { root: node, rootMargin: "600px" }).observe(this.more);
    node.addEventListener("keydown", (e) => this.move(e));
    follow(() => this.read(), (change) => this.apply(change));
  }

  find(run, id) {
    return this.questions.find((q) => q.run_id === run && q.question.id === id)?.question;
  }

  async read() {
    this.reading = true;
    try {
      await this.readAll();
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
      const { value, tag } = await getTagged("api/inbox" + query({ limit: pageSize, after }));
      tags.push(tag);
      questions.push(...value.questions);
      after = value.next;
      if (this.questions.length === 0 && questions.length) this.take(questions, true); // show the first page immediately
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
    this.unlisted = there;
    this.show();
    this.changed?.();
  }

  select(run, id) {
    this.selected = run ? `${run}/${id}` : "";
    this.show();
  }

  // next returns the most urgent question that may be answered, except the displayed one.
  next() {
    const found = arrange(this.questions).flatMap((s) => s.groups).flatMap((g) => g.questions)
      .find((q) => q.question.may_reply && keyOf(q) !== this.selected);
    return found && { href: hrefOf(found), title: titleOf(found.question) };
  }

  showMore() {
    if (this.limit >= this.questions.length) return;
    this.limit += 4 * slice;
    this.show();
  }

  show() {
    const wanted = this.filter ? this.questions.filter((q) => textOf(q).includes(this.filter)) : this.questions;
    this.count.textContent = String(wanted.length) + (this.unlisted ? "+" : "");
    const focused = document.activeElement?.closest?.("[data-key]")?.dataset.key;
    let left = this.limit;
    const sections = [];
    for (const { id, groups } of arrange(wanted)) {
      if (left <= 0) break;
      const parts = [];
      for (const group of groups) {
        if (left <= 0) break;
        left -= group.questions.length;
        parts.push(h("li", { class: "run-group" }, h("h3", { dir: "auto" },
          group.title ? [prose(group.title), " ", h("span", { class: "label-chip" }, shown(group.run))] : shown(group.run),
          group.labels.map(([name, value]) => h("span", { class: "label-chip" }, shown(`${name}: ${value}`)))),
        h("ul", null, group.questions.map((q) => this.row(q)))));
      }
      sections.push(h("section", { "aria-labelledby": `section-${id}` },
        h("h2", { id: `section-${id}`, class: id }, T.sections[id]), h("ul", null, parts)));
    }
    if (sections.length) {
      set(this.list, sections);
      if (!this.painted) performance.mark("first-row");
      this.painted = true;
    }
    else set(this.list, h("div", { class: "empty" }, this.loaded ? [h("p", { class: "big" },
      this.filter ? T.nothingFound : T.allDone), this.filter ? null : h("p", null, T.allDoneHelp)] : T.loading));
    this.more.hidden = left > 0;
    if (focused && !this.list.contains(document.activeElement)) {
      this.list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }
  }

  // row returns the row of a question, rebuilt only if the question has changed.
  row(q) {
    const key = keyOf(q);
    const text = JSON.stringify(q) + (key === this.selected);
    const known = this.rows.get(key);
    if (known?.text === text) return known.node;
    const { question } = q;
    const node = h("li", null, h("a", { href: hrefOf(q), "data-key": key, class: "row",
      "aria-current": key === this.selected ? "true" : null },
    h("span", { class: "title", dir: "auto" }, prose(titleOf(question).slice(0, 300))),
    h("span", { class: "meta" }, h("span", { class: "kind" }, T.kinds[question.kind]), this.standing(q))));
    this.rows.set(key, { node, text });
    if (this.rows.size > 2 * most) this.rows.clear();
    return node;
  }

  // standing describes a question's status in a few words.
  standing(q) {
    const { question } = q;
    const parts = [];
    const ends = endOf(q);
    if (question.claim) {
      parts.push(h("span", { class: "claim", dir: "auto" },
        question.claim.mine ? T.yours : shown(T.with(question.claim.actor))));
    }
    if (question.need > 1) {
      parts.push(h("span", { class: "votes" }, T.votesOf((question.votes ?? []).filter((v) => v.decision === "approve")
        .length, question.need)));
    }
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

function textOf(q) {
  return [q.run_id, q.title, titleOf(q.question), q.question.prompt, ...Object.values(q.labels ?? {})].join("\n").toLowerCase();
}

// endOf returns when a question is due; reminders do not count.
function endOf(q) {
  return q.question.ends_at;
}

// arrange sorts questions into sections by urgency. All questions of a run follow its most urgent one.
export function arrange(questions) {
  const at = now();
  const runs = new Map();
  for (const q of questions) {
    const end = Date.parse(endOf(q) ?? "") || Infinity;
    const mine = q.question.claim?.mine;
    const section = !q.question.may_reply ? "others" : mine ? "mine" : end < at ? "overdue" : end < at + hour ? "soon"
      : end < at + 24 * hour ? "today" : "open";
    const key = `${section} ${q.run_id}`;
    const group = runs.get(key) ?? { section, run: q.run_id, title: q.title, labels: Object.entries(q.labels ?? {}), end,
      asked: q.question.asked_at, questions: [] };
    group.end = Math.min(group.end, end);
    group.questions.push(q);
    runs.set(key, group);
  }
  const groups = [...runs.values()];
  groups.sort((a, b) => (a.end === b.end ? 0 : a.end - b.end) || (a.asked < b.asked ? -1 : 1));
  return ["overdue", "mine", "soon", "today", "open", "others"]
    .map((id) => ({ id, groups: groups.filter((g) => g.section === id) })).filter((s) => s.groups.length);
}
