// The fields of a form. Each part of a value has an editor: an object with its node and
//   read()            returns the value, or undefined if there is none
//   check(report)     calls report(pointer, message, unreadable) for each fault; unreadable means that the
//                     typed text is not a value
// Only chosen or displayed values are sent: an optional part is omitted until it is filled in, and null and the
// empty text are explicit choices. Optional parts are built when opened, up to a maximum number of fields,
// because a small schema can describe endlessly many.

import { T } from "./texts.js";
import { escape, isObject, member, number, parseOnce, put, same, stringify } from "./exact.js";
import { h, hidesSomething, newID, prose, set, shown } from "./dom.js";
import { Schemas, anyJSON, schemaOf } from "./schema.js";
import { escaped, visible } from "./visible.js";

const deepest = 12; // levels of a form; deeper parts are edited as JSON
const most = 1500; // fields and choices of a form; beyond this, parts are edited as JSON

// Fields are the fields of one value.
export class Fields {
  // raw has the texts typed before, by place.
  constructor(schema, value, { changed, label, raw = {} }) {
    Object.assign(this, { changed, raw, room: most, places: new Map(), typed: new Map() });
    this.schemas = new Schemas(schema);
    this.editor = this.edit(schema, value, { pointer: "", name: label, required: true, depth: 0, bare: true,
      fresh: value === undefined });
    this.node = this.editor.node;
  }

  // inFields is false if the whole value is edited as JSON.
  get inFields() {
    return !this.editor.json;
  }

  read() {
    return this.editor.read();
  }

  text() {
    return stringify(this.read());
  }

  check(report) {
    this.editor.check(report);
  }

  // draft returns the value, and the texts of all controls while the person types.
  draft() {
    const value = this.read();
    return { value: value === undefined ? undefined : stringify(value),
      typed: Object.fromEntries([...this.typed].map(([place, text]) => [place, text()])) };
  }

  clear() {
    for (const { control, message } of this.places.values()) {
      control?.removeAttribute("aria-invalid");
      message.textContent = "";
    }
  }

  // reserve reports whether so many more fields fit.
  reserve(count) {
    if (count > this.room) return false;
    this.room -= count;
    return true;
  }

  // forget drops the texts below a place before it is rebuilt.
  forget(pointer, itself = false) {
    for (const key of [...this.places.keys(), ...this.typed.keys(), ...Object.keys(this.raw)]) {
      const at = key.replace(/^shape/, "");
      if (!at.startsWith(pointer + "/") && !(itself && at === pointer)) continue;
      this.places.delete(key);
      this.typed.delete(key);
      delete this.raw[key];
    }
  }

  // recount updates the room after a part was removed.
  recount() {
    this.room = most - this.node.querySelectorAll("input, select, option, textarea").length;
  }

  edit(schema, value, place) {
    const s = this.schemas.read(schema);
    place = { ...place, name: s.title ?? place.name, help: s.description };
    if (value === undefined && place.fresh) value = this.defaultOf(s, schema, place);
    if (place.depth > deepest || s.opaque || s.never) return this.json(value, place);
    if (s.choices) {
      return (value === undefined || s.choices.some((c) => same(c.value, value))) && this.reserve(s.choices.length)
        ? this.choose(s.choices, value, place) : this.json(value, place);
    }
    if (s.variants || s.type === "object" && (!place.required || s.nullable)) {
      return this.shapes(s, schema, value, place);
    }
    const fits = value === undefined || value === null && s.nullable;
    switch (s.type) {
      case "object": if (fits || isObject(value)) return this.object(s, value, place); break;
      case "array": if (fits || Array.isArray(value)) return this.list(s, value, place); break;
      case "boolean": if (fits || typeof value === "boolean") {
        return this.choose([{ value: true, text: T.yes }, { value: false, text: T.no },
          ...s.nullable ? [{ value: null, text: T.noValue }] : []], value, place);
      } break;
      case "number": if (fits || number(stringify(value)) !== undefined) return this.number(s, value, place); break;
      case "string": if (fits || typeof value === "string" && !value.includes("\r")) { // fields have line feeds only
        return this.string(s, value, place);
      } break;
    }
    return this.json(value, place);
  }

