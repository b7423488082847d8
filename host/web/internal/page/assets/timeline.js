// A run as a picture to scale: its times in the queue, at work and waiting for people, and its retries. If a wait would
// hide the work, as weeks hide seconds, it is cut and marked. A brush selects a time range.

import { T } from "./texts.js";
import { now } from "./api.js";
import { fill, h, newID, set, shown } from "./dom.js";
import { duration, exactly, moment } from "./time.js";

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

const leastWork = 6; // pixels of a turn, or else longer waits are cut
const cutAt = 3; // times the longest turn
const steps = 200; // of the brush

// layOut sets x and w, the place and width of each phase, and cut for those that are not to scale. It returns the
// length above which waits are cut, or Infinity.
export function layOut(states, width) {
  const length = (p) => p.to - p.from;
  const work = states.filter((p) => p.state === "running").map(length).filter((ms) => ms > 0);
  const sum = (limit) => states.reduce((all, p) => all + Math.min(length(p), p.state === "running" ? Infinity : limit), 0);
  const hidden = work.some((ms) => ms / sum(Infinity) * width < leastWork);
  const limit = hidden ? cutAt * Math.max(...work) : Infinity;
  const total = sum(limit) || 1;
  const least = Math.min(3, width / states.length); // keeps short phases visible
  let [x, cut] = [0, false];
  for (const p of states) {
    p.cut = p.state !== "running" && length(p) > limit;
    cut ||= p.cut;
    p.x = x;
    p.w = least + (p.cut ? limit : length(p)) / total * (width - least * states.length);
    x += p.w;
  }
  return cut ? limit : Infinity;
}

// placeOf returns the place of a time in the phases.
export function placeOf(states, at) {
  const p = states.findLast((one) => one.from <= at) ?? states[0];
  const part = p.to > p.from ? Math.min(1, Math.max(0, (at - p.from) / (p.to - p.from))) : 0;
  return p.x + part * p.w;
}

// timeAt returns the time at a place.
export function timeAt(states, x) {
  const p = states.findLast((one) => one.x <= x) ?? states[0];
  return p.from + Math.min(1, Math.max(0, (x - p.x) / p.w)) * (p.to - p.from);
}

// within reports whether a period touches the range; null is no limit.
export function within({ from, until }, begin, end = begin) {
  return (from === null || end >= from) && (until === null || begin <= until);
}

const whole = { from: null, until: null };

