// Turns a JSON Schema into a description of editors: follows references, and merges the parts that apply to the same
// value (allOf, anyOf, if and so on). This only selects the controls; the server validates the value. A part that is
// too complex is marked opaque, and is edited as JSON.

import { T } from "./texts.js";
import { Exact, isObject, member, put, same, stringify } from "./exact.js";

const mostSteps = 500; // parts read for one place, and comparisons for one value
const mostInAll = 100_000;
const deepest = 40; // nested references and parts
const mostBranches = 100;

// Marks of flat schemas; no received schema has them.
const opaque = Symbol("opaque");
const never = Symbol("never");
const groups = Symbol("groups"); // the alternatives: lists of which one branch applies
const conditional = Symbol("conditional"); // a member that only conditions name, as one of these schemas

// anyJSON is the schema of a value that is edited as JSON.
export const anyJSON = { [opaque]: true };

// Schemas reads the parts of one schema.
export class Schemas {
  constructor(root) {
    this.root = root;
    this.known = new Map();
    this.all = 0; // steps so far
  }

  // read returns the description of a value:
  //   opaque     it can only be edited as JSON
  //   never      no value is allowed
  //   choices    the listed values, as { value, text, label }; label is an optional name for people
  //   variants   the schemas to choose from, as { label, schema, given }; given are members that the choice implies
  //   type       object, array, string, number or boolean, in the absence of these three
  //   nullable   null is also allowed
  // and the schema's other keywords, with properties as a Map and required as a Set.
  read(schema) {
    let found = this.known.get(schema);
    if (!found) {
      this.steps = 0;
      found = this.describe(this.flat(schema));
      this.known.set(schema, found);
    }
    return found;
  }

  // flat returns a schema without references, allOf and conditions.
  flat(schema, depth = 0) {
    if (schema === true || schema === undefined) return {};
    if (!isObject(schema)) return { [never]: true };
    if (depth > deepest || ++this.steps > mostSteps || ++this.all > mostInAll) return { [opaque]: true };
    const { $ref, $dynamicRef, allOf, anyOf, oneOf, ...own } = schema;
    own[groups] = [...schema[groups] ?? [], ...[anyOf, oneOf].filter(Array.isArray)];
    if ($dynamicRef !== undefined) own[opaque] = true;
    let all = own;
    if ($ref !== undefined) all = merge(all, this.target($ref, depth));
    for (const part of Array.isArray(allOf) ? allOf : []) all = merge(all, this.flat(part, depth + 1));
    return this.withConditions(all, own, depth);
  }

  // withConditions offers the members that only conditions name, in each of their forms. The server decides whether a
  // member is required. Drafts before 2019-09 write "dependencies" instead of dependentSchemas.
  withConditions(all, own, depth) {
    const found = new Map();
    for (const part of [own.then, own.else, ...membersOf(own.dependentSchemas), ...membersOf(own.dependencies)]) {
      if (!isObject(part)) continue;
      const { properties } = this.flat(part, depth + 1);
      for (const [name, inner] of isObject(properties) ? Object.entries(properties) : []) {
        if (inner !== false) found.set(name, either(found.get(name), inner));
      }
    }
    if (found.size === 0) return all;
    const members = { ...all.properties };
    for (const [name, inner] of found) {
      if (!Object.hasOwn(members, name)) put(members, name, inner);
      else if (members[name]?.[conditional]) put(members, name, either(members[name], inner));
    }
    return { ...all, properties: members };
  }

  target(ref, depth) {
    let target = this.root;
    if (typeof ref !== "string" || ref !== "#" && !ref.startsWith("#/")) return { [opaque]: true };
    for (const part of ref.slice(2).split("/").filter((_, i) => i > 0 || ref !== "#")) {
      let name = part;
      try {
        name = decodeURIComponent(part);
      } catch { // use it as it is
      }
      name = name.replaceAll("~1", "/").replaceAll("~0", "~");
      target = Array.isArray(target) ? target[Number(name)] : member(target, name);
    }
    return target === undefined ? { [opaque]: true } : this.flat(target, depth + 1);
  }