  // defaultOf returns a part's default if the schema allows it. A default that shows nothing is left to the receiver.
  defaultOf(s, schema, place) {
    const value = s.default;
    if (value === undefined || !this.schemas.fits(schema, value)) return undefined;
    const empty = value === null || value === "" || Array.isArray(value) && !value.length
      || isObject(value) && !Object.keys(value).length;
    return empty && !place.required ? undefined : value;
  }

  // field returns a control with its label, help text and message. Extras are shown below the control.
  field(place, control, read, check = () => {}, extras = null) {
    const id = newID("field");
    const message = h("p", { class: "fault", id: id + "-fault" });
    const help = place.help ? h("p", { class: "help", id: id + "-help" }, prose(place.help)) : null;
    control.id = id;
    control.setAttribute("aria-describedby", [help?.id, message.id].filter(Boolean).join(" "));
    if (place.required && !place.bare) control.setAttribute("aria-required", "true");
    this.places.set(place.pointer, { control, message });
    const node = h("div", { class: "field", "data-pointer": place.pointer },
      h("label", { for: id, class: place.inner ? "hidden" : null }, h("span", { dir: "auto" }, shown(place.name)),
        optional(place)), help, control, extras, message);
    if (control.matches("input, textarea")) {
      if (Object.hasOwn(this.raw, place.pointer)) control.value = this.raw[place.pointer];
      this.typed.set(place.pointer, () => control.value);
    }
    return { node, read, check: (report) => check((...fault) => report(place.pointer, ...fault)) };
  }

  // special returns a box next to a control for a value that cannot be typed into it, such as null.
  special(control, text, checked) {
    const box = h("input", { type: "checkbox", checked });
    const node = h("label", { class: "pick special" }, box, text);
    box.addEventListener("change", () => {
      for (const other of node.parentNode.querySelectorAll("input")) other.checked = other === box && box.checked;
      control.disabled = box.checked;
    });
    control.disabled = control.disabled || checked;
    return { node, box };
  }

  string(s, value, place) {
    const line = s.format && s.format !== "regex" && !String(value ?? "").includes("\n");
    const long = (s.maxLength ?? 0) > 120 || s.contentMediaType || String(value ?? "").length > 60;
    const control = s.format === "date" && /^(\d{4}-\d\d-\d\d)?$/.test(value ?? "") ? h("input", { type: "date" })
      : line ? h("input", { type: "text", autocomplete: "off", dir: "auto", inputmode: inputModes[s.format] })
        : h("textarea", { rows: long ? 3 : 1, class: long ? null : "line", autocomplete: "off", dir: "auto" });
    control.value = value ?? "";
    const help = [place.help, T.formats[s.format], hidesSomething(control.value) ? T.hidden : null]
      .filter(Boolean).join(" ");
    const mayBeEmpty = !s.minLength && (s.pattern === undefined || matches(s.pattern, "") !== false);
    const empty = place.required && mayBeEmpty || value === ""
      ? this.special(control, T.emptyValue, value === "") : null;
    const none = s.nullable ? this.special(control, T.noValue, value === null) : null;
    const field = this.field({ ...place, help }, control, () => {
      return none?.box.checked ? null : empty?.box.checked ? "" : control.value === "" ? undefined : control.value;
    }, (report) => {
      if (control.validity.badInput) report(T.wantDate, true);
      else if (place.required && control.value === "" && !none?.box.checked && !empty?.box.checked) {
        missed = report(T.fillIn) || missed;
        offer();
      }
    }, specials(empty, none));
    let missed = value === ""; // until then, the offer of an empty text would only be clutter
    const offer = () => { if (empty) empty.node.hidden = !missed || control.value !== ""; };
    control.addEventListener("input", offer);
    offer();
    return field;
  }

