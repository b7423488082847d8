// For operators: the runs by state, why a run does not continue, and the possible actions.

import { T } from "./texts.js";
import { Problem, get, getTagged, newKey, now, post, postOnce, query, questionPath, runPath } from "./api.js";
import { h, newID, once, prose, said, set, shown } from "./dom.js";
import { Answer } from "./answer.js";
import { Exact, stringify } from "./exact.js";
import { follow, refresh } from "./live.js";
import { LogList } from "./logs.js";
import { written } from "./markdown.js";
import { problemText } from "./question.js";
import { readable } from "./approval.js";
import { rememberedList } from "./remember.js";
import { Earlier, audience, showStory } from "./story.js";
import { Timeline, within } from "./timeline.js";
import { moment, since, until } from "./time.js";
import { visible } from "./visible.js";

const states = ["waiting_user", "running", "queued", "succeeded", "failed", "canceled"];

// RunList lists runs, the newest first.
export class RunList {
  constructor(node) {
    this.node = node;
    this.pages = 1;
    this.chosen = new Set();
    this.tags = "";
    const chip = (id, label) => h("button", { type: "button", class: "chip", "aria-pressed": "false",
      "data-state": id, onclick: () => this.toggle(id) }, label);
    const field = (label) => h("input", { type: "search", placeholder: label, "aria-label": label,
      onchange: () => this.changed() });
    [this.search, this.filter] = [field(T.runSearch), field(T.labelFilter)];
    const day = (label) => {
      const input = h("input", { type: "date", id: newID("day"), max: "9999-12-31", onchange: () => this.changed() });
      return [input, h("div", { class: "menu" }, h("label", { for: input.id }, label), input)];
    };
    const [first, last] = [day(T.createdFrom), day(T.createdUntil)];
    [this.from, this.until] = [first[0], last[0]];
    this.searched = h("p", { class: "note", role: "status", hidden: true });
    this.held = h("div", { class: "held-runs" });
    this.list = h("div");
    this.more = h("button", { type: "button", class: "more-rows", hidden: true, onclick: () => {
      this.pages++;
      this.reload();
    } }, T.more);
    this.chips = h("div", { class: "chips", role: "group", "aria-label": T.byState }, chip("held", T.heldOnly),
      states.map((s) => chip(s, T.states[s])));
    set(node, h("div", { class: "list-head" }, h("h1", null, T.runs), this.search, this.chips, this.filter,
      h("div", { class: "menus days" }, first[1], last[1])), this.held, this.list, this.searched, this.more);
    // A change does not repeat a search: the server would examine thousands of runs for each.
    follow(() => this.visible && this.read(), () => !this.search.value);
  }

  setVisible(on) {
    this.visible = on;
    if (on) refresh();
  }

  toggle(id) {
    if (!this.chosen.delete(id)) this.chosen.add(id);
    this.showChosen();
    this.changed();
  }

  showChosen() {
    for (const chip of this.chips.children) {
      chip.setAttribute("aria-pressed", String(this.chosen.has(chip.dataset.state)));
    }
  }

  // filters are the choices as they are written into the address.
  filters() {
    return { q: this.search.value.trim(), label: this.filter.value.trim(), from: this.from.value,
      until: this.until.value, state: [...this.chosen] };
  }

  // address shows the choices of an address; without any, the address gets the current ones.
  address(text) {
    if (text === undefined) {
      this.writeAddress();
      return;
    }
    const all = new URLSearchParams(text);
    const before = query(this.filters());
    for (const [name, input] of [["q", this.search], ["label", this.filter], ["from", this.from],
      ["until", this.until]]) input.value = all.get(name) ?? "";
    this.chosen = new Set(all.getAll("state").filter((s) => s === "held" || states.includes(s)));
    this.showChosen();
    if (query(this.filters()) !== before) this.changed();
  }

  writeAddress() {
    const path = location.hash.split("?")[0];
    if (path.startsWith("#/runs")) history.replaceState(null, "", path + query(this.filters()));
  }

  // changed reloads the list of runs from its first page.
  changed() {
    this.pages = 1;
    this.writeAddress();
    this.reload();
  }

  reload() {
    this.tags = "";
    refresh();
  }

