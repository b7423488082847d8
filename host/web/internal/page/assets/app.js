// The page: the signed-in person, the current view, and the state of the connection.

import { T } from "./texts.js";
import { Problem, Unreachable, get } from "./api.js";
import { announce, h, said, set, shown } from "./dom.js";
import { openDrafts } from "./drafts.js";
import { Inbox } from "./inbox.js";
import { refresh, start, watch } from "./live.js";
import { QuestionPanel, problemText } from "./question.js";
import { RunList, RunPanel } from "./runs.js";
import { SystemView } from "./system.js";

const byID = (id) => document.getElementById(id);
const body = document.body;

let me, inbox, runList, system, panel = null, shownAt = "";

// who requests the caller's identity until the server answers.
async function who() {
  for (;;) {
    try {
      return await get("api/me");
    } catch (e) {
      if (!(e instanceof Unreachable)) throw e;
      connection("lost");
      await new Promise((again) => setTimeout(again, 2000));
    }
  }
}

let wasLost = false;

function connection(state) {
  body.dataset.connection = state;
  byID("lost").hidden = state !== "lost";
  byID("connection").textContent = T.connection[state];
  if (state === "lost" && !wasLost) announce(T.lost);
  if (state === "live" && wasLost) announce(T.back);
  if (state !== "connecting") wasLost = state === "lost";
}

// place reads the current view from the address after the #.
function place() {
  const [, view, run, question] = location.hash.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { view: ["inbox", "runs", "system"].includes(view) ? view : "inbox", run, question: Number(question) || 0 };
}

function route() {
  const { view, run, question } = place();
  const at = `${view} ${run ?? ""} ${question}`;
  if (at === shownAt) return;
  const moved = shownAt !== "";
  shownAt = at;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  body.dataset.view = view;
  body.dataset.detail = run ? "open" : "none";
  byID("inbox").hidden = view !== "inbox";
  byID("runs").hidden = view !== "runs";
  byID("system").hidden = view !== "system";
  byID("detail").hidden = view === "system";
  runList.setVisible(view === "runs");
  system.setVisible(view === "system");
  inbox.select(view === "inbox" ? run : "", question);
  runList.select(view === "runs" ? run : "");
  panel?.close();
  panel = null;
  const node = h("article", { class: "panel" });
  set(byID("detail"), run ? h("a", { class: "back", href: `#/${view}` }, T.backToList) : null, node);
  if (view === "inbox" && run && question) {
    panel = new QuestionPanel(node, run, question, { known: () => inbox.find(run, question),
      next: () => inbox.next() });
  } else if (view === "runs" && run) {
    panel = new RunPanel(node, run);
  } else {
    set(node, h("p", { class: "empty muted" }, view === "inbox" ? T.pickQuestion : T.pickRun));
  }
  byID("detail").scrollTop = 0;
  if (moved && run) focusTitle(node, 20);
}

// focusTitle moves the focus to the opened view once it is there, for screen readers, unless the person has begun to
// type elsewhere.
function focusTitle(node, tries) {
  if (node.contains(document.activeElement)) return;
  const title = node.querySelector("h1");
  if (title) title.focus({ preventScroll: true });
  else if (tries > 0 && node.isConnected) setTimeout(() => focusTitle(node, tries - 1), 50);
}

function texts() {
  document.title = T.title;
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = T[node.dataset.text];
  byID("views").setAttribute("aria-label", T.views);
}

async function open() {
  texts();
  connection("connecting");
  byID("retry").addEventListener("click", () => refresh());
  byID("skip").addEventListener("click", (e) => { // the part after the # selects the view
    e.preventDefault();
    byID(body.dataset.view === "system" ? "system" : "detail").focus();
  });
  try {
    me = await who();
  } catch (e) {
    set(byID("main"), h("div", { class: "empty alone", role: "alert" }, h("h1", null, T.cannotOpen),
      said(e instanceof Problem ? problemText(e) : String(e))));
    return;
  }
  set(byID("me"), me.identified ? shown(me.id) : T.thisMachine);
  openDrafts(me.id);
  inbox = new Inbox(byID("inbox"));
  inbox.changed = () => {
    document.title = inbox.questions.length ? `(${inbox.questions.length}) ${T.title}` : T.title;
  };
  runList = new RunList(byID("runs"));
  system = new SystemView(byID("system"));
  watch(connection);
  addEventListener("hashchange", route);
  route();
  start();
}

open();
