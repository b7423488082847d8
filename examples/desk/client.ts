// A client in TypeScript: it submits a run, answers its question, and follows the run to its end. The package is in
// clients/typescript.
import { Interlude, Refused } from "@interlude-go/client";

declare const process: { argv: string[] }; // or npm install @types/node
const interlude = new Interlude(process.argv[2] ?? "http://127.0.0.1:8080/interlude/api");

const run = await interlude.submit({ id: "release-8", prompt: "Ship version 8?" });
for await (const event of interlude.follow(run.id)) {
  console.log(event.seq, event.type);
  if (event.type !== "user.input.required") continue;
  const question = await interlude.questionOf(run.id);
  if (!question) throw new Error("no question waits for me");
  const receipt = await interlude.reply(run.id, question, { text: "yes" }, `${run.id}/yes`);
  console.log(question.prompt, receipt.accepted_at);
  const late = await interlude.reply(run.id, question, { text: "no" }, `${run.id}/no`).catch((error: unknown) => error);
  if (!(late instanceof Refused) || late.problem.code !== "SETTLED") throw new Error(`a late reply: ${String(late)}`);
}
console.log((await interlude.api.GET("/runs/{id}", { params: { path: { id: run.id } } })).data?.final_text);