  select(run) {
    this.selected = run;
    for (const row of this.list.querySelectorAll("a.row")) {
      if (row.dataset.key === run) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  // showHeld has the controls that decide about several held runs with one choice.
  showHeld(runs) {
    const signature = stringify(runs.map(({ id, version }) => [id, version]));
    if (signature === this.heldShown) return; // a person may be choosing
    this.heldShown = signature;
    const [boxes, notice] = [new Map(), h("div", { role: "status" })];
    const common = ["repeat", "end"].filter((choice) => runs.every((run) => run.block.choices?.includes(choice)));
    if (runs.length < 2 || !common.length) {
      set(this.held, this.heldSays ? h("p", { class: "notice plain", role: "status" }, this.heldSays) : null);
      this.heldSays = "";
      return;
    }
    const pick = (run) => {
      boxes.set(run.id, h("input", { type: "checkbox", checked: true }));
      return h("li", null, h("label", { class: "pick" }, boxes.get(run.id), h("span", { dir: "auto" },
        run.title ? prose(run.title) : shown(run.id), " ", h("span", { class: "muted" },
          prose(run.block.reason ?? "")))));
    };
    const decide = async (choice) => {
      const chosen = runs.filter((run) => boxes.get(run.id).checked);
      const refused = await decideHeld(chosen, choice);
      this.heldSays = [T.heldDecided(chosen.length - refused.length), ...refused].join("\n");
      set(notice, said(this.heldSays));
      this.reload();
    };
    set(this.held, h("details", { open: this.held.querySelector("details")?.open }, h("summary", null,
      T.decideHeld(runs.length)), h("ul", { class: "plain" }, runs.map(pick)), h("div", { class: "buttons" },
      common.map((choice) => once(h("button", { type: "button", class: choice === "end" ? "danger small" : "small" },
        T.choicesOfAll[choice]), () => decide(choice))))), notice);
    if (this.heldSays) set(notice, said(this.heldSays));
    this.heldSays = "";
  }

  async read() {
    const runs = [];
    const tags = [];
    let after = "", stats = null, searched = 0;
    const { q, label, from, until: last } = this.filters();
    try {
      for (let i = 0; i < this.pages && (i === 0 || after); i++) {
        const { value, tag } = await getTagged("api/runs" + query({ newest: true, limit: 100, after, label,
          held: this.chosen.has("held"), state: states.filter((s) => this.chosen.has(s)), q, from: startOf(from),
          until: startOf(last, 1) }));
        runs.push(...value.runs);
        searched += value.searched ?? 0;
        tags.push(tag);
        after = value.next;
      }
      stats = await get("api/stats").catch((e) => { if (e instanceof Problem) return null; throw e; });
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      this.tags = "";
      set(this.list, h("p", { class: "empty", role: "alert" }, problemText(e)));
      return;
    }
    const text = tags.join() + stringify(stats);
    if (text === this.tags) return;
    this.tags = text;
    this.more.hidden = !after;
    set(this.more, q ? T.searchOn : T.more);
    this.searched.hidden = !q;
    set(this.searched, T.runsSearched(searched));
    this.showHeld(runs.filter((run) => run.block?.kind === "held"));
    const focused = document.activeElement?.dataset?.key;
    const row = (run) => h("a", { class: "row", "data-key": run.id, href: `#/runs/${encodeURIComponent(run.id)}`,
      "aria-current": run.id === this.selected ? "true" : null },
    h("span", { class: run.title ? "title" : "title mono", dir: "auto" },
      run.title ? prose(run.title) : shown(run.id)),
    run.title ? h("span", { class: "muted mono", dir: "auto" }, shown(run.id)) : null,
    h("span", { class: "meta" }, badge(run), h("span", { dir: "auto" }, prose(whyNot(run, stats) ?? "")), age(run)));
    set(this.list, runs.length ? h("ul", null, runs.map((run) => h("li", null, row(run))))
      : h("p", { class: "empty" }, T.noRuns));
    if (focused) this.list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

// startOf returns when a day, or one some days later, begins here; empty without a day.
function startOf(day, later = 0) {
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}

// decideHeld decides about each run, and returns the texts of the refusals.
async function decideHeld(runs, choice) {
  const refused = [];
  for (const { id, version } of runs) {
    try {
      await post(runPath(id) + "/resume", { choice, version });
    } catch (e) {
      refused.push(`${visible(id)}: ${e instanceof Problem ? problemText(e) : T.notReached}`);
    }
  }
  return refused;
}

// eventsOf reads the events of a run up to its last one, as lines of JSON.
async function eventsOf(run) {
  const response = await fetch(`${runPath(run.id)}/events?after=0`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const lines = [];
  for (let rest = "", last = 0; last < run.last_event;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const data of parts.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim())) {
      lines.push(data + "\n");
      last = JSON.parse(data).seq;
    }
  }
  reader.cancel();
  return new Blob(lines, { type: "application/jsonl" });
}

// age says when a run reached its state.
function age(run) {
  if (run.finished_at) return since(run.finished_at);
  const asked = run.questions[0]?.asked_at;
  return h("span", { class: "age" }, asked ? T.askedWhen : T.changedWhen, " ", since(asked ?? run.updated_at));
}

function badge(run) {
  return h("span", { class: `badge ${run.block?.kind === "held" ? "held" : run.state}` },
    run.block?.kind === "held" ? T.heldState : T.states[run.state]);
}

// whyNot says why a run does not continue now; null if it does, or has succeeded.
export function whyNot(run, stats) {
  const { block } = run;
  if (block) return T.blocks[block.kind]?.(block, block.until && moment(block.until)) ?? block.reason;
  if (run.state === "waiting_user") {
    const [first] = run.questions;
    return first ? T.waitsFor(run.questions.length, first.prompt.slice(0, 120)) : null;
  }
  if (run.state === "failed") return run.error?.message?.slice(0, 160) ?? null;
  if (run.state === "canceled") return run.cancel_reason || null;
  if (run.state !== "queued") return null;
  if (Date.parse(run.not_before ?? "") > now()) return T.notBefore(moment(run.not_before));
  const engine = stats?.engines.find((e) => e.engine === run.engine);
  if (engine && engine.nodes === 0) return T.noNode(visible(run.engine));
  const pool = stats?.pools.find((p) => p.name === run.pool);
  if (pool && pool.held >= pool.capacity) return T.poolFull(visible(pool.name), pool.held, pool.capacity);
  return T.queued;
}

// RunPanel shows a run in a node, and follows it until it is closed.
export class RunPanel {
  constructor(node, id) {
    Object.assign(this, { node, id, run: null, events: [], records: new Map() });
    this.before = new Earlier(runPath(id) + "/history"); // of the questions that were not read yet
    this.head = h("div");
    this.notice = h("div", { role: "status" });
    this.why = h("div");
    this.timelinePlace = h("section", { class: "timeline", "aria-label": T.timeline });
    this.timeline = new Timeline(this.timelinePlace, (range) => this.chooseStory?.((at) => within(range, Date.parse(at)))
      ?? { shown: 0, all: 0 });
    this.questions = h("section");
    this.remembered = h("section", { class: "remembered" });
    this.result = h("section");
    this.story = h("section", { class: "story", "aria-label": T.story });
    this.actions = h("div", { class: "more" });
    this.logs = new LogList(id);
    set(node, h("p", { class: "muted loading" }, T.loading));
    this.unfollow = follow(() => this.read(), (change) => change.run_id === id);
  }

  // went draws the timeline of the events so far, and soon reads the run again.
  went(events) {
    this.events = events;
    this.timeline.draw(events, this.run);
    clearTimeout(this.soon);
    this.soon = setTimeout(refresh, 200);
  }

  close() {
    this.closed = true;
    clearTimeout(this.soon);
    this.unfollow();
    this.stopStory?.();
  }

  async read() {
    let run, stats;
    try {
      [run, stats] = await Promise.all([get(runPath(this.id)), get("api/stats").catch((e) => {
        if (e instanceof Problem) return null;
        throw e;
      }), this.readNewest()]);
      await this.readSettled(run);
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      set(this.node, h("p", { class: "notice bad", role: "alert" }, problemText(e)));
      return;
    }
    if (this.closed) return;
    const records = this.known();
    const text = stringify([run, records, whyNot(run, stats)]);
    if (text === this.text) return;
    this.text = text;
    this.run = run;
    if (!this.head.isConnected) {
      set(this.node, this.head, this.notice, this.why, this.timelinePlace, this.questions, this.remembered, this.result,
        this.actions, this.logs.node, this.story);
    }
    this.show(run, records, stats);
  }

  // known are the questions that were read, in order: the newest ones without a gap.
  known() {
    return [...this.records.values()].sort((a, b) => a.question.id - b.question.id);
  }

  keep(records) {
    for (const record of records) this.records.set(record.question.id, record);
  }

  // readNewest reads the newest questions, back to those that are known.
  async readNewest() {
    const last = Math.max(0, ...this.records.keys());
    const part = last ? new Earlier(this.before.path) : this.before;
    do this.keep(await part.read()); while (last && part.more && Number(part.after) > last + 1);
  }

  // readSettled reads those again that were open when they were read, and are no more.
  async readSettled(run) {
    const settled = this.known().filter((r) => !r.resolution && !run.questions.some((q) => q.id === r.question.id));
    this.keep(await Promise.all(settled.map((r) => get(questionPath(this.id, r.question.id)))));
  }

  // load reads the questions before those that are known.
  async load() {
    this.keep(await this.before.read());
    this.updateStory(this.run, this.known());
    this.showActions(this.run, this.known());
  }

  show(run, records, stats) {
    const fact = (label, ...content) => h("div", { class: "fact" }, h("dt", null, label), h("dd", null, content));
    set(this.head, h("p", { class: "eyebrow" }, badge(run), " ", Object.entries(run.labels ?? {}).map(([name, value]) =>
      h("span", { class: "label-chip", dir: "auto" }, shown(`${name}: ${value}`)))),
    h("h1", { tabindex: "-1", dir: "auto", class: "mono" }, shown(run.id)),
    run.title ? h("p", { dir: "auto" }, prose(run.title)) : null,
    h("div", { class: "facts" }, h("dl", null, fact(T.engine, shown(run.engine)), fact(T.pool, shown(run.pool)),
      run.key ? fact(T.key, shown(run.key)) : null, fact(T.attempt, String(run.attempt)),
      fact(T.created, since(run.created_at)), fact(T.updated, since(run.updated_at)),
      run.forked_from ? fact(T.forkOf, h("a", { href: `#/runs/${encodeURIComponent(run.forked_from.run_id)}` },
        shown(run.forked_from.run_id))) : null,
      run.budget ? fact(T.budget, T.budgetOf(run.budget)) : null)));
    const why = whyNot(run, stats);
    const signature = stringify([why, run.block ?? null, run.budget ?? null]);
    if (this.whyShown !== signature) { // a person may be typing here
      set(this.why, why ? h("div", { class: `notice ${run.block || run.state === "failed" ? "warn" : "plain"}` },
        h("strong", null, T.why[run.state]), " ", h("span", { dir: "auto" }, prose(why)), run.error ? [" ", h("code",
          null, shown(run.error.code))] : null, this.resume(run), run.state === "failed" ? this.again(run) : null)
        : null);
    }
    this.whyShown = signature;
    this.timeline.draw(this.events, run);
    set(this.questions, run.questions.length ? [h("h2", null, T.openQuestions), h("ul", { class: "plain" },
      run.questions.map((q) => h("li", null, h("a", { class: "row", href:
        `#/inbox/${encodeURIComponent(run.id)}/${q.id}` }, h("span", { class: "title", dir: "auto" },
      prose(q.subject?.title || q.prompt)), h("span", { class: "meta" }, h("span", null, T.kinds[q.kind]),
        audience(q.to), q.ends_at ? until(q.ends_at) : since(q.asked_at))))))] : null);
    const remembered = stringify(run.remembered ?? []);
    if (this.rememberedShown !== remembered) { // its buttons may have the focus
      set(this.remembered, rememberedList(run, (m) =>
        this.act(() => post(questionPath(run.id, m.question) + "/forget"), T.decisionEnded)));
    }
    this.rememberedShown = remembered;
    set(this.result, run.final_text || run.output !== undefined ? [h("h2", null, T.result),
      run.final_text ? written(run.final_text) : null,
      run.output !== undefined ? h("div", { class: "arguments" }, readable(run.output)) : null] : null);
    if (!this.stopStory) ({ stop: this.stopStory, update: this.updateStory,
      choose: this.chooseStory } = showStory(this.story, run, records,
      { earlier: { more: () => this.before.more, load: () => this.load() }, went: (events) => this.went(events) }));
    else this.updateStory(run, records);
    this.showActions(run, records);
    this.logs.changed();
  }

  async act(begin, done) {
    try {
      const result = await begin();
      set(this.notice, h("p", { class: "notice good" }, done));
      return result;
    } catch (e) {
      set(this.notice, h("p", { class: "notice bad" }, e instanceof Problem ? problemText(e) : T.notReached));
      return null;
    } finally {
      refresh();
    }
  }

  // resume shows the decisions of a held run.
  resume(run) {
    const choices = run.block?.choices ?? [];
    if (!choices.length) return null;
    const decide = (choice, budget) => this.act(() => post(runPath(run.id) + "/resume",
      { choice, budget, version: this.run.version }), T.resumed);
    const button = (choice, begin) => once(h("button", { type: "button", class: choice === "end" ? "danger small"
      : "small" }, T.choices[choice]), begin);
    const tokens = h("input", { type: "text", inputmode: "numeric", id: newID("tokens"),
      value: String(run.budget?.limit.tokens ?? "") });
    const turns = h("input", { type: "text", inputmode: "numeric", id: newID("turns"),
      value: String(run.budget?.limit.turns ?? "") });
    const raise = choices.includes("raise") ? h("div", { class: "inline" }, h("label", { for: turns.id }, T.turns),
      turns, h("label", { for: tokens.id }, T.tokens), tokens) : null;
    return [raise, h("div", { class: "buttons" }, choices.map((choice) => button(choice, () => decide(choice,
      choice === "raise" ? { turns: Number(turns.value) || 0, tokens: Number(tokens.value) || 0 } : undefined))))];
  }

  // again offers to continue a failed run in a new one.
  again(run) {
    const key = newKey();
    return [h("p", { class: "help" }, T.againHelp), h("div", { class: "buttons" }, once(h("button", { type: "button",
      class: "small" }, T.again), async () => {
      const made = await this.act(() => postOnce(runPath(run.id) + "/fork", {}, key, () => {}), T.forked);
      if (made) location.hash = `#/runs/${encodeURIComponent(made.id)}`;
    }))];
  }

  // save offers the events as a file.
  async save(run) {
    const link = h("a", { href: URL.createObjectURL(await eventsOf(run)), download: `${run.id}.jsonl` });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  showActions(run, records) {
    const ended = ["succeeded", "failed", "canceled"].includes(run.state);
    const settled = records.filter((r) => r.resolution && r.resolution !== "abandoned");
    const signature = stringify([ended, settled.length]);
    if (this.actionsShown === signature) return;
    this.actionsShown = signature;
    const words = (label, rows = 2) => {
      const control = h("textarea", { id: newID("words"), rows, dir: "auto" });
      return [control, h("div", { class: "field" }, h("label", { for: control.id }, label), control)];
    };
    const [reason, reasonField] = words(T.cancelReason);
    const cancel = ended ? null : h("details", null, h("summary", null, T.cancel), reasonField, h("div",
      { class: "buttons" }, once(h("button", { type: "button", class: "danger" }, T.cancelNow), () => this.act(
      () => post(runPath(run.id) + "/cancel", reason.value.trim() ? { reason: reason.value } : {}), T.canceled))));
    set(this.actions, cancel, this.forkForm(run, settled, ended), h("div", { class: "buttons" }, once(h("button",
      { type: "button", class: "small" }, T.saveEvents), () => this.save(this.run))));
  }

  // forkForm has the controls of a fork. Its answer takes the same controls as the question did.
  forkForm(run, settled, ended) {
    if (!settled.length && !ended) return null;
    const from = h("select", { id: newID("from") }, settled.map((r) => h("option", { value: String(r.question.id) },
      `${T.questionNumber(r.question.id)}: ${r.question.prompt.slice(0, 60)}`)),
    ended ? h("option", { value: "0" }, T.theEnd) : null);
    const place = h("div");
    let [answer, sent, key] = [null, "", ""];
    const fork = async (reply) => {
      const body = stringify({ question: Number(from.value) || undefined, answer: reply });
      if (sent !== body) [sent, key] = [body, newKey()];
      answer.clear();
      const made = await this.act(() => postOnce(runPath(run.id) + "/fork", new Exact(body), key, () => {}), T.forked);
      if (!made) return;
      sent = "";
      location.hash = `#/runs/${encodeURIComponent(made.id)}`;
    };
    const show = () => {
      const { question } = settled.find((r) => String(r.question.id) === from.value) ?? { question: { kind: "open_text" } };
      answer?.close();
      answer = new Answer(question, {}, { keep: () => {}, send: (reply) => fork({ ...reply, seen: question.digest }) });
      set(place, answer.node);
    };
    from.addEventListener("change", show);
    show();
    return h("details", null, h("summary", null, T.fork), h("p", { class: "help" }, T.forkHelp), h("div",
      { class: "field" }, h("label", { for: from.id }, T.forkFrom), from), h("div", { class: "buttons" },
      once(h("button", { type: "button" }, T.forkNow), () => fork())), h("details", null,
      h("summary", null, T.forkReply), place));
  }
}
