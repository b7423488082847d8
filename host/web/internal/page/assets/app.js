// The page: the signed-in person, the current view, and the state of the connection.

import { T } from "./texts.js";
import { AnswersView } from "./answers.js";
import { Problem, Unreachable, get } from "./api.js";
import { announce, h, said, set, shown } from "./dom.js";
import { openDrafts } from "./drafts.js";
import { Inbox } from "./inbox.js";
import { Keys, Preferences } from "./keys.js";
import { refresh, start, watch } from "./live.js";
import { keyOf, openOutbox, undo } from "./outbox.js";
import { QuestionPanel, problemText } from "./question.js";
import { RunList, RunPanel } from "./runs.js";
import { onChange, settings } from "./settings.js";
import { SeveralPanel } from "./several.js";
import { SystemView } from "./system.js";
import { visible } from "./visible.js";

const byID = (id) => document.getElementById(id);
const body = document.body;
const host = document.title; // the name of the host

let me, inbox, runList, system, answers, preferences, showOutbox, panel = null, shownAt = "";

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
  const [path, filters] = location.hash.split("?");
  const [, view, run, question] = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const views = ["inbox", "several", "answers", "runs", "system"];
  return { view: views.includes(view) ? view : "inbox", run, question: Number(question) || 0, filters };
}

function route() {
  const { view, run, question, filters } = place();
  if (view === "inbox") inbox.address(filters);
  if (view === "runs") runList.address(filters);
  const at = `${view} ${run ?? ""} ${question}`;
  if (at === shownAt) return;
  const moved = shownAt !== "";
  shownAt = at;
  const list = view === "several" ? "inbox" : view;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === list) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  body.dataset.view = view;
  body.dataset.detail = run || view === "several" ? "open" : "none";
  byID("inbox").hidden = list !== "inbox";
  byID("runs").hidden = view !== "runs";
  byID("system").hidden = view !== "system";
  byID("answers").hidden = view !== "answers";
  byID("detail").hidden = view === "system" || view === "answers";
  runList.setVisible(view === "runs");
  system.setVisible(view === "system");
  answers.setVisible(view === "answers");
  inbox.select(view === "inbox" ? run : "", question);
  runList.select(view === "runs" ? run : "");
  panel?.close();
  panel = null;
  const node = h("article", { class: "panel" });
  const opened = run || view === "several";
  set(byID("detail"), opened ? h("a", { class: "back", href: `#/${list}` }, T.backToList) : null, node);
  if (view === "inbox" && run && question) {
    panel = new QuestionPanel(node, run, question, { known: () => inbox.find(run, question),
      next: () => inbox.next(), answered: () => go(inbox.next()?.href), remember: me.remember,
      directory: me.directory });
  } else if (view === "several") {
    panel = new SeveralPanel(node, { questions: () => inbox.pickedQuestions(), drop: (q) =>
      inbox.pick(`${q.run_id}/${q.question.id}`, false), done: () => {} });
  } else if (view === "runs" && run) {
    panel = new RunPanel(node, run);
  } else {
    set(node, view === "inbox" ? inbox.waiting() : h("p", { class: "empty muted" }, T.pickRun));
  }
  byID("detail").scrollTop = 0;
  showOutbox?.();
  if (moved && opened) focusTitle(node, 20, document.activeElement);
}

// focusTitle moves the focus to the opened view once it is there, for screen readers, unless the person has begun to
// type elsewhere.
function focusTitle(node, tries, from) {
  if (document.activeElement !== from && document.activeElement !== body) return;
  const title = node.querySelector("h1");
  if (title) title.focus({ preventScroll: true });
  else if (tries > 0 && node.isConnected) setTimeout(() => focusTitle(node, tries - 1, from), 50);
}

// go moves to an address of the page, if there is one, at once: the next key is for what is there.
function go(href) {
  if (!href) return false;
  location.hash = href;
  route();
  return true;
}

// onQuestion acts on the displayed question. If another row of the list has the focus, it is displayed first: no key
// decides a question that is not in view.
function onQuestion(act) {
  return (target, digit) => {
    const row = target.closest?.("#inbox a.row");
    if (row && !row.hasAttribute("aria-current")) return go(row.getAttribute("href"));
    return panel instanceof QuestionPanel && act(panel, digit) || panel instanceof SeveralPanel && act(panel);
  };
}

