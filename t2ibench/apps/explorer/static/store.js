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
  text: "",              // what the concept panel is about
  anchored: null,        // Int16Array: number of each image's anchor, or -1
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

export const json = async (path, body) => (await ask(path, body)).json();

let waiting;
export function say(text) {
  const line = document.getElementById("status");
  line.textContent = text;
  line.classList.add("shown");
  clearTimeout(waiting);
  waiting = setTimeout(() => line.classList.remove("shown"), 3500);
}

// Which anchor each image is of; worked out again when the anchors or the images change.
export function relabel() {
  const of = new Map(S.state.anchors.map((anchor, index) => [anchor.prompt, index]));
  const byPrompt = S.prompts.map((prompt) => of.get(prompt) ?? -1);
  S.anchored = Int16Array.from(S.images, ([prompt]) => byPrompt[prompt]);
}

export const anchorOf = (number) => S.anchored?.[number] ?? -1;
export const promptOf = (number) => S.prompts[S.images[number][0]];

// Two anchors are the ends of an axis: the first to the right, as in a task's results.
export const axial = () => S.state.anchors.length === 2;
export const sideOf = (index) => (!axial() || index < 0 ? "plain" : index === 0 ? "right" : "left");
export const anchorOrder = () => (axial() ? [1, 0] : S.state.anchors.map((_, index) => index));

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const colourOf = (index) => {
  if (index < 0) return css("--ink-3");
  return axial() ? css(`--${sideOf(index)}`) : S.state.anchors[index].colour;
};

// The colour of each image by its number: styles are looked up once, not for each of very many images.
export function imageColours() {
  const known = S.state.anchors.map((_, index) => colourOf(index)), other = colourOf(-1);
  return (number) => known[anchorOf(number)] ?? other;
}

// A pole as words with its arrow, in the colour of its side.
export function pole(index) {
  const name = S.state.anchors[index]?.name ?? "";
  const made = document.createElement("b");
  const side = sideOf(index);
  made.textContent = { left: `◂ ${name}`, right: `${name} ▸` }[side] ?? name;
  if (side === "plain") made.style.color = "";
  else made.className = `t-${side}`;
  return made;
}

export const imagesOf = (index, source = null) => {
  const found = [];
  S.anchored.forEach((anchor, number) => {
    if (anchor === index && (source === null || S.images[number][2] === source)) found.push(number);
  });
  return found;
};

// The name of an anchor with too few images of some runs to be compared; null where each has enough.
export const scarce = (runs, least = 2) => S.state.anchors.find((_, index) =>
  runs.reduce((sum, run) => sum + imagesOf(index, run).length, 0) < least)?.name ?? null;

// Words of a text, those for one gender as one word, and without a plural's s.
const GENDERS = { female: "woman", women: "woman", male: "man", men: "man" };
const stems = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => GENDERS[word] ?? word.replace(/s$/, ""));
const within = (words, text) => ` ${stems(text).join(" ")} `.includes(` ${stems(words).join(" ")} `);

// The number of the one anchor that a pole of a test is about, or -1.
function anchorFor(pole) {
  const found = S.state.anchors.flatMap(({ name, prompt }, index) => (within(pole, name) || within(pole, prompt) ? [index] : []));
  return found.length === 1 ? found[0] : -1;
}

// Whether a test's poles stand the other way round than the anchors that they name; null where no anchor names one.
export function turned(poles) {
  const [low, high] = axial() && poles ? poles.map(anchorFor) : [-1, -1];
  return low < 0 && high < 0 ? null : low === 0 || high === 1;
}

export const imagesWith = (words) => {
  const has = S.prompts.map((prompt) => within(words, prompt));
  return [...S.images.keys()].filter((number) => has[S.images[number][0]]);
};

// The prompt that a word stands for: itself, else of those that end with it the one with the most images.
export function promptFor(words) {
  if (S.prompts.includes(words)) return words;
  const counts = new Map();
  for (const number of imagesWith(words)) counts.set(promptOf(number), (counts.get(promptOf(number)) ?? 0) + 1);
  const ending = [...counts].filter(([prompt]) => ` ${stems(prompt).join(" ")}`.endsWith(` ${stems(words).join(" ")}`));
  return ending.sort(([, m], [, n]) => n - m)[0]?.[0] ?? words;
}

export async function similarity(text) {
  const known = S.similarities.get(text);
  if (known && known.length === S.images.length) return known;
  const reply = await ask("/api/similarities", { texts: [text] });
  const values = new Float32Array(await reply.arrayBuffer());
  S.similarities.set(text, values);
  if (S.similarities.size > 300) S.similarities.delete(S.similarities.keys().next().value);
  return values;
}

export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
