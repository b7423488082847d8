// The history of a run: the agent's messages, the questions, and how and by whom they were settled.

import { T } from "./texts.js";
import { get, query, runPath } from "./api.js";
import { button, h, nameOf, said, set, shown } from "./dom.js";
import { stringify } from "./exact.js";
import { followRun } from "./live.js";
import { written } from "./markdown.js";
import { forWhom } from "./names.js";
import { since, stamp } from "./time.js";
import { editOf, readable } from "./approval.js";

// audience names the people asked.
export function audience(to) {
  if (!to) return T.everybody;
  const parts = [...(to.everybody ? [T.everybody] : []), ...(to.users ?? []),
    ...(to.groups ?? []).map((g) => T.group(g))];
  const names = parts.length ? parts.join(", ") : T.nobody;
  return h("span", { dir: "auto" }, shown(to.except?.length ? `${names} ${T.except(to.except.join(", "))}` : names));
}

// memoryOf returns the number of the question whose remembered decision has settled a question; 0 if a person did.
function memoryOf({ actor }) {
  return Number(/^memory:(\d+)$/.exec(actor ?? "")?.[1] ?? 0);
}

// outcomeOf describes in a sentence how a question was settled. The other records may say who gave a remembered
// decision.
export function outcomeOf(record, mine, records = []) {
  const number = memoryOf(record);
  if (number) return T.byMemory(number, nameOf(records.find((r) => r.question.id === number) ?? {}));
  const who = mine ? T.you : nameOf(record) || T.somebody;
  return (T.resolutions[record.resolution] ?? T.resolutions.abandoned)(who, record.decision);
}

// decided shows the answer and its time.
export function decided(record) {
  const at = record.settled_at ?? record.at;
  return [record.decision && record.decision !== "respond" ? h("span", { class: `badge ${record.decision}` },
    T.decisions[record.decision]) : null, record.for ? h("span", { class: "muted" }, forWhom(record)) : null, " ",
  at ? since(at, "muted") : null,
  record.via && !memoryOf(record) ? h("span", { class: "muted" }, " ", shown(T.via(record.via))) : null,
  record.text ? said(record.text, "blockquote") : null,
  record.value !== undefined ? h("div", { class: "arguments" }, readable(record.value)) : null,
  record.decision === "edit" && record.value !== undefined && record.question?.subject
    ? editOf(record.question.subject, record.value) : null];
}

const tail = 100; // events with which the story of a question begins

// showStory shows the history in a node and follows it: seen is called after new events, went with the events. The
// question with the number current is only linked, and a long story starts near its end. Earlier says whether there
// are questions before the records, and loads them. The result has stop, update, and choose, which lists only entries
// with a time that a function accepts.
export function showStory(node, run, records, { current = 0, earlier = null, seen = () => {}, went = () => {} } = {}) {
  const after = current ? Math.max(0, run.last_event - tail) : 0;
  const cut = !earlier && (after > 0 || records.length > 0 && records[0].question.id > 1);
  let events = [];
  let known = run.last_event;
  let before = []; // the questions that a fork inherits from its source
  const source = run.forked_from ? new Earlier(`${runPath(run.id)}/inherited`) : null;
  const load = async () => {
    if (earlier?.more()) return earlier.load();
    before = [...(await source.read()).reverse(), ...before];
    show();
  };
  const more = button(T.earlier, "small", () => load().catch(() => {})); // it can be pressed again
  const list = h("ol", { class: "entries" });
  set(node, h("h2", null, T.story), cut ? h("p", null, h("a", { href: `#/runs/${encodeURIComponent(run.id)}` },
    T.wholeStory)) : null, more, list);
  let chosen = () => true; // by the time of an entry
  let count = { shown: 0, all: 0 };
  const show = () => {
    more.hidden = !earlier?.more() && !source?.more;
    const all = entries(run, before, records, events, current);
    const some = all.filter(({ at }) => chosen(at));
    count = { shown: some.length, all: all.length };
    set(list, some.map(({ at, kind, content }) =>
      h("li", { class: `entry ${kind}` }, h("span", { class: "when" }, stamp(at)), h("div", null, content))));
  };
  show();
  if (source && !earlier?.more()) load().catch(() => {}); // the fork's own story is shown all the same
  const stop = followRun(runPath(run.id), (all) => {
    events = all;
    show();
    went(all);
    if (all.at(-1).seq > known) seen();
    known = all.at(-1).seq;
  }, after);
  return { stop, choose: (which) => {
    chosen = which;
    show();
    return count;
  }, update: (nextRun, nextRecords) => {
    if (stringify([nextRun, nextRecords]) === stringify([run, records])) return;
    [run, records] = [nextRun, nextRecords];
    show();
  } };
}

