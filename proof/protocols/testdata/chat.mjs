// useChat of the AI SDK without React: AbstractChat. Each line of the input is a call of the page, and each finished
// stream a line of the output.
import { createInterface } from "node:readline";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { patient } from "./patient.mjs";

const [address, id] = process.argv.slice(2);
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
let requests = 0;
let state; // the last data-state

class Memory {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
  constructor(init) { super({ ...init, state: new Memory() }); }
}

const chat = new Chat({
  id,
  transport: new DefaultChatTransport({ api: address, headers: { authorization: "Bearer ada" },
    fetch: (url, init) => { requests++; return patient(url, init); } }),
  sendAutomaticallyWhen: ({ messages }) => lastAssistantMessageIsCompleteWithToolCalls({ messages })
    || lastAssistantMessageIsCompleteWithApprovalResponses({ messages }),
  onData: (part) => { if (part.type === "data-state") state = part.data; },
  onFinish: ({ messages, isError, isDisconnect, finishReason }) => say({
    error: isError ? String(chat.error?.message ?? "yes") : "", disconnected: isDisconnect, reason: finishReason ?? "",
    state, requests, messages: messages.map((m) => m.id), last: messages.at(-1)?.parts ?? [] }),
});

const calls = () => chat.messages.flatMap((m) => m.parts).filter((p) => p.toolCallId);
const call = (n) => calls().findLast((p) => p.toolCallId.split(".").at(-2) === String(n));
const actions = {
  send: ({ text }) => chat.sendMessage({ text }),
  approve: ({ question, reason }) => chat.addToolApprovalResponse({ id: call(question).approval.id, approved: true, reason }),
  deny: ({ question, reason }) => chat.addToolApprovalResponse({ id: call(question).approval.id, approved: false, reason }),
  output: ({ question, output }) => chat.addToolOutput({ tool: "ask_user", toolCallId: call(question).toolCallId, output }),
  submit: () => chat.sendMessage(),
  again: () => chat.regenerate(),
  resume: () => chat.resumeStream(),
  reload: () => { chat.messages = JSON.parse(JSON.stringify(chat.messages)); chat.clearError(); },
  forget: () => { chat.messages = []; },
  show: () => say({ requests, status: chat.status, messages: chat.messages }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  Promise.resolve(actions[command.do](command)).catch((e) => say({ error: String(e?.message ?? e) }));
}
