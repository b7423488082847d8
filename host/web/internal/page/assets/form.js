// Forms from JSON Schema. Each part of a value has an editor: an object with the node that shows it, and
//   read()            the value as it is, undefined when there is none
//   check(report)     calls report(pointer, message) for what cannot be sent at all
// The server judges what is sent, and names what it refuses by JSON pointer: Form.fault shows it at its place.

import { T } from "./texts.js";
import { Exact, escape, isObject, member, number, parse, put, same, stringify } from "./exact.js";
import { h, hidesSomething, newID, set, shown } from "./dom.js";

const deepest = 8; // levels of a form; what is deeper is edited as JSON

// Form is a form for one value.
export class Form {
  // changed is called after each change by the person. raw has texts that were typed before, by pointer.
  constructor(schema, value, { changed = () => {}, raw = {}, label = T.answer } = {}) {
    this.root = schema;
    this.changed = changed;
    this.raw = raw;
    this.places = new Map(); // pointer to { control, message }
    this.editor = this.edit(schema, value, { pointer: "", name: label, required: true, depth: 0, bare: true });
    this.node = h("div", { class: "form", oninput: () => this.changed(), onchange: () => this.changed() },
      this.editor.node);
  }

  read() {
    return this.editor.read();
  }

  // typed are the texts of all controls by pointer, as they are while somebody types.
  typed() {
    const raw = {};
    for (const [pointer, { control }] of this.places) {
      if (control && "value" in control && control.type !== "radio") raw[pointer] = control.value;
    }
    return raw;
  }

  // check reports whether the value can be sent; if not, it says at each place why.
  check() {
    this.clear();
    let good = true;
    this.editor.check((pointer, message) => {
      good = false;
      this.fault(pointer, message);
    });
    if (!good) this.focusFault();
    return good;
  }

  clear() {
    for (const { control, message } of this.places.values()) {
      control?.removeAttribute("aria-invalid");
      message.textContent = "";
    }
  }

  // fault shows a message at the place that the pointer names, or at the nearest one around it that there is.
  fault(pointer, text) {
    let at = pointer;
    while (!this.places.has(at)) {
      if (at === "") return false;
      at = at.slice(0, at.lastIndexOf("/"));
    }
    const { control, message } = this.places.get(at);
    const said = at === pointer ? text : `${pointer}: ${text}`;
    control?.setAttribute("aria-invalid", "true");
    message.textContent = message.textContent ? `${message.textContent}; ${said}` : said;
    return true;
  }

  focusFault() {
    const invalid = this.node.querySelector("[aria-invalid=true]");
    (invalid?.matches("input, select, textarea, button") ? invalid : invalid?.querySelector("input, select, textarea"))
      ?.focus();
  }

  // resolve follows references within the schema, and says a type.
  resolve(schema) {
    for (let i = 0; i < deepest && isObject(schema) && typeof schema.$ref === "string"; i++) {
      const parts = schema.$ref.startsWith("#/") ? schema.$ref.slice(2).split("/") : [];
      let target = this.root;
      for (const part of parts) target = member(target, part.replaceAll("~1", "/").replaceAll("~0", "~"));
      schema = parts.length && isObject(target) ? { ...target, ...schema, $ref: target.$ref } : {};
    }
    if (!isObject(schema)) return {};
    let type = schema.type;
    if (Array.isArray(type)) {
      const others = type.filter((t) => t !== "null");
      type = others.length === 1 ? others[0] : undefined;
    }
    if (!type && isObject(schema.properties)) type = "object";
    return { ...schema, type };
  }

  edit(given, value, place) {
    const schema = this.resolve(given);
    if (value === undefined && schema.default !== undefined) value = schema.default;
    place = { ...place, name: schema.title ?? place.name, help: schema.description };
    const choices = choicesOf(schema);
    if (place.depth > deepest) return this.json(value, place);
    if (choices && (value === undefined || choices.some((c) => same(c.value, value)))) {
      return this.choose(choices, value, place);
    }
    switch (schema.type) {
      case "object": if (value === undefined || isObject(value)) return this.object(schema, value, place); break;
      case "array": if (value === undefined || Array.isArray(value)) return this.list(schema, value, place); break;
      case "boolean": return this.choose([{ value: true, label: T.yes }, { value: false, label: T.no }], value, place);
      case "number": case "integer": return this.number(schema, value, place);
      case "string": if (value === undefined || value === null || typeof value === "string") {
        return this.string(schema, value, place);
      } break;
    }
    return this.json(value, place);
  }

