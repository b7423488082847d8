// A client of interlude's HTTP API. The types of all paths, bodies and problems come from the server's OpenAPI document.
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./api.js";

export type { components, paths };
export type Event = components["schemas"]["Event"];
export type Problem = components["schemas"]["Problem"];
type Body<Path extends keyof paths> = paths[Path] extends { post: { requestBody: { content: { "application/json": infer B } } } } ? B : never;
export type Submission = Body<"/runs">;
export type Reply = Omit<Body<"/runs/{id}/questions/{question}/reply">, "seen">;

// Refused is the error of a call that the server has refused, with the library's code, such as SETTLED.
export class Refused extends Error {
  constructor(readonly problem: Problem, readonly status: number) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
  }
}

export interface Options {
  // token is sent as a bearer token. Without it, a browser sends its cookies.
  token?: string;
  // fetch replaces the global fetch.
  fetch?: typeof globalThis.fetch;
  // silence is how long a stream may be silent before it counts as lost, in milliseconds: 60,000 unless set. The server
  // sends a sign of life every 15 seconds.
  silence?: number;
  // pause is the first pause before a reconnection, in milliseconds: 500 unless set. It doubles up to 15 seconds.
  pause?: number;
}

export class Interlude {
  // api calls any path of the API, with types.
  readonly api: Client<paths>;

  constructor(address: string, private readonly options: Options = {}) {
    const headers = options.token ? { Authorization: `Bearer ${options.token}` } : undefined;
    this.api = createClient<paths>({ baseUrl: address.replace(/\/$/, ""), headers, fetch: options.fetch });
  }

  // submit starts a run. The same id again returns the same run.
  async submit(run: Submission) {
    return body(await this.api.POST("/runs", { body: run }));
  }

  // questionOf returns the run's first open question that waits for this caller.
  async questionOf(run: string) {
    for (let after: string | undefined; ; ) {
      const inbox = body(await this.api.GET("/inbox", { params: { query: { after } } }));
      const found = inbox.questions.find((open) => open.run_id === run);
      if (found) return found.question;
      if (!(after = inbox.next)) return undefined;
    }
  }

  // reply answers a question as it was shown. The same key again returns the same receipt.
  async reply(run: string, question: { id: number; digest: string }, reply: Reply, key: string) {
    const params = { path: { id: run, question: question.id }, header: { "Idempotency-Key": key } };
    return body(await this.api.POST("/runs/{id}/questions/{question}/reply", {
      params,
      body: { ...reply, seen: question.digest },
    }));
  }

  // follow yields the run's events with numbers above after, each once, until the run has ended or the signal is aborted.
  // It reconnects when the connection is lost. A refused call throws Refused: with the code CURSOR_BEYOND_END, a restore
  // removed the last event, so read from 0.
  async *follow(run: string, after = 0, signal?: AbortSignal): AsyncGenerator<Event> {
    const first = this.options.pause ?? 500;
    let cursor = `${after}`;
    for (let pause = first; !signal?.aborted; pause = Math.min(2 * pause, 15_000)) {
      try {
        for await (const event of this.stream(run, cursor, signal)) {
          if (event === "ended") return;
          if (event.seq <= after) continue;
          after = event.seq;
          cursor = `${event.seq}@${event.meta.incarnation ?? 0}`;
          pause = first / 2;
          yield event;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  // stream yields the events of one connection, and "ended" if the run has no more.
  private async *stream(run: string, after: string, signal?: AbortSignal): AsyncGenerator<Event | "ended"> {
    const lost = new AbortController();
    const abort = () => lost.abort();
    signal?.addEventListener("abort", abort);
    let timer = setTimeout(abort, this.options.silence ?? 60_000);
    try {
      const answer = await this.api.GET("/runs/{id}/events", {
        params: { path: { id: run }, query: { after } },
        parseAs: "stream",
        signal: lost.signal,
      });
      const stream = body(answer) as ReadableStream<Uint8Array> | null | undefined;
      if (answer.response.status === 204) yield "ended";
      if (answer.response.status === 204 || !stream) return;
      const decoder = new TextDecoder();
      const reader = stream.getReader();
      let text = "";
      for (;;) {
        const part = await reader.read();
        if (part.done) return;
        clearTimeout(timer);
        timer = setTimeout(abort, this.options.silence ?? 60_000);
        const blocks = (text + decoder.decode(part.value, { stream: true })).split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) {
          const data = block.split("\n").find((line) => line.startsWith("data: "));
          if (data) yield JSON.parse(data.slice("data: ".length)) as Event;
        }
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      lost.abort(); // closes the connection if the reader has left the loop
    }
  }
}

// body is the answer's body, or throws its problem.
function body<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.error === undefined && answer.response.ok) return answer.data as T;
  const problem = answer.error as Problem | undefined;
  const title = answer.response.statusText || String(answer.response.status);
  throw new Refused(problem?.code ? problem : ({ code: "HTTP", title, status: answer.response.status } as Problem), answer.response.status);
}
