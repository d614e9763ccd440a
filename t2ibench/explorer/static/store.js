// What the page knows, how it changes, and how it is undone.

export const PALETTE = ["#e69f00", "#0072b2", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#6a3d9a"];
const MOST_UNDO = 50;
const listeners = new Set();

export const S = {
  images: [], prompts: [], sources: [], encoder: "",
  state: null, undo: [], redo: [],
  nodes: new Map(),      // id -> {text, scores}
  similarities: new Map(), // text -> Float32Array
  brushed: null,         // Set of image numbers, or null
  lit: null,             // prompt that is hovered
  colourBy: "d",
};

export const onChange = (listener) => listeners.add(listener);
export const changed = (what = "all") => listeners.forEach((listener) => listener(what));
const copy = (value) => JSON.parse(JSON.stringify(value));

export function commit(change) {
  const before = copy(S.state);
  change(S.state);
  if (JSON.stringify(before) === JSON.stringify(S.state)) return;
  S.undo.push(before);
  S.undo.splice(0, S.undo.length - MOST_UNDO);
  S.redo = [];
  changed("state");
}

export function step(from, to) {
  if (!S[from].length) return false;
  S[to].push(copy(S.state));
  S.state = S[from].pop();
  changed("state");
  return true;
}

export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const reply = await fetch(path, options);
  if (!reply.ok) {
    const text = await reply.text();
    let message = text;
    try { message = JSON.parse(text).error || text; } catch { /* plain text */ }
    throw new Error(message);
  }
  return reply;
}

let waiting;
export function say(text) {
  const line = document.getElementById("status");
  line.textContent = text;
  line.classList.add("shown");
  clearTimeout(waiting);
  waiting = setTimeout(() => line.classList.remove("shown"), 3500);
}

export const anchorOf = (image) => {
  const prompt = S.prompts[S.images[image][0]];
  return S.state.anchors.findIndex((anchor) => anchor.prompt === prompt);
};

export async function similarity(text) {
  const known = S.similarities.get(text);
  if (known && known.length === S.images.length) return known;
  const reply = await ask("/api/similarities", { texts: [text] });
  const values = new Float32Array(await reply.arrayBuffer());
  S.similarities.set(text, values);
  return values;
}

export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
