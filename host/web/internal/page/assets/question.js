// One question: what is asked, how it stands, and the controls to answer it. What changes about it meanwhile is said
// in its place, and never touches what somebody is writing.

import { T } from "./texts.js";
import { Problem, get, newKey, postOnce, post, questionPath, runPath } from "./api.js";
import { ArgumentsEditor, argumentsView } from "./approval.js";
import { Form } from "./form.js";
import { dropDraft, keepDraft, readDraft } from "./drafts.js";
import { announce, h, newID, once, said, set, shown } from "./dom.js";
import { parse, stringify } from "./exact.js";
import { moment, since, until } from "./time.js";
import { follow, refresh } from "./live.js";
import { audience, decided, outcomeOf, showStory } from "./story.js";

// QuestionPanel shows a question in a node, and follows it until it is closed.
export class QuestionPanel {
  // known is the question as the inbox has it, for those who may answer a run's question but not view the run.
  constructor(node, run, id, { me, known, next }) {
    Object.assign(this, { node, run, id, me, known, next, path: questionPath(run, id) });
    this.question = null; // as it is shown
    this.settled = false;
    this.notice = h("div", { class: "notice-place", role: "status" });
    this.facts = h("div", { class: "facts" });
    this.head = h("div");
    this.controls = h("div", { class: "controls" });
    this.siblings = h("nav", { class: "siblings", "aria-label": T.otherQuestions });
    this.story = h("section", { class: "story", "aria-label": T.story });
    this.more = h("div", { class: "more" });
    set(node, h("p", { class: "muted loading" }, T.loading));
    this.unfollow = follow(() => this.read());
  }

  close() {
    this.closed = true;
    this.unfollow();
    this.stopStory?.();
  }

  async read() {
    if (this.closed) return;
    let run = null, records = [];
    try {
      [run, { records }] = await Promise.all([get(runPath(this.run)), get(runPath(this.run) + "/history")]);
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      if (!this.known) {
        set(this.node, h("p", { class: "notice bad", role: "alert" }, problemText(e)));
        return;
      }
      records = [{ question: this.known() ?? this.question }];
      if (!records[0].question) return;
    }
    if (this.closed) return;
    const record = records.find((r) => r.question.id === this.id);
    if (!record) {
      set(this.node, h("p", { class: "notice bad", role: "alert" }, T.problems.NOT_FOUND));
      return;
    }
    this.show(record, run, records);
  }

