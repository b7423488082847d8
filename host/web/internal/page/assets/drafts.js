// What a person has begun to write, kept in this browser until it was sent: a reload, a crash, or a question that
// has changed meanwhile loses none of it. A draft belongs to a person, a question and the question's digest.

const kept = 30 * 24 * 3600 * 1000;
let prefix = "";

// openDrafts names whose drafts they are, and forgets old ones.
export function openDrafts(person) {
  prefix = `interlude ${location.pathname} ${person} `;
  try {
    for (const name of Object.keys(localStorage)) {
      if (name.startsWith("interlude ") && !(read(name)?.at > Date.now() - kept)) localStorage.removeItem(name);
    }
  } catch { // no storage: drafts live as long as the page
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
  } catch { // full, or forbidden
  }
}

export function dropDraft(run, question) {
  try {
    localStorage.removeItem(nameOf(run, question));
  } catch { // as above
  }
}
