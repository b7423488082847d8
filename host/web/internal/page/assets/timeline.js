// A run as a picture: its times in the queue, at work and waiting for people, and its retries. Widths are logarithmic:
// a turn of seconds is next to a wait of days.

import { T } from "./texts.js";
import { now } from "./api.js";
import { h, set, shown } from "./dom.js";
import { duration, moment } from "./time.js";

const lanes = ["queued", "running", "waiting_user"];
const laneHeight = 34;

// phases returns the periods that a run has spent in each state, and the event that ended each.
export function phases(events, end) {
  const all = [];
  for (const { type, ts, data, meta } of events) {
    const at = Date.parse(ts);
    if (type === "conversation.started") all.push({ state: "queued", from: at, attempt: 0 });
    if (type === "turn.yielded") all.push({ mark: "retry", from: at, text: data.message ?? T.putOff });
    if (type === "run.blocked") all.push({ mark: "held", from: at, text: data.message ?? T.held });
    if (type === "diagnostic.warning") {
      all.push({ mark: "warning", from: at, text: `${data.code} ${data.detail ?? ""}` });
    }
    if (type !== "conversation.state.changed" || data.from === data.to) continue;
    all.push({ state: data.to, from: at, attempt: meta?.attempt, trigger: data.trigger });
  }
  const states = all.filter((p) => p.state);
  states.forEach((p, i) => { p.to = states[i + 1]?.from ?? end; });
  return { states: states.filter((p) => lanes.includes(p.state)), last: states.at(-1),
    marks: all.filter((p) => p.mark) };
}

// drawTimeline draws the events of a run into a node, with an equivalent table for screen readers.
export function drawTimeline(node, events, run) {
  if (!events.length || !run) return;
  const { states, marks, last } = phases(events, Date.parse(run.finished_at ?? "") || now());
  const width = Math.max(200, node.clientWidth - 84); // next to the names of the lanes
  const weight = (p) => Math.log10(1 + (p.to - p.from) / 100);
  const total = states.reduce((sum, p) => sum + weight(p), 0) || 1;
  const least = Math.min(3, width / states.length); // keeps short phases visible
  let x = 0;
  for (const p of states) {
    p.x = x;
    p.w = least + weight(p) / total * (width - least * states.length);
    x += p.w;
  }
  const place = (at) => {
    const p = states.findLast((one) => one.from <= at) ?? states[0];
    const part = p.to > p.from ? Math.min(1, (at - p.from) / (p.to - p.from)) : 0;
    return p.x + part * p.w;
  };
  const height = lanes.length * laneHeight + 22;
  const picture = h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", preserveAspectRatio: "none",
    "aria-label": T.timelineSays(states.filter((p) => p.state === "running").length,
      states.filter((p) => p.state === "waiting_user").length, marks.filter((m) => m.mark === "retry").length) },
  lanes.map((_, i) => h("rect", { class: "lane", x: 0, y: i * laneHeight + 2, width, height: laneHeight - 6, rx: 4 })),
  states.map((p) => h("rect", { class: `phase ${p.state}`, x: p.x, y: lanes.indexOf(p.state) * laneHeight + 2,
    width: p.w, height: laneHeight - 6, rx: 4 }, h("title", null, describe(p)))),
  marks.map((m) => h("circle", { class: `mark ${m.mark}`, cx: place(m.from), cy: height - 11, r: 6 },
    h("title", null, `${moment(m.from)} ${m.text}`))));
  set(node, h("h2", null, T.timeline), h("div", { class: "picture" }, h("div", { class: "lane-names",
    "aria-hidden": "true" }, lanes.map((l) => h("span", null, T.lanes[l]))), picture),
  h("p", { class: "scale muted", "aria-hidden": "true" }, h("span", null, moment(states[0]?.from ?? now())),
    h("span", null, T.logarithmic), h("span", null, last && !lanes.includes(last.state) ? moment(last.from) : T.now)),
  h("details", { open: node.querySelector("details")?.open }, h("summary", null, T.asTable), table(states, marks)));
}

function table(states, marks) {
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": T.asTable }, h("table", null,
    h("thead", null, h("tr", null, T.columns.map((c) => h("th", { scope: "col" }, c)))),
    h("tbody", null, rows(states, marks))));
}

function describe(p) {
  return `${T.lanes[p.state]}${p.state === "running" ? " " + T.turn(p.attempt) : ""}: ${duration(p.to - p.from)}`;
}

function rows(states, marks) {
  return [...states, ...marks].sort((a, b) => a.from - b.from).map((p) => h("tr", null, h("td", null, moment(p.from)),
    h("td", null, p.state ? T.lanes[p.state] : T.marks[p.mark]), h("td", null, p.state ? duration(p.to - p.from) : ""),
    h("td", { dir: "auto" }, shown(p.text ?? (p.state === "running" ? T.turn(p.attempt) : "")))));
}
