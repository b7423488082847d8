// fill fills in the form that is shown, and returns what was not possible.
const fill = async (text) => {
  const { Exact, escape, isObject, parse, stringify } = await import("./exact.js");
  const shown = (node) => node.innerText.trim();
  const own = (box, selector) => [...box.querySelectorAll(`:scope > ${selector}`)];
  const pick = (box, names) => {
    const labels = [...own(box, ".picks > label"), ...own(box, ".specials > label")];
    for (const name of names) {
      const label = labels.find((l) => shown(l) === name || shown(l).endsWith(" " + name));
      if (label) return label.click();
    }
    throw new Error(`${box.dataset.pointer}: ${names} is not among ${labels.map(shown)}`);
  };
  const type = (control, words) => {
    control.focus();
    if (control.type === "date") {
      control.value = words;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      return;
    }
    control.select();
    document.execCommand("insertText", false, words);
  };
  const texts = (value) => value === true ? ["true", "Yes"] : value === false ? ["false", "No"]
    : value === null ? ["null", "No value (null)"] : typeof value === "string" ? [JSON.stringify(value), value]
      : [stringify(value)];
  const shapes = (value) => value === null ? ["No value (null)"] : typeof value === "string" ? ["Text"]
    : typeof value === "boolean" ? ["Yes or no"] : Array.isArray(value) ? ["List", "JSON"]
      : isObject(value) ? ["Fill in", "Several fields", ...Object.values(value).filter((v) => typeof v === "string"), "JSON"]
        : ["Number"];
  // leave leaves out what a default has filled in.
  const leave = (box) => {
    const [control] = own(box, ":is(textarea, input, select)");
    if (box.matches(".choice")) {
      if (!box.closest(".shapes:not(:scope)")) pick(box, ["No answer"]);
    } else if (control) {
      control.select();
      document.execCommand("delete");
    }
    for (const item of own(box, ".items > .item > button").reverse()) item.click();
  };
  const part = (box, pointer) => [...box.querySelectorAll("[data-pointer]")].find((e) => e.dataset.pointer === pointer);
  const enter = (box, pointer, value) => {
    if (!box) throw new Error(`${pointer} is not there`);
    if (box.matches(".shapes")) {
      pick(box, shapes(value));
      if (value !== null) enter(box.querySelector(":scope > .inside > *"), pointer, value);
      return;
    }
    if (box.matches(".choice")) {
      pick(box, texts(value));
      return;
    }
    const [control] = own(box, ":is(textarea, input, select)");
    if (control?.matches("select")) {
      const option = texts(value).map((name) => [...control.options].find((o) => shown(o) === name)).find(Boolean);
      if (!option) throw new Error(`${pointer}: no option ${texts(value)}`);
      control.value = option.value;
      control.dispatchEvent(new Event("change", { bubbles: true }));
    } else if (control?.matches(".code")) {
      type(control, stringify(value));
    } else if (control && (value === null || value === "")) {
      if (control.disabled) return;
      if (value === null) return pick(box, ["No value (null)"]);
      const empty = own(box, ".specials > label").find((l) => shown(l) === "Send an empty text");
      if (empty?.hidden) [...document.querySelectorAll("button")].find((b) => shown(b) === "Send answer").click();
      if (empty?.hidden) throw new Error(`${pointer}: an empty text is not offered`);
      pick(box, ["Send an empty text"]);
    } else if (control) {
      for (const box of own(control.parentNode, ".specials > label")) if (box.querySelector(":checked")) box.click();
      if (typeof value !== "string" || control.value !== value) type(control, stringify(value).startsWith('"') ? value : stringify(value));
    } else if (Array.isArray(value)) {
      value.forEach((item, i) => {
        if (!part(box, `${pointer}/${i}`)) own(box, "button").find((b) => shown(b) === "Add one").click();
        enter(part(box, `${pointer}/${i}`), `${pointer}/${i}`, item);
      });
      const empty = own(box, ".specials > label").find((l) => shown(l) === "Send an empty list");
      if (value.length === 0 && empty) empty.click();
    } else if (value === null) {
      pick(box, ["No value (null)"]);
    } else {
      for (const member of box.querySelectorAll("[data-pointer]")) {
        const { pointer: at } = member.dataset;
        const known = Object.keys(value).some((name) => at.startsWith(`${pointer}/${escape(name)}`));
        if (at.startsWith(pointer + "/") && !known && member.isConnected) leave(member);
      }
      for (const [name, inner] of Object.entries(value)) {
        const at = `${pointer}/${escape(name)}`;
        if (!part(box, at)) {
          type(own(box, ".adder")[0].querySelector("input"), name);
          own(box, ".adder")[0].querySelector("button").click();
        }
        enter(part(box, at), at, inner);
      }
    }
  };
  const begun = document.querySelector(".form .fields, .form [data-pointer]");
  try {
    enter(begun, "", parse(text));
  } catch (e) {
    return String(e) + "\n" + document.querySelector(".form").outerHTML.slice(0, 3000);
  }
  return "";
}
