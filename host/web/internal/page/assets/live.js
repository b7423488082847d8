// Keeps the page up to date: the server says that something has changed, and the page reads it again. Where the
// stream cannot be had the page asks every few seconds; an unchanged answer costs no more than its ETag.

import { Unreachable } from "./api.js";

const polled = 4000;
const checked = 60000; // beside the stream, in case that a proxy holds it back
const longestPause = 10000;

const readers = new Set();
const watchers = new Set();
let state = "connecting";
let source = null;
let streams = true; // until the server has none
let timer = 0;
let failures = 0;
let reading = false;
let again = false;

// follow calls read now, and whenever something may have changed. It returns what ends this.
export function follow(read) {
  readers.add(read);
  refresh();
  return () => readers.delete(read);
}

// watch calls with the state of the connection: connecting, live, or lost.
export function watch(say) {
  watchers.add(say);
  say(state);
}

function become(next) {
  if (state === next) return;
  state = next;
  for (const say of watchers) say(state);
}

// refresh reads everything again. Of calls while it reads, one more follows.
export async function refresh() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  clearTimeout(timer);
  do {
    again = false;
    let lost = false;
    for (const read of [...readers]) {
      try {
        await read();
      } catch (e) {
        if (e instanceof Unreachable) lost = true;
        else console.error(e);
      }
    }
    failures = lost ? failures + 1 : 0;
    become(lost ? "lost" : "live");
  } while (again);
  reading = false;
  if (!source && state === "live") connect();
  timer = setTimeout(refresh, failures ? Math.min(longestPause, 500 * 2 ** failures) : source ? checked : polled);
}

// connect opens the stream. Its first event comes at once.
function connect() {
  if (!streams || document.hidden) return;
  const opened = new EventSource("api/questions/events");
  source = opened;
  opened.onmessage = () => refresh();
  opened.addEventListener("changed", () => refresh());
  opened.onerror = () => {
    if (source !== opened) return;
    if (opened.readyState === EventSource.CLOSED) { // a status: it would not come back by itself
      if (state === "live") streams = false;
      disconnect();
    }
    refresh();
  };
}

function disconnect() {
  source?.close();
  source = null;
}

// start begins to follow. A page that nobody sees holds no connection: a browser has few for one server.
export function start() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      disconnect();
      clearTimeout(timer);
    } else {
      refresh();
    }
  });
  addEventListener("online", refresh);
  addEventListener("offline", refresh);
  refresh();
}

// followRun calls seen with all events of a run so far, whenever some have come, until the returned function is
// called. The browser resumes the stream behind the last event that it had.
export function followRun(path, seen) {
  const events = [];
  let opened = null;
  let waiting = 0;
  const open = () => {
    opened = new EventSource(`${path}/events?after=${events.at(-1)?.seq ?? 0}`);
    opened.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.seq <= (events.at(-1)?.seq ?? 0)) return;
      events.push(event);
      clearTimeout(waiting);
      waiting = setTimeout(() => seen(events), 50); // they come many at a time
    };
  };
  const visible = () => {
    opened.close();
    if (!document.hidden) open();
  };
  open();
  document.addEventListener("visibilitychange", visible);
  return () => {
    clearTimeout(waiting);
    opened.close();
    document.removeEventListener("visibilitychange", visible);
  };
}
