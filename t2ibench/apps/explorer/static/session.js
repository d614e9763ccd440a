// Every change is kept with the run a moment later.
import { S, ask, changed, imagesOf, json, save, say } from "./store.js";
import { byId } from "./dom.js";

const WAIT = 600;
let waiting = null, sent = Promise.resolve(), turn = 0;

const snapshot = () => ({ version: 1, state: S.state, undo: S.undo, redo: S.redo });
const clock = () => new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const note = (text) => { byId("saved").textContent = text; };

export async function load() {
  const { state, undo, redo, saved } = await json("/api/session");
  Object.assign(S, { state, undo, redo });
  changed("state");
  note(saved ? "Saved" : "");
}

export function autosave() {
  note("Saving…");
  clearTimeout(waiting);
  waiting = setTimeout(() => keep(), WAIT);
}

export async function keep(loud = false) {
  clearTimeout(waiting);
  waiting = null;
  const mine = ++turn;
  try {
    await sent.catch(() => {}); // one after the other: the last one is the one that stays
    if (mine !== turn) return;
    sent = json("/api/session", snapshot());
    const { file } = await sent;
    if (mine !== turn) return;
    note(`Saved ${clock()}`);
    if (loud) say(`Saved: ${file}`);
  } catch (error) {
    note("Not saved");
    say(`Not saved with the run: ${error.message}`);
  }
}

// The page goes before its change was saved.
addEventListener("pagehide", () => {
  if (waiting === null) return;
  const headers = { "Content-Type": "application/json" };
  fetch("/api/session", { method: "POST", keepalive: true, headers, body: JSON.stringify(snapshot()) });
});

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
