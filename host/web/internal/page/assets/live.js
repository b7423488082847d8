// Keeps the page up to date: the server reports changes, and the page reads again. Without the stream, the page polls
// every few seconds; an unchanged answer costs only its ETag.

import { Unreachable, newKey, onSlow } from "./api.js";
import { parse } from "./exact.js";
import { settings } from "./settings.js";

const polled = 4000;
const checked = 60000; // in addition to the stream, in case a proxy delays it
const background = 20000; // in a hidden page that notifies of new questions
const brief = 1000; // how long a run's stream is open in a window that polls
const longestPause = 10000;

const readers = new Map(); // the reads, and the changes that each wants
const wanted = new Set(); // the reads that are due
const watchers = new Set();
const runStreams = new Set(); // functions that reopen them
let state = "connecting";
let source = null;
let inboxQuery = ""; // of the inbox whose changes the stream reports
let noStreamUntil = 0;
let timer = 0;
let failures = 0;
let reading = false;

// follow calls read now and after each relevant change. For a change from the inbox's stream, wants decides whether it
// is relevant, and may handle it. follow returns the function that stops it.
export function follow(read, wants = () => true) {
  readers.set(read, wants);
  refresh([read]);
  return () => readers.delete(read);
}

// watch calls back with the state of the connection: connecting, live, or lost.
export function watch(say) {
  watchers.add(say);
  say(state);
}

function become(next) {
  if (state === next) return;
  state = next;
  for (const say of watchers) say(state);
}

// refresh repeats these reads, or all. A read that is already running is repeated once.
export async function refresh(some = readers.keys()) {
  for (const read of some) wanted.add(read);
  if (reading) return;
  reading = true;
  clearTimeout(timer);
  let lost = false;
  for (const read of wanted) {
    wanted.delete(read);
    if (!readers.has(read)) continue;
    try {
      await read();
      lost = false;
    } catch (e) {
      lost = e instanceof Unreachable;
      if (!lost) console.error(e);
    }
  }
  failures = lost ? failures + 1 : 0;
  become(lost ? "lost" : "live");
  reading = false;
  if (!source && state === "live") connect();
  const pause = document.hidden ? background : failures ? Math.min(longestPause, 500 * 2 ** failures)
    : source ? checked : polled;
  if (!document.hidden || settings.notify) timer = setTimeout(() => refresh(), pause);
}

// connect opens the stream of the inbox. The server sends reload first, and after it has lost track.
function connect() {
  if (document.hidden || !mayStream()) return;
  const opened = new EventSource(`api/inbox/events${inboxQuery}`);
  source = opened;
  opened.addEventListener("reload", () => refresh());
  opened.addEventListener("change", ({ data }) => {
    const change = parse(data);
    refresh([...readers].filter(([, wants]) => wants(change)).map(([read]) => read));
  });
  opened.onerror = () => {
    if (source !== opened) return;
    if (opened.readyState === EventSource.CLOSED) { // closed by a status, for example because too many streams are open
      disconnect();
      if (state === "live") noStreamUntil = Date.now() + checked;
    }
    refresh();
  };
}

// followInbox follows the inbox with another query.
export function followInbox(query) {
  if (query === inboxQuery) return;
  inboxQuery = query;
  disconnect();
}

function disconnect() {
  source?.close();
  source = null;
}

function closeStreams() {
  disconnect();
  for (const open of runStreams) open();
  refresh();
}

// All windows of a browser share six connections to a server, and each stream occupies one. So only the two oldest
// visible windows keep streams open, and the others poll. The windows announce themselves to each other.
const holders = 2;
const announced = 5000;
const self = String(Date.now()).padStart(15, "0") + newKey();
const heard = new Map(); // when each of the other visible windows was last heard
const windows = new BroadcastChannel("interlude");

function mayStream() {
  const older = [...heard].filter(([other, at]) => other < self && Date.now() - at < 3 * announced);
  return older.length < holders && Date.now() >= noStreamUntil;
}

function tell(says) {
  windows.postMessage({ from: self, says });
}

function hear({ data: { from, says } }) {
  if (says === "hidden") {
    heard.delete(from);
    return;
  }
  heard.set(from, Date.now());
  if (document.hidden) return;
  if (says === "new") tell("here");
  if (source && !mayStream()) closeStreams();
}

// start begins to follow. A hidden page holds no connection, because browsers allow few for each server.
export function start() {
  onSlow(() => { // another window may hold the connection
    noStreamUntil = Date.now() + checked;
    closeStreams();
  });
  windows.onmessage = hear;
  tell("new");
  setInterval(() => {
    if (!document.hidden) tell("here");
  }, announced);
  addEventListener("pagehide", () => tell("hidden"));
  document.addEventListener("visibilitychange", () => {
    tell(document.hidden ? "hidden" : "new");
    if (document.hidden) {
      disconnect();
      clearTimeout(timer);
      if (settings.notify) timer = setTimeout(() => refresh(), background);
    } else {
      refresh();
    }
  });
  addEventListener("online", () => refresh());
  addEventListener("offline", () => refresh());
  refresh();
}

async function reloadIfGone(place) {
  const left = new AbortController();
  const { status } = await fetch(place, { signal: left.signal }).catch(() => ({}));
  left.abort();
  if (status === 410) location.reload();
}

// followRun calls seen with all events of a run after a cursor, whenever there are new ones, until the returned
// function is called. The browser resumes the stream after its last event.
export function followRun(path, seen, after = 0) {
  const events = [];
  let opened = null;
  let waiting = 0;
  let next = 0;
  const close = () => {
    clearTimeout(next);
    opened?.close();
  };
  const place = () => {
    const last = events.at(-1);
    return `${path}/events?after=${last ? `${last.seq}@${last.meta.incarnation ?? 0}` : after}`;
  };
  const open = () => {
    close();
    if (document.hidden) return;
    const stream = opened = new EventSource(place());
    opened.onerror = () => { // refused: the run has ended, or a restore removed the last event
      if (events.length && stream.readyState === EventSource.CLOSED) reloadIfGone(place());
    };
    opened.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.seq <= (events.at(-1)?.seq ?? 0)) return;
      events.push(event);
      clearTimeout(waiting);
      waiting = setTimeout(() => seen(events), 50); // events arrive in bursts
    };
    if (mayStream()) return;
    next = setTimeout(() => {
      if (opened.readyState === EventSource.CLOSED) return; // the run has ended
      close();
      next = setTimeout(open, polled);
    }, brief);
  };
  open();
  runStreams.add(open);
  document.addEventListener("visibilitychange", open);
  return () => {
    runStreams.delete(open);
    clearTimeout(waiting);
    close();
    document.removeEventListener("visibilitychange", open);
  };
}