  number(s, value, place) {
    const control = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "number" });
    control.value = value === undefined || value === null ? "" : stringify(value);
    const none = s.nullable ? this.special(control, T.noValue, value === null) : null;
    return this.field({ ...place, help: [place.help, limitsOf(s)].filter(Boolean).join(" ") }, control, () => {
      return none?.box.checked ? null : number(control.value.trim());
    }, (report) => {
      const text = control.value.trim();
      if (none?.box.checked) return;
      if (text === "" && place.required) report(T.fillIn);
      else if (text !== "" && number(text) === undefined) report(T.wantNumber, true);
    }, specials(none));
  }

  // choose returns a choice of one value: buttons if there are few, otherwise a list.
  choose(choices, value, place) {
    let picked = choices.findIndex((c) => value !== undefined && same(c.value, value));
    const read = () => choices[picked]?.value;
    const check = (report) => {
      if (place.required && picked < 0) report(T.choose);
    };
    if (choices.length > 6) {
      const control = h("select", { onchange: () => { picked = Number(control.value); } },
        h("option", { value: -1 }, place.required ? T.choose : T.leaveOut),
        choices.map((c, i) => h("option", { value: i }, unfolded(labelled(c)))));
      control.value = String(picked);
      return this.field(place, control, read, check);
    }
    const options = choices.map((c, i) => [i, labelled(c)]);
    if (!place.required) options.push([-1, T.leaveOut]);
    const { node, message } = this.radios(place, options, picked, (i) => { picked = i; });
    this.places.set(place.pointer, { control: node, message });
    return { node, read, check: (report) => check((text) => report(place.pointer, text)) };
  }

  // radios returns a group of radio buttons.
  radios(place, options, picked, pick) {
    const name = newID("choice");
    const message = h("p", { class: "fault", id: name + "-fault" });
    const node = h("fieldset", { class: "field choice", role: "radiogroup", "data-pointer": place.pointer,
      "aria-describedby": message.id }, this.legend(place), h("div", { class: "picks" }, options.map(([i, content]) =>
      h("label", { class: "pick" }, h("input", { type: "radio", name, checked: i === picked, onchange: () => pick(i) }),
        h("span", { dir: "auto" }, content)))), message);
    return { node, message };
  }

  legend(place) {
    return [h("legend", { class: place.inner ? "hidden" : null }, h("span", { dir: "auto" }, shown(place.name)),
      optional(place)), place.help ? h("p", { class: "help" }, prose(place.help)) : null];
  }

  // shapes offers the ways to give a part: omitted, null, or one of the variants, which is built when picked.
  shapes(s, schema, value, place) {
    const all = (s.variants ?? [{ label: T.fillOut, schema }]).map((v) => ({ ...v, inside: true }));
    if (!place.required) all.unshift({ label: T.leaveOut });
    if (s.nullable) all.push({ label: T.noValue, value: null });
    let picked = value === undefined ? place.required ? -1 : 0
      : all.findIndex((shape) => shape.value === value || shape.inside && this.schemas.fits(shape.schema, value));
    const key = "shape" + place.pointer;
    if (Object.hasOwn(this.raw, key) && all[this.raw[key]]) picked = Number(this.raw[key]);
    if (picked < 0 && value !== undefined || !this.reserve(all.length)) return this.json(value, place);
    const body = h("div", { class: "inside" });
    let editor = null;
    const { node, message } = this.radios(place, all.map((shape, i) => [i, shown(shape.label)]), picked, (i) => {
      picked = i;
      this.forget(place.pointer, true);
      this.typed.set(key, () => String(picked));
      set(body);
      this.recount();
      show(undefined, true);
      this.changed();
    });
    node.insertBefore(body, message);
    node.classList.add("shapes");
    const show = (given, fresh) => {
      const shape = all[picked];
      this.places.set(place.pointer, { control: node, message });
      editor = null;
      if (!shape?.inside) return;
      const inner = { ...place, required: true, inner: true, bare: false, fresh, help: undefined };
      editor = s.variants ? this.edit(shape.schema, given ?? shape.given, { ...inner, depth: place.depth + 1 })
        : this.object(s, given, inner);
      set(body, editor.node);
    };
    show(value, place.fresh);
    this.typed.set(key, () => String(picked));
    return { node, read: () => editor ? editor.read() : all[picked]?.value, check: (report) => {
      if (editor) editor.check(report);
      else if (picked < 0) report(place.pointer, T.choose);
    } };
  }

  object(s, value, place) {
    const others = isObject(s.additionalProperties) ? s.additionalProperties : {};
    const members = new Map([...s.properties].filter(([name, inner]) => inner !== false || s.required.has(name)));
    for (const name of s.required) if (!members.has(name)) members.set(name, this.otherSchema(s, name) ?? others);
    if (!this.reserve(members.size)) return this.json(value, place);
    const row = (name, inner, given, fresh) => this.edit(inner, given, { pointer: `${place.pointer}/${escape(name)}`,
      name, required: s.required.has(name), depth: place.depth + 1, fresh });
    const fresh = place.fresh;
    const editors = new Map([...members].map(([name, inner]) => [name, row(name, inner, member(value, name), fresh)]));
    const rows = h("div", { class: "items" });
    const add = (name, inner, given) => { // a member that the schema does not name
      const editor = row(name, inner, given, false);
      editors.set(name, editor);
      const item = h("div", { class: "item" }, editor.node, h("button", { type: "button", class: "small quiet",
        "aria-label": T.removeMember(visible(name)), onclick: () => {
          editors.delete(name);
          item.remove();
          this.forget(`${place.pointer}/${escape(name)}`, true);
          this.recount();
          this.changed();
        } }, T.remove));
      rows.append(item);
      return editor;
    };
    for (const name of Object.keys(value ?? {})) {
      if (editors.has(name)) continue;
      if (!this.reserve(1)) return this.json(value, place);
      add(name, this.otherSchema(s, name) ?? schemaOf(value[name]), value[name]);
    }
    const open = isObject(s.additionalProperties) || isObject(s.patternProperties)
      || s.properties.size === 0 && s.additionalProperties !== false && place.depth > 0;
    const adder = open ? this.adder(place, editors, (name) => add(name, this.otherSchema(s, name) ?? others)) : null;
    const nodes = [...members.keys()].map((name) => editors.get(name).node);
    const empty = members.size === 0 && !open ? h("p", { class: "muted" }, T.nothingToFillIn) : null;
    const read = () => {
      const all = {};
      for (const [name, editor] of editors) {
        const inner = editor.read();
        if (inner !== undefined) put(all, name, inner);
      }
      return all;
    };
    return this.group(place, [nodes, empty, rows, adder?.node], read, (report) => {
      for (const editor of editors.values()) editor.check(report);
      adder?.check(report);
    });
  }

  // otherSchema returns the schema of members that are not declared by name.
  otherSchema(s, name) {
    for (const [pattern, schema] of Object.entries(isObject(s.patternProperties) ? s.patternProperties : {})) {
      const is = matches(pattern, name);
      if (is === undefined) return anyJSON;
      if (is) return schema;
    }
    return isObject(s.additionalProperties) ? s.additionalProperties : undefined;
  }

  // adder adds members with names that the person chooses.
  adder(place, editors, add) {
    const message = h("p", { class: "fault" });
    const control = h("input", { type: "text", id: newID("name"), autocomplete: "off", dir: "auto" });
    const button = h("button", { type: "button", class: "small", onclick: () => {
      const name = control.value;
      message.textContent = name === "" ? T.nameFirst : editors.has(name) ? T.thereAlready : "";
      if (message.textContent) return control.focus();
      control.value = "";
      if (!this.reserve(1)) {
        message.textContent = T.tooMany;
        return undefined;
      }
      add(name).node.querySelector("input, select, textarea")?.focus();
      return this.changed();
    } }, T.addMember);
    const node = h("div", { class: "field adder" }, h("label", { for: control.id }, T.memberName), h("div",
      { class: "inline" }, control, button), message);
    return { node, check: (report) => {
      if (control.value !== "") report(place.pointer, T.addFirst, true);
    } };
  }

  // group returns a part with nested parts; the whole value has no frame.
  group(place, nodes, read, check) {
    const message = h("p", { class: "fault" });
    this.places.set(place.pointer, { control: null, message });
    const help = place.help ? h("p", { class: "help" }, prose(place.help)) : null;
    const node = place.bare || place.inner ? h("div", { class: place.bare ? "fields" : "group" }, help, nodes, message)
        : h("fieldset", { class: "group", "data-pointer": place.pointer }, this.legend(place), nodes, message);
    return { node, read, check };
  }

  list(s, value, place) {
    const tuple = Array.isArray(s.prefixItems) ? s.prefixItems : [];
    const schemaAt = (i) => tuple[i] ?? s.items ?? {};
    let editors = [];
    let room = true;
    const rows = h("div", { class: "items" });
    const add = h("button", { type: "button", class: "small" }, T.add);
    const none = s.nullable ? this.special(add, T.noValue, value === null) : null;
    const empty = !place.required && !s.minItems || value?.length === 0 && !place.required
      ? this.special(add, T.emptyList, value?.length === 0) : null;
    const show = (values, fresh) => {
      room = this.reserve(values.length);
      editors = room ? values.map((item, i) => this.edit(schemaAt(i), item ?? (this.allowsNull(schemaAt(i)) ? item
        : undefined), { pointer: `${place.pointer}/${i}`, name: T.item(i + 1), required: true,
        depth: place.depth + 1, fresh: fresh === true || fresh === i })) : [];
      set(rows, editors.map((editor, i) => h("div", { class: "item" }, editor.node, h("button", { type: "button",
        class: "small quiet", "aria-label": T.removeItem(i + 1), onclick: () => change(i) }, T.remove))));
      add.hidden = editors.length >= (s.maxItems ?? Infinity) || schemaAt(editors.length) === false;
      for (const box of [none, empty]) if (box) box.node.hidden = editors.length > 0;
      noItems.hidden = editors.length > 0 || !place.required;
    };
    // change removes or adds an item. Texts typed for the other items move with them.
    const change = (left) => {
      const values = editors.map((editor) => editor.read());
      const adds = left === undefined;
      if (adds) values.push(undefined);
      else values.splice(left, 1);
      this.forget(place.pointer);
      set(rows);
      this.recount();
      show(values, adds ? values.length - 1 : false);
      const last = rows.lastElementChild?.querySelector("input, select, textarea");
      (adds ? last : add)?.focus();
      this.changed();
    };
    const noItems = h("p", { class: "muted" }, T.noItems);
    add.addEventListener("click", () => change());
    const begun = place.required && value === undefined ? Math.min(s.minItems ?? 0, 20) : 0;
    show(value ?? Array.from({ length: begun }), place.fresh);
    if (!room) return this.json(value, place);
    const read = () => {
      const all = editors.map((editor) => editor.read() ?? null);
      return none?.box.checked && !all.length ? null
        : all.length || place.required || empty?.box.checked ? all : undefined;
    };
    return this.group(place, [noItems, rows, specials(empty, none), add], read,
      (report) => { for (const editor of editors) editor.check(report); });
  }

  allowsNull(schema) {
    return this.schemas.fits(schema, null);
  }

  json(value, place) {
    const control = h("textarea", { rows: 3, class: "code", spellcheck: "false", autocomplete: "off", dir: "ltr" });
    control.value = value === undefined ? "" : escaped(stringify(value, "  "));
    const help = [place.help, T.asJSON].filter(Boolean).join(" ");
    const field = this.field({ ...place, help }, control, () => {
      try {
        return control.value.trim() === "" ? undefined : parseOnce(control.value);
      } catch {
        return undefined;
      }
    }, (report) => {
      try {
        if (control.value.trim() !== "") parseOnce(control.value);
        else if (place.required) report(T.fillIn);
      } catch (e) {
        report(T.noJSON(e.message), true);
      }
    });
    return { ...field, json: true };
  }
}

