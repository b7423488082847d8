// One question: its text, its status, and the controls to answer it. Later changes are shown in place and never touch
// what the person is writing.

import { T } from "./texts.js";
import { Problem, get, post, questionPath, runPath } from "./api.js";
import { Answer } from "./answer.js";
import { argumentsView } from "./approval.js";
import { changesView } from "./diff.js";
import { Notes } from "./notes.js";
import { filesView } from "./files.js";
import { dropDraft, keepDraft, readDraft } from "./drafts.js";
import { announce, button, h, nameOf, prose, said, set, shown } from "./dom.js";
import { stringify } from "./exact.js";
import { forget, hold, onReply, replyTo, resume } from "./outbox.js";
import { moment, since, until } from "./time.js";
import { follow, refresh } from "./live.js";
import { entitle, written } from "./markdown.js";
import { NamesField, forWhom, fullName, suggester, who } from "./names.js";
import { visible } from "./visible.js";
import { audience, decided, outcomeOf, showStory } from "./story.js";

const earlier = 10; // earlier questions that the story shows
const glance = 300; // milliseconds in which a key pressed for the question before decides nothing

// appear notes that a panel's controls appear now. data-keys says whether keys decide there: ready, soon or none.
export function appear(panel, keys) {
  const now = panel.appeared = performance.now();
  panel.node.dataset.keys = keys ? "soon" : "none";
  setTimeout(() => { if (keys && panel.appeared === now) panel.node.dataset.keys = "ready"; }, glance);
}

export const isReady = (panel) => performance.now() - panel.appeared >= glance;

// QuestionPanel shows a question in a node, and follows it until it is closed.
export class QuestionPanel {
  // known returns the question from the inbox, for people who may answer a run's question but not view the run. next
  // returns the question that follows in the list, and answered is called after an answer by keys. remember is
  // for Answer. directory says whether the server suggests names.
  constructor(node, run, id, { known, next, answered, remember, directory }) {
    Object.assign(this, { node, run, id, known, next, answered, remember, directory, path: questionPath(run, id) });
    this.question = null; // as displayed
    this.settled = false;
    this.records = new Map(); // settled questions that were read, by number; they never change
    this.notice = h("div", { class: "notice-place", role: "status" });
    this.facts = h("div", { class: "facts" });
    this.head = h("div");
    this.controls = h("div", { class: "controls" });
    this.siblings = h("nav", { class: "siblings", "aria-label": T.otherQuestions });
    this.story = h("section", { class: "story", "aria-label": T.story });
    this.more = h("div", { class: "more" });
    this.notes = new Notes(run, id, this.path, { stored: () => this.reread(),
      search: directory ? suggester(this.path) : null });
    set(node, h("p", { class: "muted loading" }, T.loading));
    this.again = () => this.read();
    this.unfollow = follow(this.again, (change) => change.run_id === run);
    this.unwatch = onReply((reply) => reply.run === run && reply.id === id && this.showReply(reply));
  }

  close() {
    this.closed = true;
    this.unfollow();
    this.unwatch();
    this.stopStory?.();
  }

  // reread reads the question again now.
  reread() {
    return refresh([this.again]);
  }

  async read() {
    if (this.closed) return;
    let run = null, records = [];
    try {
      run = await get(runPath(this.run));
      const first = Math.max(1, this.id - earlier);
      const numbers = Array.from({ length: this.id - first + 1 }, (_, i) => first + i);
      const later = run.questions.map((q) => q.id).filter((id) => id > this.id);
      records = (await Promise.all([...numbers, ...later].map((id) => this.record(run, id)))).filter(Boolean);
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      const known = this.known();
      if (!known) return this.gone(e);
      records = [{ question: await this.asked(known) }];
    }
    if (this.closed) return;
    const record = records.find((r) => r.question.id === this.id);
    if (!record) {
      set(this.node, h("p", { class: "notice bad", role: "alert" }, T.problems.NOT_FOUND));
      return;
    }
    this.show(record, run, records);
  }

