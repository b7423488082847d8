// The texts of the page in the person's language.

import { english } from "./english.js";
import { german } from "./german.js";
import { language } from "./language.js";

export const T = { en: english, de: german }[language];

document.documentElement.lang = language;
