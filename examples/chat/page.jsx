// A chat page with useChat of the AI SDK: questions and approvals are calls of tools.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses as approvalsAnswered,
  lastAssistantMessageIsCompleteWithToolCalls as questionsAnswered } from "ai";
import { createRoot } from "react-dom/client";

const id = new URLSearchParams(location.search).get("chat") ?? "first";
const transport = new DefaultChatTransport({ api: "/chat/" });

function Page() {
  const chat = useChat({ id, transport, resume: true,
    sendAutomaticallyWhen: (now) => approvalsAnswered(now) || questionsAnswered(now) });
  return <>
    {chat.messages.map((message) => <section key={message.id} aria-label={message.role}>
      {message.parts.map((part, i) => <Part key={i} chat={chat} part={part} />)}
    </section>)}
    {chat.error && <p role="alert">{chat.error.message}</p>}
    <Entry label="Message" onText={(text) => chat.sendMessage({ text })} />
  </>;
}

function Part({ chat, part }) {
  switch (part.type) {
    case "text": return <p>{part.text}</p>;
    case "tool-ask_user": return <Question chat={chat} part={part} />;
    case "dynamic-tool": return <Approval chat={chat} part={part} />;
  }
  return null;
}

function Question({ chat, part: { toolCallId, state, input, output, errorText } }) {
  const answer = (output) => chat.addToolOutput({ tool: "ask_user", toolCallId, output });
  return <fieldset>
    <legend>{input?.message}</legend>
    {state !== "input-available" && <b>{String(output ?? errorText)}</b>}
    {state === "input-available" && input.options?.map((option) =>
      <button key={option.value} onClick={() => answer(option.value)}>{option.label}</button>)}
    {state === "input-available" && !input.options && <Entry label="Answer" onText={answer} />}
  </fieldset>;
}

function Approval({ chat, part: { toolName, state, approval } }) {
  const decide = (approved) => chat.addToolApprovalResponse({ id: approval.id, approved });
  return <fieldset>
    <legend>{toolName}</legend>
    <pre>{approval?.requestReason /* the call with its arguments, and the risk */}</pre>
    {state !== "approval-requested" && <b>{approval?.approved ? "approved" : "rejected"}: {approval?.reason}</b>}
    {state === "approval-requested" && <button onClick={() => decide(true)}>Approve</button>}
    {state === "approval-requested" && <button onClick={() => decide(false)}>Reject</button>}
  </fieldset>;
}

function Entry({ label, onText }) {
  const send = (event) => { event.preventDefault(); onText(new FormData(event.target).get("text")); event.target.reset(); };
  return <form onSubmit={send}><label>{label} <input name="text" required /></label> <button>Send</button></form>;
}

createRoot(document.querySelector("main")).render(<Page />);