  // asked reads a question of a run that the person may not view: the list has it without its notes. Only the list
  // knows how the run's policy ends the wait.
  async asked(known) {
    try {
      const { question } = await get(this.path);
      return { ...question, then: known.then, ends_at: known.ends_at };
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      return known; // settled since
    }
  }

  // record reads one question, at a cost that does not depend on the number of earlier ones; null if it was never
  // asked. Open questions come with the run, because the run's policy determines their end.
  async record(run, id) {
    const open = run.questions.find((q) => q.id === id);
    if (open) return { question: open };
    if (this.records.has(id)) return this.records.get(id);
    try {
      const record = await get(questionPath(this.run, id));
      if (record.resolution) this.records.set(id, record);
      return record;
    } catch (e) {
      if (e instanceof Problem && e.status === 404) return null;
      throw e;
    }
  }

  // gone says why the question cannot be shown: it is for other people, or its run was deleted.
  gone(problem) {
    if (this.question === null) set(this.node, h("p", { class: "notice bad", role: "alert" }, problemText(problem)));
    if (this.question === null || this.settled) return;
    this.answer?.close();
    set(this.more);
    set(this.controls);
    if (!replyTo(this.run, this.id)) this.say("warn", problemText(problem)); // otherwise its outcome was shown
  }

  show(record, run, records) {
    const { question } = record;
    if (!this.head.isConnected) {
      set(this.node, this.head, this.notice, this.facts, this.controls, this.more, this.notes.node, this.story);
    }
    const first = this.question === null;
    if (first || question.digest !== this.question.digest) {
      const before = this.question;
      this.question = question;
      this.showHead(run);
      if (!record.resolution) this.showControls(before);
      if (before) this.say("warn", T.changedMeanwhile);
    }
    const mayChanged = this.question.may_reply !== question.may_reply;
    this.question = question;
    if (mayChanged && !record.resolution) this.showControls();
    else if (!this.answer && !record.resolution) this.showWhyNot();
    this.showFacts(record);
    this.showSiblings(run);
    if (record.resolution && !this.settled) this.showSettled(record, first, records);
    this.notes.show(question, !record.resolution);
    if (!record.resolution) this.showMore();
    if (run) this.showStory(run, records);
    if (first) this.resend();
    if (first) this.showReply(replyTo(this.run, this.id));
  }

  showStory(run, records) {
    if (this.stopStory) this.updateStory(run, records);
    else ({ stop: this.stopStory, update: this.updateStory } = showStory(this.story, run, records,
      { current: this.id, seen: () => this.reread() }));
  }

  showHead(run) {
    const { question } = this;
    const title = question.subject?.title || question.prompt;
    set(this.head, this.siblings,
      h("p", { class: "eyebrow" }, h("span", { class: "kind" }, T.kinds[question.kind]), " ",
        run ? h("a", { href: `#/runs/${encodeURIComponent(this.run)}`, dir: "auto" },
          run.title ? prose(run.title) : shown(this.run))
          : h("span", { dir: "auto" }, shown(this.run)), " ",
        Object.entries(run?.labels ?? {}).map(([name, value]) => h("span", { class: "label-chip", dir: "auto" },
          shown(`${name}: ${value}`)))),
      entitle(h("h1", { id: "question-title", tabindex: "-1", dir: "auto", class: title.length > 160 ? "lengthy" : null },
        prose(title)), title),
      question.subject?.title && question.subject.title !== question.prompt ? written(question.prompt) : null,
      question.context ? h("div", { class: "context" }, h("p", { class: "label" }, T.context), written(question.context))
        : null,
      question.subject ? [argumentsView(question.subject), changesView(question.subject)] : null, filesView(this.run, question));
  }

