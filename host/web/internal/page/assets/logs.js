// The logs of a run's turns: a list, and the end of one; earlier parts are loaded on request.

import { T } from "./texts.js";
import { Problem, get, runPath } from "./api.js";
import { button, h, set, shown } from "./dom.js";
import { count } from "./language.js";
import { problemText } from "./question.js";
import { since } from "./time.js";

export const part = 64 * 1024; // bytes that are loaded at once

// rangeBefore returns the part of a log that ends before an offset, as the value of a Range header.
export function rangeBefore(end) {
  return `bytes=${Math.max(0, end - part)}-${end - 1}`;
}

// textOf decodes the parts of a log. The first part may begin within a character.
export function textOf(parts, fromStart) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  let skip = 0;
  while (!fromStart && skip < 3 && (all[skip] & 0xc0) === 0x80) skip++;
  return new TextDecoder().decode(all.subarray(skip)).replaceAll("\r\n", "\n");
}

// LogList is the section of the logs of a run.
export class LogList {
  constructor(run) {
    this.path = `${runPath(run)}/logs`;
    this.place = h("div");
    this.opened = h("div");
    this.details = h("details", { ontoggle: () => this.details.open && this.read() }, h("summary", null, T.logs),
      this.place, this.opened);
    this.node = h("section", { class: "logs" }, this.details);
  }

  // changed reads the list again, if it is open.
  changed() {
    if (this.details.open) this.read();
  }

  async read() {
    let all;
    try {
      all = await get(this.path);
    } catch (e) {
      set(this.place, h("p", { class: "notice bad", role: "alert" }, e instanceof Problem ? problemText(e)
        : T.notReached));
      return;
    }
    const { logs, missing, host } = all;
    const focused = this.place.contains(document.activeElement) ? document.activeElement.dataset.log : "";
    const row = (l) => {
      const name = T.logName(l.attempt, l.stream);
      const open = button(T.showLog, "small", () => this.open(l, name));
      open.dataset.log = `${l.attempt}/${l.stream}`;
      open.setAttribute("aria-label", `${T.showLog}: ${name}`);
      return h("tr", null, h("th", { scope: "row" }, name), h("td", null, T.bytes(l.size)), h("td", null,
        since(l.changed_at)), h("td", null, h("span", { class: "inline log-actions" }, open, h("a", { href:
        `${this.path}/${l.attempt}/${l.stream}`, download: "", "aria-label": `${T.download}: ${name}` }, T.download))));
    };
    set(this.place, !logs.length ? h("p", { class: "muted" }, missing ? T.logsElsewhere(host) : T.noLogs)
      : h("div", { class: "table", tabindex: "0", role: "region", "aria-label": T.logs }, h("table", null, h("thead",
        null, h("tr", null, T.logColumns.map((c) => h("th", { scope: "col" }, c)))), h("tbody", null, logs.map(row)))));
    if (focused) this.place.querySelector(`[data-log="${focused}"]`)?.focus({ preventScroll: true });
  }

  // open shows the end of a log.
  async open({ attempt, stream, size }, name) {
    const parts = [];
    let [from, fault] = [size, ""];
    const text = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": name, dir: "auto" });
    const status = h("p", { class: "muted", role: "status" });
    const load = async () => {
      try {
        const response = await fetch(`${this.path}/${attempt}/${stream}`, { headers: { Range: rangeBefore(from) } });
        if (response.status !== 206) throw new Problem(response.status, await response.json().catch(() => ({})));
        parts.unshift(new Uint8Array(await response.arrayBuffer()));
        [from, fault] = [Math.max(0, from - part), ""];
      } catch (e) {
        fault = e instanceof Problem ? problemText(e) : T.notReached;
      }
    };
    const show = () => {
      const fromEnd = text.scrollHeight - text.scrollTop;
      set(text, shown(textOf(parts, from === 0)));
      text.scrollTop = text.scrollHeight - fromEnd; // earlier parts appear above
      set(status, fault || (size === 0 ? T.emptyLog : T.logPart(count(size - from), count(size))));
      earlier.hidden = from === 0;
    };
    const earlier = button(T.earlierLog, "small", async () => {
      await load();
      show();
      if (earlier.hidden) text.focus({ preventScroll: true });
    });
    if (size) await load();
    set(this.opened, h("h3", null, name), status, h("div", { class: "buttons" }, earlier), text);
    show();
    text.scrollTop = text.scrollHeight;
    text.focus({ preventScroll: true });
    this.opened.scrollIntoView({ block: "nearest" });
  }
}
