// A client in TypeScript: it submits a run, finds its question in the inbox, answers it, and follows the run to its end.
//
//   npm install openapi-fetch && npm install --save-dev openapi-typescript typescript
//   npx openapi-typescript http://127.0.0.1:8080/interlude/api/openapi.json -o api.d.ts
//   npx tsc --strict --target es2022 --module nodenext client.ts
//   node client.js http://127.0.0.1:8080/interlude/api
//
// The types of all paths, bodies and problems come from the server's own document.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] }; // or npm install @types/node
type Event = components["schemas"]["Event"];
type Problem = components["schemas"]["Problem"];

const api = createClient<paths>({ baseUrl: process.argv[2] ?? "http://127.0.0.1:8080/interlude/api" });

// Refused is an error with the library's code, such as SETTLED.
class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
  }
}

// body is what came back, or the problem as an error.
function body<T>(answer: { data?: T; error?: Problem }): T {
  if (answer.error) throw new Refused(answer.error);
  return answer.data as T;
}

async function submit(id: string, prompt: string) {
  return body(await api.POST("/runs", { body: { id, prompt } })); // again with the same id: the same run
}

// questionOf waits until the run asks, and lists the inbox page by page.
async function questionOf(id: string) {
  for await (const event of follow(id)) {
    if (event.type === "user.input.required") break;
  }
  for (let after: string | undefined; ; ) {
    const inbox = body(await api.GET("/inbox", { params: { query: { after } } }));
    const found = inbox.questions.find((open) => open.run_id === id);
    if (found) return found.question;
    if (!(after = inbox.next)) throw new Error(`no question of ${id} waits for me`);
  }
}

async function reply(id: string, question: number, text: string, seen: string) {
  const params = { path: { id, question }, header: { "Idempotency-Key": `${id}/${question}/${text}` } };
  return body(await api.POST("/runs/{id}/questions/{question}/reply", { params, body: { text, seen } }));
}

// follow yields the run's events until it has ended. After a lost connection, go on with the last event's number.
async function* follow(id: string, after = 0): AsyncGenerator<Event> {
  const stream = body(await api.GET("/runs/{id}/events", {
    params: { path: { id }, query: { after } },
    parseAs: "stream",
  }));
  if (!stream) return; // the run had ended there
  let text = "";
  for await (const part of (stream as ReadableStream<BufferSource>).pipeThrough(new TextDecoderStream())) {
    const blocks = (text + part).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice("data: ".length)) as Event;
    }
  }
}

const run = await submit("release-8", "Ship version 8?");
const question = await questionOf(run.id);
console.log(question.prompt, (await reply(run.id, question.id, "yes", question.digest)).accepted_at);
for await (const event of follow(run.id)) console.log(event.seq, event.type);
console.log((await api.GET("/runs/{id}", { params: { path: { id: run.id } } })).data?.final_text);
const late = await reply(run.id, question.id, "no", question.digest).catch((error: unknown) => error);
if (!(late instanceof Refused) || late.problem.code !== "SETTLED") throw new Error(`a late reply: ${String(late)}`);