  // showFacts shows the question's status: claim, votes, and the effect of a timeout.
  showFacts({ question, resolution }) {
    const facts = [];
    const fact = (label, ...content) => facts.push(h("div", { class: "fact" }, h("dt", null, label),
      h("dd", null, content)));
    fact(T.asked, since(question.asked_at));
    fact(T.asksWhom, audience(question.to));
    if (question.for) fact(T.onBehalf, h("strong", null, fullName({ id: question.for, name: question.for_name })));
    if (!resolution) {
      if (question.claim) {
        fact(T.claimedBy, h("strong", null, who(question.claim)), forWhom(question.claim), ", ",
          T.untilTime(moment(question.claim.until)), " (", until(question.claim.until), ")");
      }
      for (const step of question.steps ?? []) {
        if (!step.done) fact(T.steps[step.do], until(step.at));
      }
      if (question.ends_at) {
        fact(T.then[question.then] ?? T.waitEnds, until(question.ends_at, "deadline"),
          ` (${moment(question.ends_at)})`);
        if (question.default) fact(T.defaultAnswer, decided(question.default));
      }
    }
    if (question.need > 1 || question.rejects > 1) fact(T.votes, this.votes(question));
    const text = h("dl", null, facts);
    if (this.facts.textContent !== text.textContent || !this.facts.firstChild) set(this.facts, text);
  }

  votes(question) {
    const votes = question.votes ?? [];
    const need = question.need || 1;
    const approved = votes.filter((v) => v.decision === "approve").length;
    return [h("span", { class: "ballots", "aria-hidden": "true" }, Array.from({ length: need }, (_, i) =>
      h("span", { class: i < approved ? "ballot on" : "ballot" }))), T.votesOf(approved, need),
    votes.length ? h("ul", { class: "voters" }, votes.map((v) => h("li", null,
      h("strong", { dir: "auto" }, who(v)), forWhom(v), " ", T.voted[v.decision], ", ",
      since(v.voted_at), v.text ? said(v.text) : null))) : null];
  }

  showSiblings(run) {
    const open = run?.questions ?? [];
    if (open.length < 2 && (open[0]?.id ?? this.id) === this.id) {
      set(this.siblings);
      return;
    }
    set(this.siblings, h("span", { class: "muted" }, T.severalOpen(open.length)), open.map((q) => h("a", {
      href: `#/inbox/${encodeURIComponent(this.run)}/${q.id}`, "aria-current": q.id === this.id ? "page" : null,
      "aria-label": T.questionNumber(q.id) }, String(q.id))));
  }

  // say shows a notice in place, which screen readers read out.
  say(tone, ...content) {
    set(this.notice, h("div", { class: `notice ${tone}` }, content));
  }

  // showSettled replaces the controls by the outcome.
  showSettled(record, atFirst, records) {
    this.settled = true;
    const reply = replyTo(this.run, this.id);
    const mine = reply?.state !== "refused" && Boolean(reply) && record.mine;
    this.mine = mine;
    const written = this.answer?.written();
    this.answer?.close();
    set(this.more);
    if (mine) this.say("good", h("strong", null, T.recorded), " ", decided(record));
    else {
      this.say(atFirst ? "plain" : "warn", h("strong", null, shown(outcomeOf(record, record.mine, records))), " ",
        decided(record), written && !atFirst ? [h("p", { class: "label" }, T.youHadWritten),
          said(written, "blockquote")] : null);
    }
    dropDraft(this.run, this.question);
    set(this.controls, this.nextLink());
    if (!this.controls.contains(document.activeElement) && !atFirst) this.node.querySelector("h1")?.focus();
  }

  // nextLink leads to the next question of the list; null after the last one.
  nextLink() {
    const next = this.next?.();
    return next ? h("p", { class: "next" }, h("a", { class: "button", href: next.href }, T.nextQuestion), " ",
      h("span", { class: "muted", dir: "auto" }, prose(next.title.slice(0, 120)))) : null;
  }