// Earlier reads a list of questions backwards, part by part.
export class Earlier {
  constructor(path) {
    Object.assign(this, { path, more: true, after: "" });
  }

  // read returns the next part, the newest question first.
  async read() {
    const { records, next } = await get(this.path + query({ newest: true, after: this.after }));
    Object.assign(this, { more: Boolean(next), after: next ?? "" });
    return records;
  }
}

function entries(run, before, records, events, current) {
  const all = [{ at: run.created_at, kind: "mark", content: h("p", null, T.started) }];
  const prompts = new Set(records.map((r) => r.question.prompt));
  for (const { type, ts, data } of events) {
    const entry = entryOf(type, data, prompts);
    if (entry) all.push({ at: ts, ...entry });
  }
  for (const record of before) all.push(...exchange(run.forked_from.run_id, record, before));
  for (const record of records) all.push(...exchange(run.id, record, records, current));
  return all.map((entry, i) => ({ ...entry, i })).sort((a, b) => instant(a.at) - instant(b.at) || a.i - b.i);
}

// exchange shows a question of a run, from its record, and how it was settled.
function exchange(run, record, records, current) {
  const { question } = record;
  const asked = { at: question.asked_at, kind: "asked", content: question.id === current
    ? h("p", { class: "muted" }, T.thisQuestion)
    : [h("p", { class: "label" }, h("a", { href: `#/inbox/${encodeURIComponent(run)}/${question.id}` },
      T.questionNumber(question.id))), written(question.subject?.title || question.prompt)] };
  if (!record.resolution) return [asked];
  return [asked, { at: record.settled_at ?? question.asked_at, kind: "answered",
    content: [h("p", { class: "label", dir: "auto" }, shown(outcomeOf(record, false, records))), decided(record)] }];
}

// instant returns a time with its fraction of a millisecond, which Date.parse drops.
function instant(time) {
  const [, more] = /\.\d{3}(\d+)/.exec(time) ?? [];
  return Date.parse(time) + Number("0." + (more ?? "0"));
}

// entryOf returns the story's entry for an event, if any.
function entryOf(type, data, prompts) {
  const mark = (text, detail) => ({ kind: "mark", content: [h("p", null, shown(text)), detail ? said(detail) : null] });
  switch (type) {
    case "assistant.message.intermediate": case "assistant.message.final":
      if (prompts.has(data.text?.trim()) || !data.text?.trim()) return null;
      return { kind: "message", content: written(data.text) };
    case "turn.yielded": return mark(T.putOff, data.message);
    case "run.blocked": return mark(T.held, data.message);
    case "run.unblocked": return mark(T.goesOn(data.actor));
    case "user.input.reminder": return mark(T.reminded(data.interaction_id));
    case "user.input.escalated": return mark(T.escalated(data.interaction_id));
    case "interaction.changed": return mark(T.changed[data.change](data.interaction_id, data.actor ?? T.somebody));
    case "interaction.noted": return mark(T.noted(data.interaction_id, data.actor ?? T.somebody), data.text);
    case "interaction.forgotten": return mark(T.forgotten(data.interaction_id, data.actor ?? T.somebody));
    case "conversation.state.changed": {
      if (!data.terminal) return null;
      return mark(T.ended[data.to], data.terminal.error?.message);
    }
  }
  return null;
}