  show(record, run, records) {
    const { question } = record;
    if (!this.head.isConnected) {
      set(this.node, this.head, this.notice, this.facts, this.controls, this.more, this.story);
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
    this.showFacts(record);
    this.showSiblings(run);
    if (record.resolution && !this.settled) this.showSettled(record, first);
    if (!record.resolution) this.showMore();
    if (run) this.showStory(run, records);
    if (first) this.resend();
  }

  showStory(run, records) {
    if (this.stopStory) this.updateStory(run, records);
    else ({ stop: this.stopStory, update: this.updateStory } = showStory(this.story, run, records, this.id));
  }

  showHead(run) {
    const { question } = this;
    const title = question.subject?.title || question.prompt;
    set(this.head, this.siblings,
      h("p", { class: "eyebrow" }, h("span", { class: "kind" }, T.kinds[question.kind]), " ",
        run ? h("a", { href: `#/runs/${encodeURIComponent(this.run)}`, dir: "auto" }, shown(this.run))
          : h("span", { dir: "auto" }, shown(this.run)), " ",
        Object.entries(run?.labels ?? {}).map(([name, value]) => h("span", { class: "label-chip", dir: "auto" },
          shown(`${name}: ${value}`)))),
      h("h1", { id: "question-title", tabindex: "-1", dir: "auto", class: title.length > 160 ? "lengthy" : null },
        shown(title)),
      question.subject?.title && question.subject.title !== question.prompt ? said(question.prompt) : null,
      question.context ? h("div", { class: "context" }, h("p", { class: "label" }, T.context), said(question.context))
        : null,
      question.subject ? argumentsView(question.subject) : null);
  }

  // showFacts says how the question stands: who has it, who has voted, and what happens when nobody answers.
  showFacts({ question, resolution }) {
    const facts = [];
    const fact = (label, ...content) => facts.push(h("div", { class: "fact" }, h("dt", null, label),
      h("dd", null, content)));
    fact(T.asked, since(question.asked_at));
    fact(T.asksWhom, audience(question.to));
    if (!resolution) {
      if (question.claim) {
        const mine = question.claim.actor === this.me.id;
        fact(T.claimedBy, h("strong", null, mine ? T.you : shown(question.claim.actor)), ", ",
          T.untilTime(moment(question.claim.until)), " (", until(question.claim.until), ")");
      }
      for (const step of question.steps ?? []) {
        if (!step.done) fact(T.steps[step.do], until(step.at));
      }
      if (question.ends_at) {
        fact(T.then[question.then] ?? T.waitEnds, until(question.ends_at, "deadline"), " (", moment(question.ends_at), ")");
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
      h("strong", { dir: "auto" }, v.actor === this.me.id ? T.you : shown(v.actor)), " ", T.voted[v.decision], ", ",
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

  // say shows a notice in place, which screen readers hear.
  say(tone, ...content) {
    set(this.notice, h("div", { class: `notice ${tone}` }, content));
  }

  // showSettled shows how the question was settled, in place of its controls.
  showSettled(record, atFirst) {
    this.settled = true;
    this.shownForm = null;
    const mine = this.sentKey && record.actor === this.me.id;
    const written = this.written();
    set(this.more);
    set(this.controls);
    if (mine) this.say("good", h("strong", null, T.recorded), " ", decided(record));
    else {
      this.say(atFirst ? "plain" : "warn", h("strong", null, outcomeOf(record, this.me)), " ", decided(record),
        written && !atFirst ? [h("p", { class: "label" }, T.youHadWritten), said(written, "blockquote")] : null);
    }
    dropDraft(this.run, this.question);
    const next = this.next?.();
    if (next) {
      set(this.controls, h("p", null, h("a", { class: "button", href: next.href }, T.nextQuestion), " ",
        h("span", { class: "muted", dir: "auto" }, shown(next.title.slice(0, 120)))));
    }
    if (!this.controls.contains(document.activeElement) && !atFirst) this.node.querySelector("h1")?.focus();
  }

  // written is what somebody has written, in short.
  written() {
    const text = [...this.controls.querySelectorAll("textarea, input[type=text]")].map((c) => c.value.trim())
      .filter(Boolean).join("\n");
    return text;
  }

  showControls(before) {
    const draft = readDraft(this.run, this.question) ?? (before ? this.draftOfBefore : null) ?? {};
    this.draft = draft;
    this.parts = {};
    this.shownForm = null; // what is left behind keeps nothing: a field that goes may still say that it has changed
    if (!this.question.may_reply) {
      set(this.controls, this.whyNot());
      return;
    }
    const fault = h("p", { class: "fault", role: "alert", id: newID("fault") });
    this.fault = fault;
    const { question } = this;
    const keep = () => this.shownForm === form && this.keep();
    const form = h("form", { class: "answer", novalidate: true, "aria-label": T.answer, oninput: keep, onchange: keep });
    this.shownForm = form;
    form.addEventListener("submit", (e) => e.preventDefault());
    form.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) form.querySelector("button.primary")?.click();
    });
    const parts = question.subject ? this.approval(draft) : question.schema ? this.form(draft) : this.text(draft);
    set(form, question.subject?.risk || question.kind === "risk_ack" ? this.risk(draft) : null, parts, fault);
    set(this.controls, form);
  }

  whyNot() {
    const { question } = this;
    const mine = question.votes?.find((v) => v.actor === this.me.id);
    if (mine) return h("p", { class: "notice plain" }, T.youHaveVoted(T.voted[mine.decision]));
    if (question.claim) return h("p", { class: "notice plain" }, T.othersWork(question.claim.actor));
    return h("p", { class: "notice plain" }, T.notForYou, " ", audience(question.to), ".");
  }

  // keep keeps the draft.
  keep() {
    const { parts } = this;
    const draft = { sent: this.draft.sent };
    if (parts.words) draft.text = parts.words.value;
    if (parts.reason) draft.reason = parts.reason.value;
    if (parts.risk) draft.risk = parts.risk.checked;
    if (parts.choice) draft.choice = parts.choice();
    if (parts.named) draft.named = parts.named.map((control) => control.value);
    if (parts.form) {
      draft.value = stringify(parts.form.read() ?? null);
      draft.typed = parts.form.typed();
    }
    if (parts.editor) draft.editor = parts.editor.draft();
    draft.mode = parts.mode;
    this.draft = draft;
    this.draftOfBefore = draft;
    keepDraft(this.run, this.question, draft);
  }

  // words is a field for a text.
  words(name, label, value, { rows = 3, help } = {}) {
    const id = newID("words");
    const control = h("textarea", { id, rows, dir: "auto", "aria-describedby": help ? id + "-help" : null });
    control.value = value ?? "";
    this.parts[name] = control;
    return h("div", { class: "field" }, h("label", { for: id }, label),
      help ? h("p", { class: "help", id: id + "-help" }, help) : null, control);
  }

  button(label, className, begin) {
    return once(h("button", { type: "button", class: className }, label), begin);
  }

  risk(draft) {
    const control = h("input", { type: "checkbox", checked: draft.risk === true });
    this.parts.risk = control;
    const text = this.question.subject?.risk;
    return h("div", { class: "risk" }, text ? [h("p", { class: "label" }, T.risk), said(text)] : null,
      h("label", { class: "pick" }, control, T.riskSeen));
  }

  // riskSeen reports whether nothing stands against an approval; else it says what.
  riskSeen() {
    const { risk } = this.parts;
    if (!risk || risk.checked) return true;
    this.refuse(T.riskFirst);
    risk.setAttribute("aria-invalid", "true");
    risk.focus();
    return false;
  }

  refuse(text) {
    this.fault.textContent = "";
    this.fault.textContent = text;
  }

  // text are the controls of a question that takes a text: choices, yes and no, or words of one's own.
  text(draft) {
    const { question } = this;
    const options = question.options ?? [];
    if (question.kind === "confirm" || question.kind === "risk_ack") {
      const all = options.length ? options
        : question.kind === "confirm" ? [{ label: T.yes, value: "yes" }, { label: T.no, value: "no" }]
          : [{ label: T.accept, value: "yes" }, { label: T.decline, value: "no" }];
      return [h("div", { class: "buttons" }, all.map((o, i) => this.button(h("span", { dir: "auto" }, shown(o.label)),
        i === 0 ? "primary" : "", () => (i > 0 || this.riskSeen()) && this.send({ text: o.value })))),
      this.ownWords(draft)];
    }
    if (question.kind === "choose_one" && options.length) return this.choices(options, draft);
    if (question.required_fields?.length) return this.named(question.required_fields, draft);
    return [this.words("words", T.yourAnswer, draft.text, { rows: 4 }), h("div", { class: "buttons" },
      this.button(T.send, "primary", () => this.sendWords()), this.hint())];
  }

  hint() {
    return h("span", { class: "muted small-screen-off" }, T.sendHint);
  }

  sendWords() {
    const { words } = this.parts;
    if (!words.value.trim()) {
      this.refuse(T.writeFirst);
      words.focus();
      return undefined;
    }
    return this.send({ text: words.value });
  }

  ownWords(draft) {
    return h("details", { open: Boolean(draft.text) }, h("summary", null, T.inOwnWords),
      this.words("words", T.yourAnswer, draft.text), h("div", { class: "buttons" },
        this.button(T.send, "", () => this.sendWords())));
  }

  choices(options, draft) {
    const name = newID("choice");
    let picked = draft.choice ?? -1;
    this.parts.choice = () => picked;
    const own = h("div", { hidden: picked !== options.length },
      this.words("words", T.yourAnswer, draft.text));
    const card = (label, i) => h("label", { class: "card" }, h("input", { type: "radio", name, checked: picked === i,
      onchange: () => {
        picked = i;
        own.hidden = i !== options.length;
      } }), h("span", { dir: "auto" }, label));
    return [h("fieldset", { class: "cards" }, h("legend", { class: "hidden" }, T.choose),
      options.map((o, i) => card(shown(o.label), i)), card(T.inOwnWords, options.length)), own,
    h("div", { class: "buttons" }, this.button(T.send, "primary", () => {
      if (picked < 0) return this.refuse(T.chooseFirst);
      return picked === options.length ? this.sendWords() : this.send({ text: options[picked].value });
    }), this.hint())];
  }

  // named are a text's parts that an agent has asked for by name.
  named(names, draft) {
    const controls = names.map((_, i) => h("input", { type: "text", id: newID("named"), dir: "auto", autocomplete: "off",
      value: draft.named?.[i] ?? "" }));
    this.parts.named = controls;
    return [names.map((name, i) => h("div", { class: "field" }, h("label", { for: controls[i].id, dir: "auto" },
      shown(name)), controls[i])), this.words("words", T.moreToSay, draft.text), h("div", { class: "buttons" },
      this.button(T.send, "primary", () => {
        const empty = controls.findIndex((control) => !control.value.trim());
        if (empty >= 0) {
          this.refuse(T.missing(names[empty]));
          controls[empty].focus();
          return undefined;
        }
        const lines = names.map((name, i) => `${name}: ${controls[i].value}`);
        return this.send({ text: [...lines, this.parts.words.value].join("\n").trim() });
      }), this.hint())];
  }

  form(draft) {
    const { question } = this;
    let value;
    if (typeof draft.value === "string") value = parse(draft.value) ?? undefined;
    const form = new Form(question.schema, value, { raw: { ...draft.typed }, changed: () => this.shownForm && this.keep() });
    this.parts.form = form;
    return [form.node, h("div", { class: "buttons" }, this.button(T.send, "primary", () => {
      if (!form.check()) return this.refuse(T.seeFields);
      return this.send({ value: form.read() ?? null });
    }), this.hint()), question.also_text ? this.ownWords(draft) : null];
  }

  // approval are the controls of an approval: approve at once; edit, reject and respond with what they need.
  approval(draft) {
    const { question, parts } = this;
    const several = question.need > 1 || question.rejects > 1;
    const place = h("div", { class: "decision" });
    const buttons = h("div", { class: "buttons" });
    const open = (mode) => {
      parts.mode = mode;
      delete parts.editor;
      delete parts.reason;
      set(place, mode ? this.decision(mode, this.draft) : null);
      buttons.hidden = Boolean(mode);
      place.querySelector("textarea, input")?.focus();
    };
    parts.back = () => {
      this.keep();
      open(null);
      this.keep();
      buttons.querySelector("button").focus();
    };
    set(buttons, this.button(T.approve, "primary", () => this.riskSeen() && this.send({ decision: "approve" })),
      several ? null : this.button(T.edit, "", () => open("edit")),
      this.button(T.reject, "danger", () => open("reject")),
      several ? null : this.button(T.respond, "quiet", () => open("respond")));
    if (draft.mode) {
      this.draft = draft;
      open(draft.mode);
    }
    return [buttons, place];
  }

  decision(mode, draft) {
    const { question } = this;
    const back = h("button", { type: "button", class: "quiet", onclick: () => this.parts.back() }, T.goBack);
    if (mode === "edit") {
      const editor = new ArgumentsEditor(question, draft.editor, () => this.parts.editor && this.keep());
      this.parts.editor = editor;
      return [h("h2", null, T.editTitle), editor.node, h("div", { class: "buttons" },
        this.button(T.approveEdited, "primary", () => {
          if (!editor.form.check()) return this.refuse(T.seeFields);
          if (!editor.compare()) return this.refuse(T.editSomething);
          return this.riskSeen() && this.send({ decision: "edit", value: editor.form.read() });
        }), back)];
    }
    const rejects = mode === "reject";
    return [this.words("reason", rejects ? T.reason : T.response, draft.reason,
      { help: rejects ? T.reasonHelp : T.responseHelp }), h("div", { class: "buttons" },
      this.button(rejects ? T.reject : T.sendResponse, rejects ? "danger" : "primary", () => {
        const text = this.parts.reason.value;
        if (!rejects && !text.trim()) return this.refuse(T.writeFirst);
        return this.send({ decision: mode, text: text.trim() ? text : undefined });
      }), back)];
  }

  // send sends a reply: with the digest that was seen, and with a key under which it counts once, however often the
  // connection is lost on its way. The key is kept with the draft, so that a page that was reloaded meanwhile sends
  // the same again.
  async send(reply) {
    const body = { ...reply, seen: this.question.digest };
    const text = stringify(body);
    if (this.draft.sent?.body !== text) this.draft.sent = { body: text, key: newKey() };
    this.sentKey = this.draft.sent.key;
    this.refuse("");
    this.parts.form?.clear();
    this.parts.editor?.form.clear();
    keepDraft(this.run, this.question, this.draft);
    this.controls.setAttribute("aria-busy", "true");
    try {
      await postOnce(this.path + "/reply", body, this.sentKey, () => this.say("warn", T.sendingAgain));
      dropDraft(this.run, this.question);
      this.say("good", T.recorded);
      announce(T.recorded);
      await refresh();
    } catch (e) {
      if (!(e instanceof Problem)) this.say("bad", T.notKnown);
      else this.refused(e);
    } finally {
      this.controls.removeAttribute("aria-busy");
    }
  }

  // resend sends what was on its way when the page was closed.
  resend() {
    const { sent } = this.draft ?? {};
    if (sent && !this.settled && this.question.may_reply) this.send(parse(sent.body));
  }

  refused(problem) {
    delete this.draft.sent;
    this.sentKey = null;
    keepDraft(this.run, this.question, this.draft);
    set(this.notice);
    switch (problem.code) {
      case "SETTLED":
        this.say("warn", h("strong", null, outcomeOf({ ...problem.settled }, this.me)));
        refresh();
        return;
      case "QUESTION_CHANGED": case "NOT_WAITING": case "RUN_TERMINAL": case "REASSIGNED": case "NOT_ASKED":
      case "VOTED": case "CLAIMED":
        this.say("warn", problemText(problem));
        refresh();
        return;
    }
    const form = this.parts.form ?? this.parts.editor?.form;
    const rest = (problem.faults ?? []).filter((f) => !form?.fault(f.where, f.want)).map((f) => `${f.where}: ${f.want}`);
    this.refuse(form && problem.faults?.length ? [T.seeFields, ...rest].join(" ") : problemText(problem));
    form?.focusFault();
  }

  // showMore are what one may do besides answering: claim, give back, put to others, ask for more time.
  showMore() {
    const { question } = this;
    const signature = stringify([question.claim ?? null, question.to ?? null, question.ends_at ?? "", question.may_reply]);
    if (this.moreShown === signature) return;
    this.moreShown = signature;
    const act = async (path, body, done) => {
      try {
        await post(`${this.path}/${path}`, body);
        this.say("plain", done);
      } catch (e) {
        this.say("bad", e instanceof Problem ? problemText(e) : T.notReached);
      }
      await refresh();
    };
    const several = question.need > 1 || question.rejects > 1;
    const mine = question.claim?.actor === this.me.id;
    const later = (label, seconds) => this.button(label, "small", () => act("extend",
      { until: new Date(Date.parse(question.ends_at) + seconds * 1000).toISOString() }, T.extended));
    set(this.more,
      !several && question.may_reply && !question.claim
        ? this.button(T.claim, "small", () => act("claim", { seconds: 900 }, T.claimed)) : null,
      mine ? [this.button(T.claimLonger, "small", () => act("claim", { seconds: 3600 }, T.claimed)),
        this.button(T.release, "small", () => act("release", undefined, T.released))] : null,
      question.ends_at ? [later(T.hourMore, 3600), later(T.dayMore, 86400)] : null,
      this.reassignment(act));
  }

  reassignment(act) {
    const { question } = this;
    const field = (label, help) => {
      const id = newID("to");
      const control = h("input", { type: "text", id, autocomplete: "off", "aria-describedby": id + "-help" });
      return [control, h("div", { class: "field" }, h("label", { for: id }, label), h("p", { class: "help",
        id: id + "-help" }, help), control)];
    };
    const [users, usersField] = field(T.people, T.namesHelp);
    const [groups, groupsField] = field(T.groups, T.namesHelp);
    const names = (control) => control.value.split(",").map((name) => name.trim()).filter(Boolean);
    return h("details", { class: "reassign" }, h("summary", null, T.reassign), usersField, groupsField,
      h("div", { class: "buttons" }, this.button(T.reassignNow, "", () => {
        const to = { users: names(users), groups: names(groups) };
        if (!to.users.length && !to.groups.length) {
          users.focus();
          return this.say("warn", T.nameSomebody);
        }
        return act("reassign", { from: question.to, to }, T.reassigned);
      })));
  }
}

// problemText says what a problem means for whoever sees it.
export function problemText(problem) {
  const known = T.problems[problem.code];
  return (typeof known === "function" ? known(problem) : known) ?? problem.detail ?? problem.message;
}