  // showControls shows the controls with the draft: for this question, or for the one before it.
  showControls(before) {
    this.answer?.close();
    this.draft = readDraft(this.run, this.question) ?? (before && this.draft ? { ...this.draft, sent: undefined } : {});
    this.answer = this.question.may_reply ? new Answer(this.question, this.draft, { keep: () => this.keep(),
      send: (reply, says) => this.send(reply, says), keyed: (begin) => this.keyed(begin), remember: this.remember })
      : null;
    set(this.controls, this.answer ? this.answer.node : this.whyNot());
    appear(this, this.answer !== null);
  }

  // showWhyNot shows the claim, or the current audience.
  showWhyNot() {
    const reason = this.whyNot();
    if (this.controls.textContent !== reason.textContent) set(this.controls, reason);
  }

  whyNot() {
    const { question } = this;
    const mine = question.votes?.find((v) => v.mine);
    if (mine) {
      return h("div", null, h("p", { class: "notice plain" }, T.youHaveVoted(T.voted[mine.decision])), this.nextLink());
    }
    if (question.claim) return h("p", { class: "notice plain" }, T.othersWork(visible(nameOf(question.claim))));
    return h("p", { class: "notice plain" }, T.notForYou, " ", audience(question.to), ".");
  }

  // keep stores the draft.
  keep() {
    this.draft = { ...this.answer.draft(), sent: this.draft.sent };
    keepDraft(this.run, this.question, this.draft);
  }

  // send gives a reply to the outbox, with the digest that was seen.
  send(reply, says) {
    const { byKey, question } = this;
    this.answer?.clear();
    hold({ run: this.run, question, title: question.subject?.title || question.prompt, says,
      body: stringify({ ...reply, seen: question.digest, for: question.for }) });
    if (byKey) this.answered?.();
  }

  // showReply shows the state of the reply.
  showReply(reply) {
    if (!reply || !this.question) return;
    const { state } = reply;
    const waits = state === "held" || state === "sending" || state === "again";
    this.controls.toggleAttribute("inert", waits);
    this.controls.setAttribute("aria-busy", String(waits));
    if (this.settled && state !== "refused") return; // a more detailed notice is shown
    switch (state) {
      case "held":
        this.say("plain", h("strong", null, reply.says), " ", h("span", { "aria-hidden": "true" },
          T.sentWhen, " ", until(reply.at)), this.nextLink());
        if (!this.byKey) this.notice.scrollIntoView({ block: "nearest" }); // after a key the next question opens
        break;
      case "undone":
        this.say("plain", T.undone);
        break;
      case "sending":
        set(this.notice);
        break;
      case "again":
        this.say("warn", T.sendingAgain);
        break;
      case "done":
        this.say("good", T.recorded);
        announce(T.recorded);
        this.reread();
        break;
      case "unknown":
        this.say("bad", T.notKnown);
        break;
      case "refused":
        forget(reply);
        this.refused(reply.problem);
    }
  }

  // resend repeats a reply that was under way when the page was closed.
  resend() {
    const { sent } = this.draft ?? {};
    if (sent && !this.settled && this.question.may_reply) resume(this.run, this.question, sent);
  }

  // act does what a key asks for, and reports whether the question has this action. A question that has just appeared
  // is not decided: the key may have been meant for the one before it.
  act(action, ...parameters) {
    const at = this.answer?.actions[action];
    if (!at || this.controls.inert || this.closed) return false;
    if (isReady(this)) this.keyed(() => at(...parameters));
    return true;
  }

  // keyed does something by a key: after an answer, the next question opens.
  keyed(begin) {
    this.byKey = true;
    try {
      begin();
    } finally {
      this.byKey = false;
    }
  }

  refused(problem) {
    if (this.draft) delete this.draft.sent;
    if (problem.code === "SETTLED") { // perhaps by the same person, in another window
      if (!this.settled) this.say("warn", h("strong", null, shown(outcomeOf(problem.settled))));
      this.settled = this.settled && !this.mine;
      this.reread();
      return;
    }
    set(this.notice);
    switch (problem.code) {
      case "QUESTION_CHANGED": case "NOT_WAITING": case "RUN_TERMINAL": case "REASSIGNED": case "NOT_ASKED":
      case "VOTED": case "CLAIMED":
        this.say("warn", problemText(problem));
        this.reread();
        return;
    }
    this.answer?.showFaults(problem.faults ?? [], problemText(problem));
  }

