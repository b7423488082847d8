// Several questions decided at once: a table shows what differs, and each gets its own reply, key, digest and result.

import { T } from "./texts.js";
import { newKey } from "./api.js";
import { argumentsOf, readable } from "./approval.js";
import { button, h, newID, prose, said, set, shown } from "./dom.js";
import { entries, isObject, stringify } from "./exact.js";
import { hold, onReply, replyTo } from "./outbox.js";
import { appear, isReady, problemText } from "./question.js";
import { until } from "./time.js";

export const mostSeveral = 50; // questions in one action

// answersOf returns the answers that a question shares with others of its shape: the text that decides it, by name.
function answersOf(question) {
  if (question.subject) return question.need > 1 || question.rejects > 1 ? { approve: null, reject: null, votes: true }
    : { approve: null, reject: null };
  if (question.kind !== "confirm" && question.kind !== "risk_ack") return null;
  const options = question.options ?? [{ value: "yes", yes: true }, { value: "no" }];
  const yes = options.find((o) => o.yes), no = options.find((o) => !o.yes);
  return options.length === 2 && yes && no ? { approve: yes.value, reject: no.value } : null;
}

// SeveralPanel shows the selected questions in a node. questions returns them as they are now; drop deselects one.
export class SeveralPanel {
  constructor(node, { questions, drop, done }) {
    Object.assign(this, { node, questions, drop, done, acknowledged: new Set(), results: new Map() });
    this.fault = h("p", { class: "fault", role: "alert" });
    this.reason = h("textarea", { id: newID("reason"), rows: 2, dir: "auto" });
    this.node.classList.add("wide");
    this.unwatch = onReply((reply) => this.showResult(reply));
    this.rows = questions().slice(0, mostSeveral);
    this.show();
    appear(this, true);
  }

  close() {
    this.node.classList.remove("wide");
    this.unwatch();
  }

  show() {
    const { rows } = this;
    this.results.clear();
    if (rows.length === 0) {
      set(this.node, h("p", { class: "empty muted" }, T.noneSelected));
      return;
    }
    const able = rows.every((q) => q.question.may_reply && answersOf(q.question));
    const kinds = new Set(rows.map((q) => q.question.subject ? "approval" : q.question.kind));
    set(this.node, h("h1", { tabindex: "-1" }, T.several(rows.length)), this.common(), this.table(),
      able && kinds.size === 1 ? this.controls() : h("p", { class: "notice warn" }, able ? T.mixedKinds : T.notAlike),
      this.fault);
  }