  describe(schema) {
    const as = (kind) => ({ ...schema, opaque: false, never: false, choices: null, variants: null, nullable: false,
      type: undefined, ...kind });
    const listsOwn = choicesOf(schema) !== null;
    let nullable = typesOf(schema).allowsNull;
    let variants = null;
    for (let left; (left = schema[groups] ?? []).length > 0 && !variants;) {
      if (++this.steps > mostSteps || left[0].length > mostBranches) return as({ opaque: true });
      const branches = left[0].map((b) => this.flat(b)).filter((b) => !b[never]);
      const rest = branches.filter((b) => !onlyNull(b));
      schema = { ...schema, [groups]: left.slice(1) };
      if (branches.some((b) => b[opaque])) return as({ opaque: true });
      const listed = rest.length > 0 && rest.every((b) => Object.hasOwn(b, "const"));
      if (rest.every((b) => !shapeOf(b) && !b[groups].length)) continue; // for example required members
      nullable = nullable && rest.length < branches.length;
      if (listed) schema = { ...schema, enum: rest.map((b) => b.const), enumNames: rest.map((b) => b.title) };
      else if (rest.length === 1) schema = merge(schema, rest[0]);
      else variants = rest;
    }
    if (schema[opaque]) return as({ opaque: true });
    if (schema[never]) return as({ never: true });
    if (variants) return as({ nullable, variants: this.variants(variants, schema) });
    const choices = choicesOf(schema);
    if (choices) return as({ choices: nullable && !listsOwn ? [...choices, nothing] : choices });
    const types = typesOf(schema).types;
    if (types.length === 0) return as({ choices: nullable ? [nothing] : [] });
    if (types.length > 1) {
      return as({ nullable, variants: types.map((type) => ({ label: T.types[type],
        schema: type === "any" ? { [opaque]: true }
          : { ...schema, title: undefined, description: undefined, type } })) });
    }
    return as({ nullable, type: types[0], properties: new Map(Object.entries(
      isObject(schema.properties) ? schema.properties : {})), required: new Set(list(schema.required)) });
  }

  // variants combines the branches of an alternative with the surrounding schema, under names for people.
  variants(branches, around) {
    const outer = { ...around, title: undefined, description: undefined, default: undefined };
    const mark = this.discriminator(branches);
    return branches.map((branch, i) => {
      const value = mark && this.constantOf(branch, mark);
      const shape = [shapeOf(branch)].flat();
      return { label: branch.title ?? value ?? (shape.length === 1 && T.types[shape[0]]
        && branches.filter((b) => shapeOf(b) === shapeOf(branch)).length === 1 ? T.types[shape[0]] : T.variant(i + 1)),
      given: mark ? { [mark]: value } : undefined, schema: merge(branch, outer) };
    });
  }

  // discriminator returns the member whose constant distinguishes the branches, if any.
  discriminator(branches) {
    const names = Object.keys(isObject(branches[0].properties) ? branches[0].properties : {});
    const constants = (name) => branches.map((b) => this.constantOf(b, name)).filter((value) => value !== undefined);
    return names.find((name) => name !== "__proto__" && new Set(constants(name)).size === branches.length);
  }

  constantOf(branch, name) {
    const flat = this.flat(member(branch.properties, name) ?? false);
    const value = Object.hasOwn(flat, "const") ? flat.const : list(flat.enum).length === 1 ? flat.enum[0] : undefined;
    return typeof value === "string" ? value : undefined;
  }

  // fits reports whether a value has the types, constants and members of a schema.
  fits(schema, value) {
    this.steps = 0;
    return this.allows(schema, value, 0);
  }

  allows(schema, value, depth) {
    const s = this.flat(schema, depth);
    if (s[never]) return false;
    if (s[opaque] || this.steps > mostSteps) return true;
    if (s.type !== undefined && ![s.type].flat().some((type) => isType(type, value))) return false;
    if (Array.isArray(s.enum) && !s.enum.some((one) => same(one, value))) return false;
    if (Object.hasOwn(s, "const") && !same(s.const, value)) return false;
    if (!(s[groups] ?? []).every((group) => group.some((b) => this.allows(b, value, depth + 1)))) return false;
    if (Array.isArray(value)) {
      return value.every((item, i) => this.allows(list(s.prefixItems)[i] ?? s.items, item, depth + 1));
    }
    if (!isObject(value)) return true;
    return list(s.required).every((name) => Object.hasOwn(value, name))
      && Object.entries(value).every(([name, inner]) => {
        const declared = member(s.properties, name);
        if (declared !== undefined) return this.allows(declared, inner, depth + 1);
        return s.patternProperties !== undefined || this.allows(s.additionalProperties, inner, depth + 1);
      });
  }
}

const nothing = { value: null, text: "null" };

// either is a member that different conditions name.
function either(a, b) {
  const all = [a, b].flatMap((inner) => inner === undefined ? [] : inner[conditional] ?? [inner]);
  const branches = all.filter((one, i) => all.findIndex((other) => same(one, other)) === i);
  return { [conditional]: branches, anyOf: branches };
}

