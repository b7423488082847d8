// The page's language: the person's choice, or else the browser's first language with a table here.

import { settings } from "./settings.js";

export const languages = ["en", "de"];

const preferred = navigator.languages.map((tag) => new Intl.Locale(tag));
const chosen = languages.includes(settings.language) ? settings.language
  : preferred.map((one) => one.language).find((one) => languages.includes(one));

export const language = chosen ?? "en";

// locale is the language with the person's region, for dates and numbers.
export const locale = preferred.find((one) => one.language === language)?.baseName ?? language;

const numbers = new Intl.NumberFormat(locale);
const rules = new Intl.PluralRules(locale);

export const count = (n) => numbers.format(n);

export function plural(n, one, many) {
  return `${count(n)} ${rules.select(n) === "one" ? one : many}`;
}