const inputModes = { email: "email", uri: "url" };

const mostTries = 1e6; // the browser tries all ways in which a text can match

// matches reports whether a name matches a pattern. It returns undefined for a pattern that the browser does not
// support or that could block it: a pattern that is fast in the server's engine can be slow in the browser's.
function matches(pattern, name) {
  const repeats = pattern.match(/[*+{]/g)?.length ?? 0, choices = pattern.match(/[?|]/g)?.length ?? 0;
  if (/\)[*+{]/.test(pattern) || 2 ** choices * (name.length + 1) ** (repeats + 1) > mostTries) return undefined;
  try {
    return new RegExp(pattern, "u").test(name);
  } catch {
    return undefined;
  }
}

function optional(place) {
  return place.required ? null : h("span", { class: "optional" }, T.optional);
}

// labelled shows a choice with its name, and with its value if that differs.
function labelled({ label, text }) {
  return label === undefined || label === text ? shown(text)
    : [shown(label), " ", h("code", { class: "muted" }, shown(text))];
}

// unfolded returns the nodes' text for an option, which always collapses white space.
function unfolded(nodes) {
  return document.createTextNode(h("span", null, nodes).textContent.replace(/^ | (?= )| $|[\t\n]/g,
    (c) => c === " " ? "\u00a0" : c === "\t" ? "\\t" : "\\n"));
}

function specials(...boxes) {
  const nodes = boxes.filter(Boolean).map(({ node }) => node);
  return nodes.length ? h("div", { class: "picks specials" }, nodes) : null;
}

function limitsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
  const text = (value) => value === undefined ? undefined : stringify(value);
  return T.limits(text(minimum), text(maximum), text(exclusiveMinimum), text(exclusiveMaximum));
}
