// The calls of the API. Paths are relative to the page, so any prefix works.

import { parse, stringify } from "./exact.js";

// Problem is a request that the server refused, with the members of RFC 9457.
export class Problem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? "");
    Object.assign(this, problem, { status });
  }
}

// Unreachable means that the outcome of a request is unknown.
export class Unreachable extends Error {}

// The server's clock minus this machine's, so that countdowns do not depend on the local clock.
let skew = 0;

export function now() {
  return Date.now() + skew;
}

function readClock(response) {
  const date = Date.parse(response.headers.get("Date") ?? "");
  const difference = date + 500 - Date.now(); // the header has whole seconds
  if (Math.abs(difference) > 2000) skew = difference;
  else if (!Number.isNaN(difference)) skew = 0;
}

const slow = 3000;
let whenSlow = () => {};

// onSlow sets the function to call when a request has had no answer for three seconds.
export function onSlow(call) {
  whenSlow = call;
}

async function request(method, path, { body, key, signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response, text;
  const waits = setTimeout(() => whenSlow(), slow);
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : stringify(body) });
    text = await response.text();
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Unreachable(e.message);
  } finally {
    clearTimeout(waits);
  }
  readClock(response);
  if (response.ok) return { value: text ? parse(text) : null, tag: response.headers.get("ETag") };
  let problem = {};
  try {
    problem = parse(text);
  } catch { // for example a proxy's error page
    if (response.status >= 500) throw new Unreachable(response.statusText);
  }
  if (response.status === 500 || response.status === 502 || response.status === 503 || response.status === 504) {
    throw new Unreachable(problem.detail);
  }
  throw new Problem(response.status, problem);
}

export async function get(path, signal) {
  return (await request("GET", path, { signal })).value;
}

// getTagged is get with the ETag: an equal tag means an equal value.
export function getTagged(path, signal) {
  return request("GET", path, { signal });
}

export async function post(path, body, key) {
  return (await request("POST", path, { body, key })).value;
}

const pauses = [300, 700, 1500, 3000, 5000, 8000];

// postOnce repeats a request with the same key until its outcome is known, so the server executes it once. It calls
// lost after each lost connection.
export async function postOnce(path, body, key, lost) {
  for (const pause of pauses) {
    try {
      return await post(path, body, key);
    } catch (e) {
      if (!(e instanceof Unreachable) && e.status !== 429) throw e;
      lost();
      await new Promise((again) => setTimeout(again, pause));
    }
  }
  return post(path, body, key);
}

// newKey returns a unique key. crypto.randomUUID exists only on pages over TLS.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export function runPath(run) {
  return `api/runs/${encodeURIComponent(run)}`;
}

export function questionPath(run, question) {
  return `${runPath(run)}/questions/${question}`;
}

// query returns a query string. It omits members without a value and repeats the name for each item of a list.
export function query(parameters) {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "" && one !== false) all.append(name, one);
    }
  }
  const text = all.toString();
  return text ? "?" + text : "";
}