// Timeline draws the events of a run into a node, with an equivalent table for screen readers. chosen is called with
// the selected range, and returns the number of entries in it and of all.
export class Timeline {
  constructor(node, chosen) {
    Object.assign(this, { node, chosen, range: whole, states: [], marks: [], width: 200 });
    this.title = h("h2", null, T.timeline);
    this.svg = h("svg", { role: "img", preserveAspectRatio: "none", onpointerdown: (e) => this.drag(e) });
    this.picture = h("div", { class: "picture" }, h("div", { class: "lane-names", "aria-hidden": "true" },
      lanes.map((l) => h("span", null, T.lanes[l]))), this.svg);
    this.scale = h("p", { class: "scale muted", "aria-hidden": "true" });
    this.before = h("rect", { class: "outside", y: 0 });
    this.after = h("rect", { class: "outside", y: 0 });
    const slider = (label, side) => {
      const input = h("input", { type: "range", min: "0", max: String(steps), id: newID("brush"),
        oninput: () => this.slid(side) });
      return [input, h("div", { class: "brush-side" }, h("label", { for: input.id }, label), input)];
    };
    const [first, last] = [slider(T.brushFrom, "from"), slider(T.brushUntil, "until")];
    this.sliders = { from: first[0], until: last[0] };
    this.says = h("p", { class: "muted", role: "status" });
    this.all = h("button", { type: "button", class: "small", hidden: true, onclick: () => {
      this.choose(whole);
      this.sliders.from.focus();
    } }, T.brushAll);
    this.brush = h("div", { class: "brush", role: "group", "aria-label": T.brush }, first[1], last[1],
      h("div", { class: "brush-says" }, this.says, this.all));
    this.rows = h("tbody");
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (this.run && this.node.isConnected && this.width !== this.space()) this.draw(this.events, this.run);
    })).observe(node);
    this.details = h("details", null, h("summary", null, T.asTable), h("div", { class: "table", tabindex: "0",
      role: "region", "aria-label": T.asTable }, h("table", null, h("thead", null, h("tr", null,
      T.columns.map((c) => h("th", { scope: "col" }, c)))), this.rows)));
  }

  draw(events, run) {
    if (!events.length || !run) return;
    Object.assign(this, { events, run });
    const { states, marks, last } = phases(events, Date.parse(run.finished_at ?? "") || now());
    if (!states.length) return;
    fill(this.node, [this.title, this.picture, this.scale, this.brush, this.details]);
    const width = this.space();
    Object.assign(this, { states, marks, width });
    const limit = layOut(states, width);
    const height = lanes.length * laneHeight + 22;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", T.timelineSays(states.filter((p) => p.state === "running").length,
      states.filter((p) => p.state === "waiting_user").length, marks.filter((m) => m.mark === "retry").length));
    for (const one of [this.before, this.after]) one.setAttribute("height", height);
    set(this.svg, lanes.map((_, i) => h("rect", { class: "lane", x: 0, y: i * laneHeight + 2, width,
      height: laneHeight - 6, rx: 4 })), states.map((p) => this.phase(p)), marks.map((m) => h("circle",
      { class: `mark ${m.mark}`, cx: placeOf(states, m.from), cy: height - 11, r: 6 }, h("title", null,
        `${moment(m.from)} ${m.text}`))), this.before, this.after);
    set(this.scale, h("span", null, moment(states[0].from)), h("span", null, limit === Infinity ? T.toScale
      : T.cutScale(duration(limit))), h("span", null, last && !lanes.includes(last.state) ? moment(last.from) : T.now));
    this.show();
  }

  // space is the width next to the names of the lanes.
  space() {
    return Math.max(200, this.node.clientWidth - 84);
  }

  phase(p) {
    const y = lanes.indexOf(p.state) * laneHeight + 2;
    const middle = p.x + p.w / 2;
    const text = duration(p.to - p.from);
    const title = h("title", null, describe(p));
    return [h("rect", { class: `phase ${p.state}`, x: p.x, y, width: p.w, height: laneHeight - 6, rx: 4 }, title),
      p.cut ? h("path", { class: "cut", d: [-4, 2].map((dx) =>
        `M${p.x + Math.min(14, p.w / 2) + dx} ${y + laneHeight - 4} l5 ${-laneHeight + 2}`).join("") }) : null,
      p.w > 30 + 7 * text.length ? h("text", { class: `length ${p.state}`, x: middle, y: y + laneHeight / 2 - 2 }, text)
        : null];
  }

  // show shows the range in the picture, the sliders, the table and the status.
  show() {
    const { range, states, width, sliders } = this;
    const from = range.from === null ? 0 : placeOf(states, range.from);
    const until = range.until === null ? width : placeOf(states, range.until);
    this.before.setAttribute("width", from);
    this.after.setAttribute("x", until);
    this.after.setAttribute("width", Math.max(0, width - until));
    for (const [side, x] of [["from", from], ["until", until]]) {
      sliders[side].value = String(Math.round(x / width * steps));
      sliders[side].setAttribute("aria-valuetext", exactly(range[side] ?? timeAt(states, x)));
    }
    const active = range !== whole;
    this.all.hidden = !active;
    const { shown: n, all } = active || this.active ? this.chosen(range) : { shown: 0, all: 0 };
    this.active = active;
    set(this.says, active ? T.brushed(n, all, exactly(range.from ?? timeAt(states, 0)),
      range.until === null ? T.now : exactly(range.until)) : T.brushHelp);
    set(this.rows, rows(states, this.marks, range));
  }

  choose(range) {
    this.range = range.from === null && range.until === null ? whole : range;
    this.show();
  }

  // slid reads a slider. The other one never lies on the wrong side.
  slid(side) {
    const value = (name) => Number(this.sliders[name].value);
    const other = side === "from" ? "until" : "from";
    if (value("from") > value("until")) this.sliders[other].value = String(value(side));
    this.choose(this.between(value("from") / steps * this.width, value("until") / steps * this.width));
  }

  // between returns the range between two places; an end of the picture is no limit.
  between(first, last) {
    return { from: first <= 0 ? null : timeAt(this.states, first),
      until: last >= this.width ? null : timeAt(this.states, last) };
  }

  // drag selects a range with a pointer; a click selects all.
  drag(e) {
    if (e.button !== 0) return;
    e.preventDefault();
    const box = this.svg.getBoundingClientRect();
    const place = (at) => Math.min(this.width, Math.max(0, (at.clientX - box.left) / box.width * this.width));
    const begin = place(e);
    const stop = new AbortController();
    const listen = (type, call) => this.svg.addEventListener(type, call, { signal: stop.signal });
    const ends = (at) => [Math.min(begin, place(at)), Math.max(begin, place(at))];
    this.svg.setPointerCapture(e.pointerId);
    listen("pointermove", (at) => this.choose(this.between(...ends(at))));
    listen("pointercancel", () => stop.abort());
    listen("pointerup", (at) => {
      stop.abort();
      const [first, last] = ends(at);
      this.choose(last - first < 4 ? whole : this.between(first, last));
    });
  }
}

function describe(p) {
  return `${T.lanes[p.state]}${p.state === "running" ? " " + T.turn(p.attempt) : ""}: ${duration(p.to - p.from)}`;
}

function rows(states, marks, range) {
  const all = [...states, ...marks].filter((p) => within(range, p.from, p.to));
  return all.sort((a, b) => a.from - b.from).map((p) => h("tr", null, h("td", null, moment(p.from)),
    h("td", null, p.state ? T.lanes[p.state] : T.marks[p.mark]), h("td", null, p.state ? duration(p.to - p.from) : ""),
    h("td", { dir: "auto" }, shown(p.text ?? (p.state === "running" ? T.turn(p.attempt) : "")))));
}
