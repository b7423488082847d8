// For operators: the load, the nodes, and full pools.

import { T } from "./texts.js";
import { Problem, get, post } from "./api.js";
import { button, h, prose, said, set, shown } from "./dom.js";
import { stringify } from "./exact.js";
import { follow, refresh } from "./live.js";
import { PoolList } from "./pools.js";
import { problemText } from "./question.js";
import { since, until } from "./time.js";

// SystemView shows counts, pools, engines and feeds in a node.
export class SystemView {
  constructor(node) {
    this.node = node;
    this.text = "";
    this.pools = new PoolList();
    follow(() => this.visible && this.read());
  }

  setVisible(on) {
    this.visible = on;
    clearInterval(this.timer);
    if (!on) return;
    refresh();
    this.timer = setInterval(() => document.hidden || refresh(), 5000); // counts change without questions
  }

  async read() {
    let stats, feeds, nodes, dead;
    const optional = (path, none) => get(path).catch((e) => { if (e instanceof Problem) return none; throw e; });
    try {
      stats = await get("api/stats");
      [{ feeds }, { nodes }, dead] = await Promise.all([optional("api/feeds", { feeds: [] }),
        optional("api/nodes", { nodes: [] }), optional("api/notices/dead", { dead_letters: [] })]);
    } catch (e) {
      if (!(e instanceof Problem)) throw e;
      set(this.node, h("h1", null, T.system), h("p", { class: "empty", role: "alert" }, problemText(e)));
      return;
    }
    const text = stringify([stats, feeds, nodes, dead]);
    if (text === this.text) return;
    this.text = text;
    const number = (label, value, bad, time) => h("div", { class: bad && value > 0 ? "figure bad" : "figure" },
      h("dd", null, String(value)), h("dt", null, label, time
        ? h("span", { class: "muted oldest" }, T.oldest, " ", since(time)) : null));
    const focused = this.pools.node.contains(document.activeElement) ? document.activeElement : null;
    set(this.node, h("h1", null, T.system), h("dl", { class: "figures" },
      number(T.states.waiting_user, stats.waiting, false, stats.oldest_waiting),
      number(T.states.running, stats.running), number(T.ready, stats.ready, false, stats.oldest_ready),
      number(T.delayed, stats.delayed), number(T.heldOnly, stats.held, true, stats.oldest_held),
      number(T.due, stats.due, true), number(T.nodes, stats.nodes)),
    this.pools.node, stats.engines.length ? this.engines(stats.engines) : null, nodes.length ? this.nodes(nodes) : null,
    feeds.length ? this.feeds(feeds) : null, dead.dead_letters.length ? this.dead(dead) : null);
    this.pools.show(stats.pools);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  dead({ dead_letters: all, more }) {
    const row = ({ endpoint, id, run_id: run, died, reason }) => {
      const refused = h("span", { role: "status" });
      const again = async () => {
        try {
          await post("api/notices/resend", { endpoint, id });
          refresh();
        } catch (e) {
          set(refused, said(e instanceof Problem ? problemText(e) : T.notReached));
        }
      };
      return h("tr", null, h("th", { scope: "row", dir: "auto" },
        h("a", { href: `#/runs/${encodeURIComponent(run)}` }, shown(run))), h("td", { dir: "auto" }, shown(endpoint)),
      h("td", null, since(died)), h("td", { dir: "auto" }, prose(reason)),
      h("td", null, button(T.resend, "small", again), refused));
    };
    return [this.table(T.deadLetters, T.deadColumns, all.map(row)),
      more ? h("p", { class: "muted" }, T.moreDead) : null];
  }

  nodes(all) {
    const state = (n) => n.departed_at ? [T.departed, " ", since(n.departed_at)] : n.dead ? T.dead
      : [T.leaseUntil, " ", until(n.until)];
    const row = (n) => h("tr", null, h("th", { scope: "row", dir: "auto", class: "mono" }, shown(n.id)),
      h("td", { dir: "auto" }, n.engines ? shown(n.engines.join(", ")) : n.departed_at ? "" : T.allEngines),
      h("td", { class: n.dead ? "bad" : null }, state(n)));
    return this.table(T.nodeList, T.nodeColumns, all.map(row));
  }

  feeds(all) {
    const row = (f) => h("tr", null, h("th", { scope: "row", dir: "auto" }, shown(f.name)),
      h("td", { class: f.lost ? "bad" : null }, f.lost ? T.feedLost : String(f.unacked)),
      h("td", null, f.oldest ? since(f.oldest) : ""), h("td", null, f.leased ? T.yes : T.no));
    return this.table(T.feeds, T.feedColumns, all.map(row));
  }

  engines(all) {
    const row = (e) => {
      const nobody = e.nodes === 0 && e.queued > 0;
      return h("tr", null, h("th", { scope: "row", dir: "auto" }, shown(e.engine)), h("td", null, String(e.queued)),
        h("td", { class: nobody ? "bad" : null }, String(e.nodes), nobody ? ` ${T.nobodyHere}` : ""));
    };
    return this.table(T.engines, T.engineColumns, all.map(row));
  }

  table(title, columns, rows) {
    return [h("h2", null, title), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": title },
      h("table", null, h("thead", null, h("tr", null, columns.map((c) => h("th", { scope: "col" }, c)))),
        h("tbody", null, rows)))];
  }
}
