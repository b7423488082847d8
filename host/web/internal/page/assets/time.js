// Times in words, and texts that change as time passes.

import { now } from "./api.js";
import { T } from "./texts.js";
import { h } from "./dom.js";
import { locale } from "./language.js";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const zoned = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
const date = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", hour: "2-digit",
  minute: "2-digit", timeZoneName: "short" });
const seconds = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

export function moment(time) {
  const at = new Date(time);
  return isToday(at) ? zoned.format(at) : date.format(at);
}

// exactly returns a time with its seconds.
export function exactly(time) {
  return seconds.format(new Date(time));
}

// stamp returns a time for a column of times, without the zone for times of today.
export function stamp(time) {
  const at = new Date(time);
  return h("time", { datetime: at.toISOString(), title: full.format(at) }, isToday(at) ? clock.format(at)
    : date.format(at));
}

function isToday(at) {
  return new Date(now()).toDateString() === at.toDateString();
}

// duration returns a length of time in its two largest units.
export function duration(milliseconds) {
  const ms = Math.max(0, milliseconds);
  if (ms < second) return T.milliseconds(Math.round(ms));
  if (ms < minute) return T.seconds(Math.floor(ms / second));
  if (ms < 10 * minute) return T.minutesAndSeconds(Math.floor(ms / minute), Math.floor(ms % minute / second));
  if (ms < hour) return T.minutes(Math.floor(ms / minute));
  if (ms < day) return T.hours(Math.floor(ms / hour), Math.floor(ms % hour / minute));
  return T.days(Math.floor(ms / day), Math.floor(ms % day / hour));
}

export function ago(time) {
  const passed = now() - Date.parse(time);
  return passed < 10 * second ? T.justNow : T.ago(duration(passed >= minute ? passed - passed % minute : passed));
}

// ticking are the elements whose texts depend on the time.
const ticking = new Map();

setInterval(() => {
  for (const [node, tick] of ticking) {
    if (!node.isConnected) ticking.delete(node);
    else tick();
  }
}, second);

// live returns a time element that is updated each second.
function live(time, text, className) {
  const node = h("time", { datetime: time, title: full.format(new Date(time)), class: className ?? null });
  const tick = () => {
    const next = text(node);
    if (node.textContent !== next) node.textContent = next;
  };
  tick();
  queueMicrotask(() => ticking.set(node, tick));
  return node;
}

export function since(time, className) {
  return live(time, () => ago(time), className);
}

// until counts down to a time.
export function until(time, className) {
  return live(time, (node) => {
    const left = Date.parse(time) - now();
    node.classList.toggle("soon", left < hour);
    return left <= 0 ? T.overdue : T.inTime(duration(left));
  }, className);
}