  // field is a control with its label, its explanation and its message.
  field(place, control, read, check = () => {}) {
    const id = newID("field");
    const message = h("p", { class: "fault", id: id + "-fault" });
    const help = place.help ? h("p", { class: "help", id: id + "-help" }, shown(place.help)) : null;
    control.id = id;
    control.setAttribute("aria-describedby", [help?.id, message.id].filter(Boolean).join(" "));
    if (place.required && !place.bare) control.setAttribute("aria-required", "true");
    this.places.set(place.pointer, { control, message });
    const node = h("div", { class: "field", "data-pointer": place.pointer },
      h("label", { for: id }, h("span", { dir: "auto" }, shown(place.name)), optional(place)), help, control, message);
    if (Object.hasOwn(this.raw, place.pointer)) control.value = this.raw[place.pointer];
    return { node, read, check: (report) => check((message) => report(place.pointer, message)) };
  }

  string(schema, value, place) {
    const long = (schema.maxLength ?? 0) > 120 || schema.contentMediaType || String(value ?? "").length > 60
      || String(value ?? "").includes("\n");
    const types = { date: "date", email: "email", uri: "url" };
    const control = long ? h("textarea", { rows: 3, dir: "auto" })
      : h("input", { type: types[schema.format] ?? "text", autocomplete: "off", dir: "auto" });
    control.value = value ?? "";
    const help = [place.help, hidesSomething(control.value) ? T.hidden : null].filter(Boolean).join(" ");
    return this.field({ ...place, help }, control, () => {
      return control.value === "" && !(place.required && typeof value === "string") ? undefined : control.value;
    }, (report) => {
      if (place.required && control.value === "" && typeof value !== "string") report(T.fillIn);
    });
  }

