// R1: a follower yields each event once, across lost, silent and refused connections, and stops at the end or an error.
import { Interlude, Refused, type Event } from "@interlude-go/client";

const encoder = new TextEncoder();
const block = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "t", meta: seq > 1 ? { incarnation: 9 } : {} })}\n\n`;
type Connection = (after: string, signal: AbortSignal) => Response | Promise<Response>;

// serve is a fetch that answers with one connection after the other.
function serve(connections: Connection[]) {
  const asked: string[] = [];
  const fetch = async (input: RequestInfo | URL) => {
    const request = input as Request;
    const after = new URL(request.url).searchParams.get("after") ?? "";
    asked.push(after);
    const next = connections.shift();
    if (!next) throw new Error("no more connections expected");
    return next(after, request.signal);
  };
  return { asked, fetch: fetch as typeof globalThis.fetch };
}

// stream answers with texts, and then ends, breaks or stays silent.
const stream = (texts: string[], end: "closes" | "breaks" | "hangs"): Connection => (_, signal) =>
  new Response(new ReadableStream({
    pull(c) { // called again when the reader has taken what was enqueued
      const text = texts.shift();
      if (text !== undefined) c.enqueue(encoder.encode(text));
      else if (end === "closes") c.close();
      else if (end === "breaks") c.error(new Error("connection reset"));
      else return new Promise((_, lost) => signal.addEventListener("abort", () => lost(new Error("aborted"))));
    },
  }), { headers: { "Content-Type": "text/event-stream" } });
const status = (code: number): Connection => () =>
  code === 204 ? new Response(null, { status: 204 })
    : new Response(JSON.stringify({ code: "X", title: "x", status: code }), {
        status: code, headers: { "Content-Type": "application/problem+json" } });

async function all(events: AsyncGenerator<Event>) {
  const seen: number[] = [];
  for await (const event of events) seen.push(event.seq);
  return seen;
}
function equal(what: unknown, want: unknown) {
  if (JSON.stringify(what) !== JSON.stringify(want)) throw new Error(`got ${JSON.stringify(what)}, want ${JSON.stringify(want)}`);
}
const options = { pause: 1, silence: 50 };

const lossy = serve([
  stream([block(1), block(2).slice(0, 9)], "closes"), // in the middle of an event
  () => Promise.reject(new TypeError("fetch failed")),
  status(503), status(429),
  stream([": alive\n\n", block(2).slice(0, 5), block(2).slice(5)], "breaks"),
  stream([block(2), block(3)], "hangs"), // one again, then silence
  status(204),
]);
equal(await all(new Interlude("http://x/api", { ...options, fetch: lossy.fetch }).follow("r")), [1, 2, 3]);
equal(lossy.asked, ["0", "1@0", "1@0", "1@0", "1@0", "2@9", "3@9"]);

const refused = serve([stream([block(1)], "closes"), status(403)]);
const error = await all(new Interlude("http://x/api", { ...options, fetch: refused.fetch }).follow("r")).catch((e: unknown) => e);
equal(error instanceof Refused && error.status, 403);

const stop = new AbortController();
const left = serve([stream([block(1)], "hangs")]);
for await (const _ of new Interlude("http://x/api", { fetch: left.fetch }).follow("r", 0, stop.signal)) stop.abort();
