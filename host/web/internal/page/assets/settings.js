// The person's choices for this page, kept in this browser.

const name = `interlude-settings ${location.pathname}`;
const choices = { keys: true, undo: 5, theme: "auto", language: "auto", notify: false, sideBySide: false, views: {} };
const watchers = new Set();

export const longestUndo = 60; // seconds

function read() {
  try {
    return { ...choices, ...JSON.parse(localStorage.getItem(name)) };
  } catch { // no storage, or not from this page
    return { ...choices };
  }
}

export const settings = read();

// undoTime returns how long a reply can be taken back, in milliseconds.
export function undoTime() {
  const seconds = Number(settings.undo);
  return 1000 * (seconds >= 0 ? Math.min(seconds, longestUndo) : choices.undo);
}

// change stores choices, and calls those who watch.
export function change(some) {
  Object.assign(settings, some);
  try {
    localStorage.setItem(name, JSON.stringify(settings));
  } catch { // without storage, they last as long as the page
  }
  for (const call of watchers) call();
}

// onChange calls now and after each change, also in other windows of this browser.
export function onChange(call) {
  watchers.add(call);
  call();
}

addEventListener("storage", (e) => {
  if (e.key !== name) return;
  Object.assign(settings, read());
  for (const call of watchers) call();
});
