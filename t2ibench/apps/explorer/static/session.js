// Nothing is lost: every change is kept in the browser at once and with the run a moment later.
import { S, ask, changed, imagesOf, json, save, say } from "./store.js";
import { byId } from "./dom.js";

const WAIT = 600;
let waiting, sent = Promise.resolve(), turn = 0, key = "session";

const snapshot = () => ({ version: 1, state: S.state, undo: S.undo, redo: S.redo });
const clock = () => new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const note = (text) => { byId("saved").textContent = text; };

function local(value) {
  try {
    if (value === undefined) return JSON.parse(localStorage.getItem(key) ?? "null");
    if (value === null) localStorage.removeItem(key); else localStorage.setItem(key, JSON.stringify(value));
  } catch { /* a full or forbidden store: the run's own file is still there */ }
  return null;
}

// The session of a run, or what this browser has kept and the server does not know yet.
export async function load() {
  key = `session ${S.sources.map((source) => source.name).join("|")} ${S.encoder}`;
  const saved = await json("/api/session");
  const unsent = local();
  const kept = unsent?.state?.anchors?.length && unsent.state.tree?.nodes?.length ? unsent : null;
  restore(kept ?? saved);
  if (kept) { note("Brought back from this browser"); autosave(); } else note(saved.saved ? "Saved" : "");
}

function restore(session) {
  Object.assign(S, { state: session.state, undo: session.undo ?? [], redo: session.redo ?? [] });
  changed("state");
}

export function autosave() {
  local(snapshot());
  note("Saving…");
  clearTimeout(waiting);
  waiting = setTimeout(() => keep(), WAIT);
}

export async function keep(loud = false) {
  clearTimeout(waiting);
  const mine = ++turn;
  try {
    await sent.catch(() => {}); // one after the other: the last one is the one that stays
    if (mine !== turn) return;
    sent = json("/api/session", snapshot());
    const { file } = await sent;
    if (mine !== turn) return;
    local(null);
    note(`Saved ${clock()}`);
    if (loud) say(`Saved: ${file}`);
  } catch (error) {
    note("Kept in this browser only");
    if (loud) say(`Not saved with the run: ${error.message}`);
  }
}

async function exportTask() {
  try {
    const anchors = S.state.anchors.map(({ name, prompt }) => ({ name, prompt }));
    const pairs = S.state.chosen.length === 2 ? [S.state.chosen] : [];
    const most = Math.max(1, ...anchors.map((_, index) => imagesOf(index, 0).length));
    const body = { tree: S.state.tree, anchors, pairs, images_per_prompt: most };
    save("explored.yaml", new Blob([await (await ask("/api/export", body)).text()], { type: "application/yaml" }));
  } catch (error) { say(`No task: ${error.message}`); }
}

byId("save").onclick = () => keep(true);
byId("task").onclick = exportTask;
addEventListener("pagehide", () => { if (byId("saved").textContent === "Saving…") keep(); });
