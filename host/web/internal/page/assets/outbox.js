// Replies on their way. A reply is held for a few seconds, so that the person can take it back, and is then sent with
// a key, so that it counts once even if the connection is lost repeatedly. A page that closes sends what it holds.
// The key is stored with the draft, so a page that is opened later sends the same reply again.

import { T } from "./texts.js";
import { Problem, newKey, postOnce, questionPath } from "./api.js";
import { announce, button, h, prose, set } from "./dom.js";
import { dropDraft, keepDraft, readDraft, unsent } from "./drafts.js";
import { Exact } from "./exact.js";
import { settings, undoTime } from "./settings.js";
import { until } from "./time.js";

const most = 200; // replies remembered after they were sent
const replies = new Map(); // by question; the newest last
const watchers = new Set();

// keyOf names a question in this page.
export function keyOf(run, id) {
  return `${run}/${id}`;
}

// replyTo returns the reply to a question, with its state:
//   held      it can be taken back, until the time at
//   sending   its request is under way; again: once more, after a lost connection
//   done      it was accepted
//   refused   the server refused it, for the reason in problem
//   unknown   it may have arrived
export function replyTo(run, id) {
  return replies.get(keyOf(run, id));
}

// decided reports whether a question needs no other decision from this person now.
export function decided(run, id) {
  return ["held", "sending", "again", "done"].includes(replyTo(run, id)?.state);
}

// onReply calls with each reply whose state changes, until the returned function is called.
export function onReply(call) {
  watchers.add(call);
  return () => watchers.delete(call);
}

function become(reply, state) {
  reply.state = state;
  for (const call of watchers) call(reply);
}

// hold takes a reply to a question: body is the request's text, says describes it in a few words. Replies of one action
// are taken back together. It does nothing if the question has a reply that may still count.
export function hold({ run, question, title, body, says, action = null }) {
  if (decided(run, question.id)) return;
  const key = keyOf(run, question.id);
  const before = replies.get(key);
  const sent = before?.state === "unknown" ? before : readDraft(run, question)?.sent;
  const reply = { run, id: question.id, question, title, body, says, action,
    key: sent?.body === body ? sent.key : newKey() };
  add(key, reply);
  const pause = undoTime();
  if (pause === 0) {
    deliver(reply);
    return;
  }
  reply.at = new Date(Date.now() + pause).toISOString();
  reply.timer = setTimeout(() => deliver(reply), pause);
  become(reply, "held");
  announce(T.heldFor(says, pause / 1000, settings.keys));
}

function add(key, reply) {
  replies.delete(key);
  replies.set(key, reply);
  if (replies.size <= most) return;
  for (const [old, { state }] of replies) {
    if (state === "done" || state === "refused") {
      replies.delete(old);
      return;
    }
  }
}

// resume sends a reply again that was under way when a page was closed.
export function resume(run, question, { body, key }) {
  if (decided(run, question.id)) return;
  const reply = { run, id: question.id, question, title: "", body, says: T.answer, key };
  add(keyOf(run, question.id), reply);
  deliver(reply);
}

// undo takes back a held reply, or the last one, with the others of its action, and returns it.
export function undo(reply = [...replies.values()].findLast((r) => r.state === "held")) {
  if (reply?.state !== "held") return null;
  const all = reply.action ? [...replies.values()].filter((r) => r.action === reply.action && r.state === "held")
    : [reply];
  for (const one of all) {
    clearTimeout(one.timer);
    replies.delete(keyOf(one.run, one.id));
    become(one, "undone");
  }
  announce(T.undone);
  return reply;
}

// forget drops a reply whose outcome the person has seen.
export function forget(reply) {
  replies.delete(keyOf(reply.run, reply.id));
}

function keepSent({ run, question, body, key }) {
  keepDraft(run, question, { ...readDraft(run, question), sent: { body, key } });
}

async function deliver(reply) {
  const { run, id, question, body, key } = reply;
  clearTimeout(reply.timer);
  keepSent(reply);
  become(reply, "sending");
  try {
    await postOnce(`${questionPath(run, id)}/reply`, new Exact(body), key, () => become(reply, "again"));
    dropDraft(run, question);
    become(reply, "done");
  } catch (e) {
    // With these two, an earlier try may have been accepted: the key is kept, and the reply sent again.
    if (!(e instanceof Problem) || e.status === 401 || e.status === 429) {
      become(reply, "unknown");
      return;
    }
    reply.problem = e;
    const { sent, ...draft } = readDraft(run, question) ?? {};
    if (sent) keepDraft(run, question, draft);
    become(reply, "refused");
  }
}

// leave sends what is held when the page closes: the request outlives the page.
function leave() {
  for (const reply of replies.values()) {
    if (reply.state !== "held" && reply.state !== "again") continue;
    clearTimeout(reply.timer);
    keepSent(reply);
    reply.state = "left";
    fetch(`${questionPath(reply.run, reply.id)}/reply`, { method: "POST", keepalive: true, body: reply.body,
      headers: { "Content-Type": "application/json", "Idempotency-Key": reply.key } }).catch(() => {});
  }
}

// openOutbox sends replies that an earlier page has left, and shows in a node the held replies and the failed ones of
// questions that are not in view.
export function openOutbox(node, { shown, open }) {
  addEventListener("pagehide", leave);
  document.addEventListener("freeze", leave);
  addEventListener("pageshow", () => {
    for (const reply of replies.values()) if (reply.state === "left") deliver(reply);
  });
  document.addEventListener("resume", () => {
    for (const reply of replies.values()) if (reply.state === "left") deliver(reply);
  });
  for (const { run, question, sent } of unsent()) resume(run, question, sent);
  const show = () => {
    const all = [...replies.values()];
    const held = all.filter((r) => r.state === "held"); // the last one is the one that the key takes back
    const bad = all.filter((r) => (r.state === "refused" || r.state === "unknown") && keyOf(r.run, r.id) !== shown());
    node.hidden = held.length + bad.length === 0;
    const last = held.at(-1);
    const many = held.length > 1 ? [T.heldReplies(held.length), " "] : null;
    set(node, last ? h("p", { class: "held" }, h("span", null, many, h("strong", null, last.says), " ",
      h("span", { dir: "auto" }, prose(last.title.slice(0, 80)))), " ",
    h("span", { class: "muted" }, T.sentWhen, " ", until(last.at)), undoButton(last, open)) : null,
    bad.map((r) => h("p", { class: "failed", role: "alert" }, h("strong", null, T.notAccepted), " ",
      h("span", { dir: "auto" }, prose((r.title || keyOf(r.run, r.id)).slice(0, 80))), " ",
      h("a", { href: `#/inbox/${encodeURIComponent(r.run)}/${r.id}` }, T.lookAgain), " ",
      button(T.dismiss, "small", () => {
        forget(r);
        show();
      }))));
  };
  onReply(show);
  return show;
}

// undoButton takes a reply back, and opens its question.
function undoButton(reply, open) {
  const take = button(T.undo, "small", () => undo(reply) && open?.(reply));
  take.dataset.shortcut = "u";
  take.setAttribute("aria-keyshortcuts", "u");
  return take;
}
