// HttpAgent of AG-UI. Each line of the input is a run of the agent, and each finished run a line of the output.
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { patient } from "./patient.mjs";

const [address, threadId, person = "ada"] = process.argv.slice(2);
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
process.on("unhandledRejection", () => {}); // it leaves one of a broken connection
console.error = () => {}; // the client logs the failures that are expected here

let agent;
const open = () => new HttpAgent({ url: address, threadId, headers: { authorization: `Bearer ${person}` }, fetch: patient });
agent = open();

async function run(resume) {
  const events = [];
  let error = "";
  try {
    await agent.runAgent(resume ? { resume } : {}, { onEvent: ({ event }) => { events.push(event); } });
  } catch (e) {
    error = String(e?.message ?? e);
  }
  const end = events.at(-1) ?? {};
  say({ error, end: end.type ?? "", code: end.code ?? "", message: end.message ?? "", outcome: end.outcome?.type ?? "",
    result: end.result ?? "", interrupts: agent.pendingInterrupts, state: agent.state, messages: agent.messages });
}

const id = (question) => agent.pendingInterrupts.find((i) => i.id.split(".").at(-2) === String(question)).id;
const actions = {
  send: ({ text }) => { agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text }); return run(); },
  // answers are payloads by question; what has none stays open
  resume: ({ answers = {} }) => run(agent.pendingInterrupts.map((i) => {
    const n = i.id.split(".").at(-2);
    return n in answers ? { interruptId: i.id, status: "resolved", payload: answers[n] }
      : { interruptId: i.id, status: "cancelled" };
  })),
  repeat: ({ question, run: name, payload, id: given }) => run([{ interruptId: given ?? id(question), status: "resolved", payload }]),
  look: () => run(),
  reload: () => { const last = agent; agent = open(); agent.messages = last.messages; agent.state = last.state; return run(); },
  forget: () => { agent = open(); return run(); },
};
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  Promise.resolve(actions[command.do](command)).catch((e) => say({ error: String(e?.message ?? e) }));
}