  // columns are the parts of the questions, with their values; those that are equal in all are said once.
  columns() {
    const parts = new Map();
    const put = (name, i, value) => {
      if (value === undefined || value === "") return;
      if (!parts.has(name)) parts.set(name, new Array(this.rows.length).fill(undefined));
      parts.get(name)[i] = value;
    };
    this.rows.forEach(({ question }, i) => {
      put(T.title2, i, question.subject?.title || question.prompt);
      if (question.subject?.title) put(T.prompt, i, question.prompt);
      put(T.context, i, question.context);
      put(T.filterNames.tool, i, question.subject?.tool);
      const value = question.subject && argumentsOf(question.subject);
      if (!isObject(value)) put(T.argumentsAsJSON, i, value);
      else for (const [name, inner] of entries(value)) put(`/${name}`, i, inner); // no other column begins with /
    });
    const text = (value) => value === undefined ? "" : stringify(value);
    return [...parts].map(([name, values]) => ({ name: name.replace(/^\//, ""), values,
      isArgument: name.startsWith("/"), same: values.every((value) => text(value) === text(values[0])) }));
  }

  common() {
    const same = this.rows.length > 1 ? this.columns().filter((c) => c.same) : [];
    return same.length ? h("div", { class: "call" }, h("div", { class: "call-head" }, h("strong", null, T.sameInAll)),
      h("div", { class: "arguments" }, h("dl", { class: "members" }, same.map((c) => h("div", null,
        h("dt", { dir: "auto" }, this.name(c)), h("dd", null, this.value(c, 0))))))) : null;
  }

  name(column) {
    return column.isArgument ? shown(column.name) : column.name;
  }

  value(column, i) {
    const value = column.values[i];
    if (value === undefined) return h("span", { class: "muted" }, "–");
    return column.isArgument || typeof value !== "string" || column.name === T.filterNames.tool ? readable(value)
      : said(value, "span");
  }

  table() {
    const differ = this.columns().filter((c) => !c.same || this.rows.length === 1);
    const risky = this.rows.some((q) => this.riskOf(q) !== null);
    const head = [T.run, ...differ.map((c) => this.name(c)), risky ? T.risk : null, T.resultColumn];
    return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": T.differences }, h("table",
      { class: "several" }, h("thead", null, h("tr", null, head.map((c) => c && h("th", { scope: "col" }, c)))),
      h("tbody", null, this.rows.map((q, i) => h("tr", null, h("th", { scope: "row", dir: "auto" },
        h("a", { href: `#/inbox/${encodeURIComponent(q.run_id)}/${q.question.id}` },
          q.title ? prose(q.title) : shown(q.run_id)),
        q.title ? h("div", { class: "muted mono" }, shown(q.run_id)) : null),
      differ.map((c) => h("td", null, this.value(c, i))), risky ? h("td", null, this.riskCell(q)) : null,
      this.resultCell(q))))));
  }

  riskOf({ question }) {
    return question.subject?.risk ?? (question.kind === "risk_ack" ? "" : null);
  }

  riskCell(q) {
    const risk = this.riskOf(q);
    if (risk === null) return h("span", { class: "muted" }, "–");
    const key = keyOf(q);
    return [risk ? said(risk) : null, h("label", { class: "pick" }, h("input", { type: "checkbox",
      checked: this.acknowledged.has(key), onchange: (e) => {
        if (e.currentTarget.checked) this.acknowledged.add(key);
        else this.acknowledged.delete(key);
      } }), T.riskSeen)];
  }

  resultCell(q) {
    const cell = h("td", { class: "result" });
    this.results.set(keyOf(q), cell);
    const reply = replyTo(q.run_id, q.question.id);
    if (reply) this.fill(cell, reply);
    else {
      set(cell, h("button", { type: "button", class: "small quiet", "aria-label": T.takeOut(q.run_id), onclick: () => {
        this.drop(q);
        this.rows = this.rows.filter((one) => one !== q);
        this.show();
      } }, T.remove));
    }
    return cell;
  }

  showResult(reply) {
    const cell = this.results.get(`${reply.run}/${reply.id}`);
    if (cell) this.fill(cell, reply);
    const states = this.rows.map((q) => replyTo(q.run_id, q.question.id)?.state);
    this.buttons?.toggleAttribute("inert", states.some((s) => ["held", "sending", "again", "done"].includes(s)));
    if (states.every((s) => s === "done")) this.done();
  }

  fill(cell, reply) {
    set(cell, reply.state === "held" ? [T.sentWhen, " ", until(reply.at)] : reply.state === "refused"
      ? h("span", { class: "fault" }, problemText(reply.problem)) : T.replyStates[reply.state] ?? "");
  }

  controls() {
    const n = this.rows.length;
    const approval = Boolean(this.rows[0].question.subject);
    const key = (control, name) => {
      control.dataset.shortcut = name;
      return control;
    };
    this.buttons = h("div", { class: "buttons" },
      key(button(approval ? T.approveAll(n) : T.yesAll(n), "primary", () => this.decide("approve")), "a"),
      key(button(approval ? T.rejectAll(n) : T.noAll(n), "danger", () => this.decide("reject")), "r"));
    return h("div", { class: "controls" }, approval ? h("div", { class: "field" }, h("label", { for: this.reason.id },
      T.reasonOfAll), this.reason) : null, this.buttons);
  }

  // act does what a key asks for.
  act(action) {
    if (!this.buttons || this.buttons.inert || !["approve", "reject"].includes(action)) return false;
    if (isReady(this)) this.decide(action);
    return true;
  }

  decide(decision) {
    set(this.fault);
    const open = decision === "approve"
      ? this.rows.filter((q) => this.riskOf(q) !== null && !this.acknowledged.has(keyOf(q))) : [];
    if (open.length) {
      set(this.fault, T.risksFirst(open.length));
      this.node.querySelector("tbody input[type=checkbox]:not(:checked)")?.focus();
      return;
    }
    const action = newKey(); // taken back together
    const reason = this.reason.value.trim();
    for (const q of this.rows) {
      const { question } = q;
      const risk = this.riskOf(q) !== null && decision === "approve" ? { accept_risk: true } : {};
      const reply = question.subject ? { decision, text: decision === "reject" && reason ? reason : undefined, ...risk }
        : { text: answersOf(question)[decision], ...risk };
      hold({ run: q.run_id, question, title: question.subject?.title || question.prompt, action,
        says: question.subject ? T.says[decision] : T.answered(reply.text),
        body: stringify({ ...reply, seen: question.digest, for: question.for }) });
    }
  }
}

function keyOf(q) {
  return `${q.run_id}/${q.question.id}`;
}
