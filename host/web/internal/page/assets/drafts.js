// Unsent answers, stored in this browser until they are sent, so that a reload, a crash or a changed question loses
// nothing. A draft belongs to a person, a question and the question's digest.

const kept = 30 * 24 * 3600 * 1000;
let prefix = "";

// openDrafts selects the person's drafts, and deletes old ones.
export function openDrafts(person) {
  prefix = `interlude ${location.pathname} ${person} `;
  try {
    for (const name of Object.keys(localStorage)) {
      if (name.startsWith("interlude ") && !(read(name)?.at > Date.now() - kept)) localStorage.removeItem(name);
    }
  } catch { // without storage, drafts last as long as the page
  }
}

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

function nameOf(run, question) {
  return `${prefix}${run}/${question.id} ${question.digest}`;
}

export function readDraft(run, question) {
  return read(nameOf(run, question));
}

export function keepDraft(run, question, draft) {
  try {
    localStorage.setItem(nameOf(run, question), JSON.stringify({ ...draft, at: Date.now() }));
  } catch { // storage is full or forbidden
  }
}

export function dropDraft(run, question) {
  try {
    localStorage.removeItem(nameOf(run, question));
  } catch { // as above
  }
}

// unsent returns the person's replies whose outcome was not known when their page was closed.
export function unsent() {
  const all = [];
  try {
    for (const name of Object.keys(localStorage)) {
      const sent = name.startsWith(prefix) ? read(name)?.sent : null;
      const [, run, id, digest] = /^([^\s/]+)\/(\d+) (\S*)$/.exec(name.slice(prefix.length)) ?? [];
      if (sent && run) all.push({ run, question: { id: Number(id), digest }, sent });
    }
  } catch { // as above
  }
  return all;
}