// both is a member that two schemas for the same value name. A declaration takes precedence over conditions.
function both(a, b) {
  if (a?.[conditional] && b?.[conditional]) return either(a, b);
  return a?.[conditional] ? b : b?.[conditional] ? a : { allOf: [a, b] };
}

function membersOf(value) {
  return isObject(value) ? Object.values(value) : [];
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

// merge returns a schema that requires both; a keyword that can appear only once is taken from the first.
function merge(a, b) {
  const all = { ...b, ...Object.fromEntries(Object.entries(a).filter(([, value]) => value !== undefined)) };
  if (isObject(a.properties) && isObject(b.properties)) {
    all.properties = { ...b.properties };
    for (const [name, inner] of Object.entries(a.properties)) {
      put(all.properties, name, Object.hasOwn(b.properties, name) ? both(inner, b.properties[name]) : inner);
    }
  }
  all.required = [...list(a.required), ...list(b.required)];
  if (a.type !== undefined && b.type !== undefined) {
    const types = [a.type].flat();
    all.type = [b.type].flat().filter((type) => types.includes(type) || type === "integer" && types.includes("number"));
  }
  if (Array.isArray(a.enum) && Array.isArray(b.enum)) {
    all.enum = a.enum.filter((value) => b.enum.some((other) => same(value, other)));
    all.enumNames = undefined;
  }
  all[groups] = [...a[groups] ?? [], ...b[groups] ?? []];
  for (const mark of [opaque, never]) if (a[mark] || b[mark]) all[mark] = true;
  return all;
}

function onlyNull(s) {
  return s.type === "null" || Object.hasOwn(s, "const") && s.const === null
    || Array.isArray(s.enum) && s.enum.length === 1 && s.enum[0] === null;
}

// shapeOf returns the type of a flat schema; without a type, its keywords may imply one.
function shapeOf(s) {
  if (s.type !== undefined) return s.type;
  const has = (...names) => names.some((name) => s[name] !== undefined);
  if (has("properties", "additionalProperties", "patternProperties")) return "object";
  if (has("items", "prefixItems", "minItems", "maxItems")) return "array";
  if (has("minLength", "maxLength", "pattern", "format", "contentMediaType")) return "string";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return has("enum", "const") ? "enum" : undefined;
}

function typesOf(s) {
  const shape = shapeOf(s);
  if (shape === "enum") return { types: [], allowsNull: true };
  if (shape === undefined && list(s.required).length > 0) return { types: ["object"], allowsNull: false };
  if (shape === undefined) return { types: ["string", "number", "boolean", "any"], allowsNull: true };
  const types = [...new Set([shape].flat().map((type) => type === "integer" ? "number" : type))];
  return { types: types.filter((type) => type !== "null"), allowsNull: types.includes("null") };
}

function isType(type, value) {
  switch (type) {
    case "null": return value === null;
    case "object": return isObject(value);
    case "array": return Array.isArray(value);
    case "integer": case "number": return typeof value === "number" || value instanceof Exact;
  }
  return typeof value === type;
}

// choicesOf returns the values that a flat schema lists, if any. Values that look the same are written as JSON.
function choicesOf(s) {
  const values = Array.isArray(s.enum) ? s.enum : Object.hasOwn(s, "const") ? [s.const] : null;
  if (!values) return null;
  const texts = values.map((value) => typeof value === "string" ? value : stringify(value));
  const twice = new Set(texts.filter((text, i) => texts.indexOf(text) !== i));
  const names = Array.isArray(s.enum) ? list(s.enumNames) : [s.title];
  return values.map((value, i) => ({ value, label: typeof names[i] === "string" ? names[i] : undefined,
    text: twice.has(texts[i]) ? stringify(value) : texts[i] }));
}

// schemaOf returns a schema for a sample value, for arguments without a schema.
export function schemaOf(value) {
  if (typeof value === "string") return { type: "string" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number" || value instanceof Exact) return { type: "number" };
  if (Array.isArray(value)) {
    const [first] = value;
    const alike = value.length > 0 && value.every((v) => schemaOf(v).type === schemaOf(first).type);
    return alike && !isObject(first) && !Array.isArray(first) && first !== null
      ? { type: "array", items: schemaOf(first) } : { [opaque]: true };
  }
  if (!isObject(value)) return { [opaque]: true };
  const properties = {};
  for (const [name, inner] of Object.entries(value)) put(properties, name, schemaOf(inner));
  return Object.keys(properties).length ? { type: "object", properties, required: Object.keys(properties) }
    : { [opaque]: true };
}
