// The files and pictures of a question: images and texts in place, the others as downloads.

import { T } from "./texts.js";
import { questionPath } from "./api.js";
import { h, set, shown } from "./dom.js";

const images = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const texts = new Set(["text/plain", "text/markdown", "text/csv", "application/json"]);
const longest = 64 * 1024; // bytes of a text that are shown in place

// filesView shows the files of a question; null without any.
export function filesView(run, question) {
  if (!question.files?.length) return null;
  return h("section", { class: "files", "aria-label": T.files }, h("p", { class: "label" }, T.files),
    h("ul", null, question.files.map((file, i) => h("li", null,
      fileView(file, `${questionPath(run, question.id)}/files/${i}`, question.files_host)))));
}

function fileView(file, address, host) {
  const link = h("a", { href: address, download: file.name, dir: "auto" }, shown(file.name));
  const place = h("div", { class: "preview" });
  const failed = () => set(place, h("p", { class: "notice warn", role: "status" },
    T.fileUnavailable(shown(file.name).textContent, shown(host || "?").textContent)));
  if (images.has(file.media_type)) {
    set(place, h("img", { src: address, alt: file.name, loading: "lazy", onerror: failed }));
  } else if (texts.has(file.media_type)) {
    fetch(address, { headers: { Range: `bytes=0-${longest - 1}` } }).then(async (response) => {
      const empty = response.status === 416;
      if (!response.ok && !empty) return failed();
      const text = empty ? "" : new TextDecoder().decode(await response.arrayBuffer());
      set(place, h("pre", { tabindex: "0", "aria-label": file.name }, shown(text)),
        file.size > longest ? h("p", { class: "muted" }, T.fileBeginning) : null);
      return null;
    }).catch(failed);
  }
  return [h("p", null, link, " ", h("span", { class: "muted" }, shown(file.media_type), ", ", T.bytes(file.size))), place];
}
