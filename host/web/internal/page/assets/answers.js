// The person's own answers, and what each led to. The server examines the newest runs part by part.

import { T } from "./texts.js";
import { Problem, get, query } from "./api.js";
import { button, h, prose, said, set, shown } from "./dom.js";
import { decided, outcomeOf } from "./story.js";
import { problemText } from "./question.js";

// AnswersView lists the answers in a node.
export class AnswersView {
  constructor(node) {
    Object.assign(this, { node, answers: [], next: "", searched: 0 });
  }

  setVisible(on) {
    this.visible = on;
    if (on) this.read();
  }

  // read reads the newest answers, or with more set those that follow.
  async read(more = false) {
    let problem = null;
    try {
      const page = await get("api/answers" + query({ limit: 50, after: more ? this.next : "" }));
      this.answers = more ? [...this.answers, ...page.answers] : page.answers;
      this.searched = (more ? this.searched : 0) + page.searched;
      this.next = page.next ?? "";
    } catch (e) {
      problem = e instanceof Problem ? problemText(e) : T.notReached;
    }
    if (!this.visible) return;
    set(this.node, h("h1", { tabindex: "-1" }, T.answers),
      problem ? h("p", { class: "notice bad", role: "alert" }, problem) : null,
      this.answers.length || problem ? null : h("p", { class: "muted" }, T.noAnswers),
    h("ol", { class: "given" }, this.answers.map((one) => this.entry(one))),
    this.next ? h("p", null, h("span", { class: "muted" }, T.runsSearched(this.searched), " "),
      button(T.searchOn, "small", () => this.read(true))) : null);
  }

  entry({ run_id: run, title, record, state, result }) {
    const { question } = record;
    return h("li", { class: "given-answer" }, h("p", { class: "eyebrow" },
      h("span", { class: "kind" }, T.kinds[question.kind]), " ",
      h("a", { href: `#/runs/${encodeURIComponent(run)}`, dir: "auto" }, title ? prose(title) : shown(run))),
    h("h2", null, h("a", { href: `#/inbox/${encodeURIComponent(run)}/${question.id}`, dir: "auto" },
      prose((question.subject?.title || question.prompt).slice(0, 200)))),
    h("p", null, shown(outcomeOf(record, record.mine))), decided(record),
    h("p", { class: "led-to" }, T.ledTo, " ", h("span", { class: `badge ${state}` }, T.states[state])),
    result ? said(result, "p", "said muted") : null);
  }
}