function shortcuts() {
  const decide = (name) => ({ name, act: onQuestion((p) => p.act(name)) });
  const move = (name, by) => ({ name, repeats: true, act: () => place().view === "inbox" && go(inbox.neighbour(by)) });
  const view = (name) => ({ name, act: () => go(`#/${name}`) });
  const table = {
    j: move("next", 1), k: move("previous", -1),
    Enter: { name: "enter", act: (target) => {
      if (target.closest?.("a, button, summary, input") || place().view !== "inbox") return false;
      return panel instanceof QuestionPanel ? panel.act("answer") : go(inbox.neighbour(1));
    } },
    a: decide("approve"), r: decide("reject"), e: decide("edit"), y: decide("acknowledge"),
    c: { name: "claim", act: onQuestion((p) => p.toggleClaim?.()) },
    m: { name: "note", act: onQuestion((p) => p.note?.()) },
    x: { name: "select", act: (target) => {
      const key = target.closest?.("#inbox a.row")?.dataset.key ?? (place().view === "inbox" ? inbox.selected : "");
      if (key) inbox.pick(key);
      return Boolean(key);
    } },
    b: { name: "several", act: () => inbox.picked.size > 0 && go("#/several") },
    u: { name: "undo", act: () => {
      const reply = undo();
      return Boolean(reply) && reopen(reply);
    } },
    "/": { name: "search", act: () => {
      const field = [...document.querySelectorAll(".list input[type=search]")].find((one) => one.checkVisibility());
      field?.focus();
      return Boolean(field);
    } },
    "g i": view("inbox"), "g a": view("answers"), "g r": view("runs"), "g s": view("system"),
    "?": { name: "help", act: () => preferences.open() },
    Escape: { name: "leave", act: (field) => {
      const list = field.closest(".list");
      field.blur();
      (list?.querySelector("a.row[aria-current], a.row") ?? byID("detail").querySelector("h1"))?.focus();
    } },
  };
  for (let n = 1; n <= 9; n++) table[n] = { name: "pick", act: onQuestion((p, digit) => p.act("pick", digit)) };
  return table;
}

// reopen shows the question of a reply that was taken back.
function reopen({ run, id, action }) {
  if (action) return place().view === "several" || go("#/several");
  return go(`#/inbox/${encodeURIComponent(run)}/${id}`);
}

function texts() {
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = T[node.dataset.text];
  byID("views").setAttribute("aria-label", T.views);
  byID("outbox").setAttribute("aria-label", T.outbox);
}

let known = null; // the questions for this person when the list last changed, by key

// notify tells a person who has asked for it about new questions, while the page is in the background.
function notify(questions) {
  const mine = new Map(questions.filter((q) => q.question.may_reply).map((q) => [keyOf(q.run_id, q.question.id), q]));
  const fresh = known ? [...mine].filter(([key]) => !known.has(key)).map(([, q]) => q) : [];
  known = mine;
  if (!fresh.length || !document.hidden || !settings.notify || Notification.permission !== "granted") return;
  const { run_id: run, question } = fresh[0];
  const note = new Notification(T.newQuestions(fresh.length), { tag: "interlude", icon: "logo",
    body: visible(question.subject?.title || question.prompt, true).slice(0, 200) });
  note.onclick = () => {
    window.focus();
    reopen({ run, id: question.id });
  };
}

async function open() {
  texts();
  onChange(() => { document.documentElement.dataset.theme = settings.theme; });
  connection("connecting");
  byID("retry").addEventListener("click", () => refresh());
  byID("skip").addEventListener("click", (e) => { // the part after the # selects the view
    e.preventDefault();
    byID(["system", "answers"].includes(body.dataset.view) ? body.dataset.view : "detail").focus();
  });
  try {
    me = await who();
  } catch (e) {
    set(byID("main"), h("div", { class: "empty alone", role: "alert" }, h("h1", null, T.cannotOpen),
      said(e instanceof Problem ? problemText(e) : String(e))));
    return;
  }
  set(byID("me"), me.identified ? shown(me.id) : T.thisMachine);
  byID("sign-out").hidden = !me.sign_out;
  if (me.sign_out) byID("sign-out").href = me.sign_out;
  openDrafts(me.id);
  inbox = new Inbox(byID("inbox"));
  inbox.changed = () => {
    if (inbox.loaded) notify(inbox.questions);
    const summary = byID("detail").querySelector(".panel > .empty");
    if (summary && place().view === "inbox") summary.replaceWith(inbox.waiting());
    document.title = inbox.questions.length ? `(${inbox.questions.length}) ${host}` : host;
  };
  showOutbox = openOutbox(byID("outbox"), { open: reopen,
    shown: () => panel instanceof QuestionPanel ? keyOf(panel.run, panel.id) : "" });
  const keys = shortcuts();
  preferences = new Preferences(me, keys, { mayNotify: () => "Notification" in window });
  byID("preferences").addEventListener("click", () => preferences.open());
  new Keys(keys);
  runList = new RunList(byID("runs"));
  system = new SystemView(byID("system"));
  answers = new AnswersView(byID("answers"));
  watch(connection);
  addEventListener("hashchange", route);
  route();
  start();
}

open();
