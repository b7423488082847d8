// JSON with numbers as written. JSON.parse rounds 9007199254740993 and shortens 1.10, so a person would approve or send
// a different amount.

import { T } from "./texts.js";

// Exact is a number that JavaScript would write differently, or a value whose text is kept.
export class Exact {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

const literal = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const blank = /[ \t\r\n]*/y;
const inexact = /(?:^|[\s:,[])(?:-0|-?[0-9]{16}|-?[0-9]+[.eE])/;
const numbered = /"(?:[0-9]|\\u003[0-9])[^"]*"\s*:/; // JavaScript moves the members 1 and 2 before all others
const order = Symbol("order"); // an object with such members: their names in the written order

// number returns a plain number if JavaScript writes it the same way, else an Exact.
export function number(text) {
  literal.lastIndex = 0;
  const match = literal.exec(text);
  if (!match || match[0].length !== text.length) return undefined;
  return String(Number(text)) === text ? Number(text) : new Exact(text);
}

// parse is JSON.parse with exact numbers.
export function parse(text) {
  if (!inexact.test(text) && !numbered.test(text)) return JSON.parse(text);
  JSON.parse(text); // for its error messages
  return new Parser(text).value();
}

// parseOnce is parse for typed text: it refuses duplicate members, because readers disagree on which one counts.
export function parseOnce(text) {
  JSON.parse(text);
  return new Parser(text, true).value();
}

// compact removes the white space between the parts of well-formed JSON, and changes nothing else.
export function compact(text) {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
}

// Parser reads well-formed JSON.
class Parser {
  constructor(text, once = false) {
    this.text = text;
    this.once = once;
    this.at = 0;
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text);
    this.at += found.length;
    return found;
  }

  // next skips white space and returns the next character.
  next() {
    this.match(blank);
    return this.text[this.at];
  }

  value() {
    switch (this.next()) {
      case "{": return this.object();
      case "[": return this.array();
      case "\"": return JSON.parse(this.match(string));
      case "t": this.at += 4; return true;
      case "f": this.at += 5; return false;
      case "n": this.at += 4; return null;
      default: return number(this.match(literal));
    }
  }

  object() {
    const members = {};
    const names = [];
    this.at++;
    while (this.next() !== "}") {
      if (this.text[this.at] === ",") this.at++;
      this.next();
      const name = JSON.parse(this.match(string));
      this.next();
      this.at++; // the colon
      if (this.once && Object.hasOwn(members, name)) throw new SyntaxError(T.twice(name));
      names.push(name);
      put(members, name, this.value());
    }
    this.at++;
    if (names.some((name) => /^[0-9]/.test(name))) Object.defineProperty(members, order, { value: new Set(names) });
    return members;
  }

  array() {
    const items = [];
    this.at++;
    while (this.next() !== "]") {
      if (this.text[this.at] === ",") this.at++;
      items.push(this.value());
    }
    this.at++;
    return items;
  }
}

// put sets a member of any name: assigning to __proto__ would not create one.
export function put(members, name, value) {
  Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

// entries returns the members of an object like Object.entries, in the written order.
export function entries(value) {
  if (!value[order]) return Object.entries(value);
  const names = [...value[order]].filter((name) => Object.hasOwn(value, name));
  const added = Object.keys(value).filter((name) => !value[order].has(name));
  return [...names, ...added].map((name) => [name, value[name]]);
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}

// stringify is JSON.stringify for the results of parse.
export function stringify(value, indent = "", before = "\n") {
  if (value instanceof Exact) return value.text;
  if (!Array.isArray(value) && !isObject(value)) return JSON.stringify(value);
  const inner = before + indent;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const parts = Array.isArray(value) ? value.map((item) => stringify(item, indent, inner))
    : entries(value).filter(([, member]) => member !== undefined)
      .map(([name, member]) => JSON.stringify(name) + (indent ? ": " : ":") + stringify(member, indent, inner));
  if (parts.length === 0) return open + close;
  return indent ? open + inner + parts.join("," + inner) + before + close : open + parts.join(",") + close;
}

// same reports whether two values are written the same, except for the order of members.
export function same(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && same(a[n], b[n]));
  }
  return a === undefined || b === undefined ? a === b : stringify(a) === stringify(b);
}

// differences lists the places where two values differ: the pointer, the old and the new value.
export function differences(before, after, pointer = "") {
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => differences(member(before, name), member(after, name),
      pointer + "/" + escape(name)));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const all = before.length > after.length ? before : after;
    return all.flatMap((_, i) => differences(before[i], after[i], `${pointer}/${i}`));
  }
  return same(before, after) ? [] : [{ pointer, before, after }];
}

export function member(value, name) {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

// escape escapes a name for a JSON pointer.
export function escape(name) {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