  // change does another thing than answering the question.
  async change(path, body, done) {
    try {
      await post(`${this.path}/${path}`, body);
      this.say("plain", done);
    } catch (e) {
      this.say("bad", e instanceof Problem ? problemText(e) : T.notReached);
    }
    await this.reread();
  }

  // toggleClaim claims the question, or releases it. It reports whether that is possible.
  toggleClaim() {
    const { question } = this;
    if (!question || this.settled || this.controls.inert || this.claiming) return false;
    const mine = question.claim?.mine;
    if (!mine && (question.claim || !question.may_reply || question.need > 1 || question.rejects > 1)) return false;
    this.claiming = true; // a second press must not release the claim that the first makes
    (mine ? this.change("release", undefined, T.released) : this.change("claim", { seconds: 900, for: question.for }, T.claimed))
      .finally(() => { this.claiming = false; });
    return true;
  }

  // note moves to the field for a note, and reports whether the question takes one.
  note() {
    return !this.closed && this.notes.focus();
  }

  // showMore shows the other actions: claim, release, reassign, extend.
  showMore() {
    const { question } = this;
    const signature = stringify([question.claim ?? null, question.to ?? null, question.ends_at ?? "",
      question.may_reply, question.may_reassign]);
    if (this.moreShown === signature) return;
    this.moreShown = signature;
    const act = (path, body, done) => this.change(path, body, done);
    const several = question.need > 1 || question.rejects > 1;
    const mine = question.claim?.mine;
    const later = (label, move) => button(label, "small", () => {
      const until = new Date(question.ends_at);
      move(until);
      return act("extend", { until: until.toISOString() }, T.extended);
    });
    const asked = stringify(question.to ?? null);
    if (this.reassigns !== asked) { // keep the names that the person is typing
      this.reassigns = asked;
      this.others = this.reassignment(act);
    }
    const keyed = (control) => {
      control.dataset.shortcut = "c";
      control.setAttribute("aria-keyshortcuts", "c");
      return control;
    };
    const focused = this.more.contains(document.activeElement) ? document.activeElement : null;
    set(this.more,
      !several && question.may_reply && !question.claim
        ? keyed(button(T.claim, "small", () => act("claim", { seconds: 900, for: question.for }, T.claimed))) : null,
      mine ? [button(T.claimLonger, "small", () => act("claim", { seconds: 3600 }, T.claimed)),
        keyed(button(T.release, "small", () => act("release", undefined, T.released)))] : null,
      question.own_wait ? [later(T.hourMore, (at) => at.setTime(at.getTime() + 3_600_000)),
        later(T.dayMore, (at) => at.setDate(at.getDate() + 1))] : null, // the same time of the next day
      question.may_reassign ? this.others : null);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  reassignment(act) {
    const { question } = this;
    const search = this.directory ? suggester(this.path) : null;
    const [users, groups] = [new NamesField("people", search), new NamesField("groups", search)];
    return h("details", { class: "reassign" }, h("summary", null, T.reassign), users.node, groups.node,
      h("div", { class: "buttons" }, button(T.reassignNow, "", () => {
        const to = { users: users.names(), groups: groups.names() };
        if (!to.users.length && !to.groups.length) {
          users.focus();
          return this.say("warn", T.nameSomebody);
        }
        return act("reassign", { from: question.to, to, for: question.for }, T.reassigned);
      })));
  }
}

// problemText describes a problem for the person.
export function problemText(problem) {
  const known = T.problems[problem.code];
  return (typeof known === "function" ? known(problem) : known) ?? problem.detail ?? problem.message;
}
