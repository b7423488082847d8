// Shows untrusted text character by character. Package interaction has the same rules in Go; proof/page compares the
// two.

import { emoji, hidden, joinsNext, joinsPrevious, singleSpace, virama, vowel } from "./characters.js";

const longSpace = 16; // from this length on, blanks are counted: they would push the rest out of view
const longIndent = 64; // at the beginning of a line
const longBreak = 8; // line feeds
const columnsOfTab = 4;

// pieces splits a text into visible text and names of hidden characters. In prose, characters that belong to a language
// or an emoji are kept.
export function pieces(text, prose = false) {
  text = String(text);
  if (!hidden.test(text) && !/[ \t\n]{4}/.test(text) && text.split("\n").length <= longBreak) {
    return text ? [{ text }] : [];
  }
  if (prose) text = text.replaceAll("\r\n", "\n");
  const all = [...text];
  const parts = [];
  let plain = "";
  const named = (name) => {
    if (plain) parts.push({ text: plain });
    plain = "";
    parts.push({ text: name, named: true });
  };
  for (let i = 0; i < all.length; i++) {
    const c = all[i];
    if (c === " " || c === "\t" || c === "\n") {
      const [n, long] = space(all, i);
      if (long) named(`[${n} white-space characters]`);
      else plain += all.slice(i, i + n).join("");
      i += n - 1;
    } else if (!hidden.test(c) || prose && belongs(all, i)) {
      plain += c;
    } else {
      let n = 1;
      while (all[i + n] === c) n++;
      const name = "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      if (n >= longSpace) {
        named(`[${n} × ${name}]`);
        i += n - 1;
      } else named(name);
    }
  }
  if (plain) parts.push({ text: plain });
  return parts;
}

// visible returns pieces as one text, for attributes and the options of a list.
export function visible(text, prose = false) {
  return pieces(text, prose).map((piece) => piece.named && !piece.text.startsWith("[")
    ? `\\u{${piece.text.slice(2)}}` : piece.text).join("");
}

// nameOf is the name of a person, if the directory has one, and the id, in a sentence.
export function nameOf({ actor, name }) {
  return name && actor ? `${name} (${actor})` : actor;
}

export function hidesSomething(text) {
  return pieces(text).some((piece) => piece.named);
}

// escaped is a JSON text for editing: the same value, with hidden characters written by their codes.
export function escaped(json) {
  return json.replace(new RegExp(hidden, "gu"), (c) =>
    [...Array(c.length).keys()].map((i) => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join(""));
}

// space returns the length of the white space at i, and whether it is counted.
function space(all, i) {
  let n = 0, long = false, columns = 0, breaks = 0, most = i === 0 ? longIndent : longSpace - 1;
  for (; i + n < all.length; n++) {
    switch (all[i + n]) {
      case " ": columns++; break;
      case "\t": columns += columnsOfTab; break;
      case "\n": breaks++; columns = 0; most = longIndent; break;
      default: return [n, long];
    }
    long ||= columns > most || breaks >= longBreak;
  }
  return [n, long];
}

// belongs reports whether the hidden character at i belongs to the surrounding prose.
function belongs(all, i) {
  const is = (at, kind) => at >= 0 && at < all.length && kind.test(all[at]);
  const seen = (at) => at >= 0 && at < all.length && !/[ \t\n]/.test(all[at]) && !hidden.test(all[at]);
  switch (all[i]) {
    case "\ufe0f": return is(i - 1, emoji) || is(i - 1, /[0-9#*]/) && all[i + 1] === "\u20e3";
    case "\u200d": {
      const before = all[i - 1] === "\ufe0f" ? i - 2 : i - 1;
      if (is(before, emoji) && is(i + 1, emoji)) return true;
      return is(i - 1, virama) || is(i + 1, virama) && is(i - 1, /[\u09b0\u0cb0]/);
    }
    case "\u200c": {
      if (is(i - 1, virama)) return seen(i + 1);
      let before = i - 1, after = i + 1;
      while (is(before, vowel)) before--;
      while (is(after, vowel)) after++;
      return is(before, joinsNext) && is(after, joinsPrevious);
    }
  }
  return is(i, singleSpace) && seen(i - 1) && seen(i + 1);
}