  number(schema, value, place) {
    const control = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "number" });
    control.value = value === undefined || value === null ? "" : typeof value === "string" ? value : stringify(value);
    const limits = [schema.minimum !== undefined ? T.atLeast(stringify(schema.minimum)) : null,
      schema.maximum !== undefined ? T.atMost(stringify(schema.maximum)) : null].filter(Boolean).join(", ");
    const help = [place.help, limits].filter(Boolean).join(" ");
    return this.field({ ...place, help }, control, () => {
      const text = control.value.trim();
      return text === "" ? undefined : number(text) ?? text;
    }, (report) => {
      const text = control.value.trim();
      if (text === "" && place.required) report(T.fillIn);
      else if (text !== "" && number(text) === undefined) report(T.wantNumber);
    });
  }

  // choose is a choice of one value: as buttons if there are few, otherwise as a list.
  choose(choices, value, place) {
    let index = choices.findIndex((c) => same(c.value, value));
    if (Object.hasOwn(this.raw, place.pointer)) index = Number(this.raw[place.pointer]);
    const picked = { value: index };
    const read = () => choices[picked.value]?.value;
    const check = (report) => {
      if (place.required && picked.value < 0) report(T.choose);
    };
    if (choices.length > 6) {
      const control = h("select", { onchange: () => { picked.value = Number(control.value); } },
        h("option", { value: -1 }, place.required ? T.choose : T.none),
        choices.map((c, i) => h("option", { value: i }, shown(c.label))));
      control.value = String(index);
      return this.field(place, control, read, check);
    }
    const name = newID("choice");
    const message = h("p", { class: "fault", id: name + "-fault" });
    const option = (label, i) => h("label", { class: "pick" }, h("input", { type: "radio", name, checked: i === index,
      onchange: () => { picked.value = i; } }), h("span", { dir: "auto" }, shown(label)));
    const node = h("fieldset", { class: "field choice", role: "radiogroup", "data-pointer": place.pointer,
      "aria-describedby": message.id }, this.legend(place), h("div", { class: "picks" },
      choices.map((c, i) => option(c.label, i)), place.required ? null : option(T.none, -1)), message);
    this.places.set(place.pointer, { control: Object.defineProperty(node, "value",
      { get: () => String(picked.value) }), message });
    return { node, read, check: (report) => check((text) => report(place.pointer, text)) };
  }

  legend(place) {
    return [h("legend", null, h("span", { dir: "auto" }, shown(place.name)), optional(place)),
      place.help ? h("p", { class: "help" }, shown(place.help)) : null];
  }

  object(schema, value, place) {
    const properties = new Map(Object.entries(isObject(schema.properties) ? schema.properties : {}));
    const others = isObject(schema.additionalProperties) ? schema.additionalProperties : null;
    for (const name of Object.keys(value ?? {})) { // what the schema does not name is kept, and can be edited
      if (!properties.has(name)) properties.set(name, others ?? schemaOf(value[name]));
    }
    if (properties.size === 0) return this.json(value ?? {}, place);
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const editors = [...properties].map(([name, inner]) => [name, this.edit(inner, member(value, name),
      { pointer: `${place.pointer}/${escape(name)}`, name, required: required.has(name), depth: place.depth + 1 })]);
    const read = () => {
      const all = {};
      for (const [name, editor] of editors) {
        const inner = editor.read();
        if (inner !== undefined) put(all, name, inner);
      }
      return Object.keys(all).length || place.required || value !== undefined ? all : undefined;
    };
    return this.group(place, editors.map(([, editor]) => editor.node), read, (report) => {
      if (read() !== undefined) for (const [, editor] of editors) editor.check(report);
    });
  }

  // group is a part with parts of its own; the whole value has no frame.
  group(place, nodes, read, check) {
    const message = h("p", { class: "fault" });
    this.places.set(place.pointer, { control: null, message });
    const node = place.bare ? h("div", { class: "fields" }, nodes, message)
      : h("fieldset", { class: "group", "data-pointer": place.pointer }, this.legend(place), nodes, message);
    return { node, read, check };
  }

  list(schema, value, place) {
    const items = this.resolve(schema.items ?? (value?.length ? schemaOf(value[0]) : {}));
    if (Object.keys(items).every((k) => items[k] === undefined)) return this.json(value ?? [], place);
    let editors = [];
    const rows = h("div", { class: "items" });
    const add = h("button", { type: "button", class: "small" }, T.add);
    const show = (values) => {
      editors = values.map((item, i) => this.edit(items, item, { pointer: `${place.pointer}/${i}`,
        name: T.item(i + 1), required: true, depth: place.depth + 1 }));
      set(rows, editors.map((editor, i) => h("div", { class: "item" }, editor.node, h("button", { type: "button",
        class: "small quiet", "aria-label": T.removeItem(i + 1), onclick: () => change(i) }, T.remove))));
    };
    // change leaves an item out, or adds one. What was typed for other items moves with them.
    const change = (left) => {
      const values = editors.map((editor) => editor.read());
      if (left === undefined) values.push(undefined);
      else values.splice(left, 1);
      for (const pointer of [...this.places.keys()]) {
        if (pointer.startsWith(place.pointer + "/")) this.places.delete(pointer);
      }
      for (const pointer of Object.keys(this.raw)) {
        if (pointer.startsWith(place.pointer + "/")) delete this.raw[pointer];
      }
      show(values);
      const last = rows.lastElementChild?.querySelector("input, select, textarea");
      (left === undefined ? last : add)?.focus();
      this.changed();
    };
    add.addEventListener("click", () => change());
    show(value ?? Array.from({ length: Math.min(schema.minItems ?? 0, 20) }));
    const read = () => {
      const all = editors.map((editor) => editor.read() ?? null);
      return all.length || place.required || value !== undefined ? all : undefined;
    };
    return this.group(place, [rows, add], read, (report) => { for (const editor of editors) editor.check(report); });
  }

  json(value, place) {
    const control = h("textarea", { rows: 4, class: "code", spellcheck: "false", autocomplete: "off", dir: "ltr" });
    control.value = value === undefined ? "" : stringify(value, "  ");
    const read = () => {
      try {
        return control.value.trim() === "" ? undefined : parse(control.value);
      } catch {
        return control.value;
      }
    };
    const help = [place.help, T.asJSON].filter(Boolean).join(" ");
    return this.field({ ...place, help }, control, read, (report) => {
      try {
        if (control.value.trim() !== "") parse(control.value);
        else if (place.required) report(T.fillIn);
      } catch (e) {
        report(T.noJSON(e.message));
      }
    });
  }
}

function optional(place) {
  return place.required ? null : h("span", { class: "optional" }, T.optional);
}

// choicesOf are the values that a schema lists, if it does.
function choicesOf(schema) {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value, label: labelOf(value) }));
  const listed = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(listed) && listed.length && listed.every((o) => isObject(o) && Object.hasOwn(o, "const"))) {
    return listed.map((o) => ({ value: o.const, label: o.title ?? labelOf(o.const) }));
  }
  if (Object.hasOwn(schema, "const")) return [{ value: schema.const, label: labelOf(schema.const) }];
  return null;
}

function labelOf(value) {
  return typeof value === "string" ? value : stringify(value);
}

// schemaOf is a schema for values such as this one, for arguments that come without.
export function schemaOf(value) {
  if (typeof value === "string") return { type: "string" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number" || value instanceof Exact) return { type: "number" };
  if (Array.isArray(value)) {
    const [first] = value;
    const alike = value.length > 0 && value.every((v) => schemaOf(v).type === schemaOf(first).type);
    return alike && !isObject(first) && !Array.isArray(first) && first !== null
      ? { type: "array", items: schemaOf(first) } : {};
  }
  if (!isObject(value)) return {};
  const properties = {};
  for (const [name, inner] of Object.entries(value)) put(properties, name, schemaOf(inner));
  return Object.keys(properties).length ? { type: "object", properties, required: Object.keys(properties) } : {};
}
