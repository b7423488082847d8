// For operators: the pools with their use, and forms to change or create them. A form is kept while the list is redrawn,
// so no input is lost.

import { T } from "./texts.js";
import { Problem, get, post } from "./api.js";
import { announce, h, newID, once, set, shown } from "./dom.js";
import { refresh } from "./live.js";
import { problemText } from "./question.js";

const most = 1000000; // slots.MaxCapacity
const named = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;

// readSize returns the size of the form's texts, and the texts of its faults by field.
export function readSize({ name, capacity, key }, isNew) {
  const number = (text, least) => (/^\d{1,7}$/.test(text.trim()) && Number(text) >= least && Number(text) <= most
    ? Number(text) : null);
  const size = { capacity: number(capacity, 1), key_capacity: key.trim() === "" ? 0 : number(key, 0) };
  const faults = {};
  if (isNew && !named.test(name)) faults.name = T.poolNameWrong;
  if (size.capacity === null) faults.capacity = T.sizeWanted(1, most);
  if (size.key_capacity === null) faults.key = T.sizeWanted(0, most);
  return { size, faults };
}

function sizeText(p) {
  return p ? T.poolSize(p.capacity) + (p.key_capacity ? `, ${T.perKey(p.key_capacity)}` : "") : T.noPool;
}

// PoolList is the section of the pools.
export class PoolList {
  constructor() {
    this.forms = new Map(); // by the pool's name; empty for the form that creates one
    this.notice = h("div", { role: "status" });
    this.list = h("ul", { class: "pools" });
    this.none = h("p", { class: "muted" }, T.noPools);
    this.create = this.form(null);
    this.node = h("section", null, h("h2", null, T.pools), this.none, this.list, this.notice, this.create.node);
  }

  show(pools) {
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    this.none.hidden = pools.length > 0;
    set(this.list, pools.map((p) => this.row(p)));
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  row(p) {
    const part = Math.min(1, p.capacity ? p.held / p.capacity : 0);
    if (!this.forms.has(p.name)) this.forms.set(p.name, this.form(p));
    const form = this.forms.get(p.name);
    form.follow(p);
    return h("li", null, h("div", { class: "pool-head" }, h("strong", { dir: "auto" }, shown(p.name)),
      h("span", { class: "muted" }, T.slots(p.held, p.capacity), p.key_capacity ? `, ${T.perKey(p.key_capacity)}` : "",
        p.ready ? `, ${T.readyFor(p.ready)}` : "")),
    h("meter", { min: "0", max: "1", high: "0.99", value: part, "aria-label": T.slots(p.held, p.capacity) }), form.node);
  }

  // form has the controls that change a pool, or create one if there is none.
  form(pool) {
    const fields = { name: pool ? null : field(T.poolName, T.poolNameWanted), capacity: field(T.poolSlots, ""),
      key: field(T.poolKey, T.poolKeyHelp) };
    const refused = h("div", { role: "alert" });
    let was = pool;
    const fill = (p) => {
      fields.capacity.input.value = p ? String(p.capacity) : "";
      fields.key.input.value = p?.key_capacity ? String(p.key_capacity) : "";
    };
    fill(pool);
    const node = h("details", { class: "pool-form", ontoggle: () => node.open && pool && fill(was = pool) },
      h("summary", { "aria-label": pool ? T.changePoolOf(pool.name) : T.newPool }, pool ? T.changePool : T.newPool));
    const save = async () => {
      set(refused);
      const { size, faults } = readSize({ name: fields.name?.input.value.trim() ?? "", capacity:
        fields.capacity.input.value, key: fields.key.input.value }, !pool);
      for (const [name, one] of Object.entries(fields)) one?.say(faults[name]);
      const wrong = Object.keys(fields).find((name) => faults[name]);
      if (wrong) return fields[wrong].input.focus();
      const name = pool ? pool.name : fields.name.input.value.trim();
      try {
        await post("api/pools", { name, ...size, was: was ? { capacity: was.capacity, key_capacity: was.key_capacity }
          : undefined });
      } catch (e) {
        let text = e instanceof Problem ? problemText(e) : T.notReached;
        if (e.code === "POOL_CHANGED") {
          const stored = (await get("api/stats")).pools.find((p) => p.name === name);
          if (pool) was = stored; // the person now sees this size
          text = pool ? T.poolChanged(sizeText(stored)) : T.poolExists(name);
        }
        set(refused, h("p", { class: "notice bad" }, text));
        return refresh();
      }
      node.open = false;
      if (!pool) fields.name.input.value = fields.capacity.input.value = fields.key.input.value = "";
      set(this.notice, h("p", { class: "notice good" }, T.poolSaved(name)));
      announce(T.poolSaved(name));
      return refresh();
    };
    node.append(h("p", { class: "help" }, T.poolHelp), h("div", { class: "pool-fields" },
      Object.values(fields).filter(Boolean).map((one) => one.node)), refused, h("div", { class: "buttons" },
      once(h("button", { type: "button", class: "small primary" }, pool ? T.savePool : T.createPool), save)));
    return { node, follow: (p) => { pool = p; } };
  }
}

// field is a text field with a help and a place for its fault.
function field(label, help) {
  const id = newID("pool");
  const input = h("input", { type: "text", id, autocomplete: "off", "aria-describedby": `${id}-help ${id}-fault`,
    inputmode: label === T.poolName ? null : "numeric" });
  const fault = h("p", { class: "fault", id: `${id}-fault` });
  return { input, node: h("div", { class: "field" }, h("label", { for: id }, label), input, fault,
    h("p", { class: "help", id: `${id}-help` }, help)),
  say: (text) => {
    set(fault, text ?? null);
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  } };
}
