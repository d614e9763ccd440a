// Loads the data, ties the views together, and talks to the server.
import { PALETTE, S, anchorOf, ask, changed, commit, onChange, save, say, similarity, step } from "./store.js";
import * as tree from "./tree.js";
import * as grid from "./grid.js";
import { Plot, scatter, strips } from "./plots.js";

const $ = (id) => document.getElementById(id);
const GREY = "#8a9299";
const plots = {
  strip: new Plot("strip", "strip plot"),
  intersection: new Plot("intersection", "intersectional scatter"),
  inverse: new Plot("inverse", "inverse scatter"),
};
let turn = 0;

async function loadImages() {
  const data = await (await ask("/api/images")).json();
  Object.assign(S, data);
  S.similarities.clear();
  $("where").textContent = `${data.sources.map((source) => source.name).join(" | ")} · ${data.encoder}`;
  const counts = new Map();
  for (const [prompt] of S.images) counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500);
  $("prompts").replaceChildren(...common.map(([prompt, count]) => new Option(`${count} images`, S.prompts[prompt])));
}

async function evaluate() {
  const mine = ++turn;
  const reply = await ask("/api/evaluate", { tree: S.state.tree, anchors: S.state.anchors.map((anchor) => anchor.prompt), names: S.state.anchors.map((anchor) => anchor.name) });
  const { nodes } = await reply.json();
  if (mine !== turn) return; // a later question is under way
  S.nodes = new Map(nodes.map((node) => [node.id, node]));
  tree.render();
  await views(mine);
}

const textOf = (id) => S.nodes.get(id)?.text ?? "";

async function chosenText() {
  const chosen = S.state.chosen;
  if (chosen.length < 2) return textOf(chosen[0]);
  return (await (await ask("/api/text", { tree: S.state.tree, nodes: chosen })).json()).text;
}

async function views(mine = turn) {
  const chosen = S.state.chosen.filter((id) => S.nodes.has(id));
  if (!chosen.length) {
    $("concept").textContent = "none chosen";
    $("numbers").textContent = "Choose a node of the tree, or add a concept.";
    Object.values(plots).forEach((plot) => plot.hide());
    return;
  }
  const text = await chosenText();
  const [values, anchors, pair] = await Promise.all([
    similarity(text),
    Promise.all(S.state.anchors.map((anchor) => similarity(anchor.prompt))),
    chosen.length === 2 ? Promise.all(chosen.map((id) => similarity(textOf(id)))) : null,
  ]);
  if (mine !== turn) return;
  $("concept").textContent = text;
  numbers(chosen);
  const shown = S.images.map((_, number) => number).filter((number) => anchorOf(number) >= 0);
  plots.strip.title.textContent = `How much of “${text}” the anchors' images show`;
  if (shown.length) plots.strip.show(strips(values, text)); else plots.strip.hide();
  if (pair) {
    const names = chosen.map(textOf);
    plots.intersection.title.textContent = `“${names[0]}” and “${names[1]}” together`;
    plots.intersection.show(scatter(shown.map((number) => ({ number, x: pair[0][number], y: pair[1][number], colour: colourOf(number) })), names));
  } else plots.intersection.hide();
  inverse(text, values, anchors, shown);
}

const colourOf = (number) => S.state.anchors[anchorOf(number)]?.colour ?? GREY;

function inverse(text, values, anchors, shown) {
  if (anchors.length < 2) { plots.inverse.hide(); return; }
  const [first, second] = anchors;
  const [a, b] = S.state.anchors;
  const generated = S.images.map((_, number) => number).filter((number) => S.prompts[S.images[number][0]] === text && anchorOf(number) < 0);
  const points = [...shown, ...generated].map((number) => ({ number, x: second[number] - first[number], y: values[number], colour: colourOf(number) }));
  plots.inverse.title.textContent = generated.length
    ? `${generated.length} images generated for “${text}” (grey) between the anchors`
    : `Between the anchors; no image of “${text}” has been generated yet`;
  plots.inverse.show(scatter(points, [`← ${a.name} · ${b.name} →`, `similarity to “${text}”`], { zero: true }));
  generateButtons(text);
}

function generateButtons(text) {
  const caption = plots.inverse.figure.querySelector("figcaption");
  caption.querySelectorAll(".draw").forEach((button) => button.remove());
  S.sources.forEach((source, number) => {
    if (!source.draws || !text) return;
    const button = document.createElement("button");
    button.className = "draw";
    button.textContent = S.sources.length > 1 ? `Draw 5 (${source.name})` : "Draw 5 images";
    button.onclick = () => draw(number, text);
    caption.append(button);
  });
}

function numbers(chosen) {
  const lines = chosen.slice(0, 2).map((id) => {
    const known = S.nodes.get(id);
    return (known?.scores ?? []).map((score, at) => {
      if (!score) return `${S.sources[at].name}: fewer than two anchors have images here.`;
      const chances = Object.entries(score.probabilities).map(([index, value]) => `P(${S.state.anchors[index].name}) ${value.toFixed(3)}`);
      const name = S.sources.length > 1 ? `${S.sources[at].name}: ` : "";
      const spread = `D [${score.d_low.toFixed(2)}, ${score.d_high.toFixed(2)}], z ${score.z.toFixed(1)}`;
      const warning = score.contradiction ? "Word and pictures disagree. " : "";
      const drawn = tree.drawnOf(score);
      return [
        `${name}${tree.shown(score)}`,
        `${warning}${score.says[0].toUpperCase()}${score.says.slice(1)}.`,
        `${tree.effectOf(score)} · ${spread} · ${chances.join(", ")} · ${score.n.join(" and ")} images`,
        ...(drawn ? [drawn] : []),
      ].join("\n");
    }).join("\n");
  });
  $("numbers").textContent = lines.join("\n");
  $("numbers").style.whiteSpace = "pre-line";
}

async function draw(source, text) {
  try {
    const node = S.state.chosen.length === 1 ? S.state.chosen[0] : null;
    await ask("/api/draw", { source, text, count: 5 });
    if (node) commit((state) => { if (!state.inverse.includes(node)) state.inverse.push(node); });
    say(`Drawing 5 images of “${text}”…`);
    watch();
  } catch (error) { say(error.message); }
}

let watching = false;
async function watch() {
  if (watching) return;
  watching = true;
  for (;;) {
    await new Promise((done) => setTimeout(done, 400));
    const { jobs, images } = await (await ask("/api/jobs")).json();
    if (images !== S.images.length) { await loadImages(); grid.relist(); await evaluate(); }
    const busy = jobs.find((job) => job.state === "running" || job.state === "waiting");
    if (busy) { say(`Drawing “${busy.text}”: ${busy.done} of ${busy.total}`); continue; }
    const last = jobs.at(-1);
    say(last.state === "failed" ? `Generation failed: ${last.reason}` : `Generated: ${last.done} images of “${last.text}”${last.reason ? ` (${last.reason})` : ""}`);
    break;
  }
  watching = false;
}

function anchorList() {
  const items = S.state.anchors.map((anchor, index) => {
    const item = document.createElement("li");
    const colour = document.createElement("select");
    colour.setAttribute("aria-label", `Colour of ${anchor.name}`);
    colour.append(...PALETTE.map((name) => new Option(name, name)));
    colour.value = anchor.colour;
    colour.style.setProperty("--tint", anchor.colour);
    colour.onchange = () => commit((state) => { state.anchors[index].colour = colour.value; });
    const name = document.createElement("span");
    name.className = "name";
    const count = S.images.filter((_, number) => anchorOf(number) === index).length;
    name.textContent = `${anchor.name} (${count} images)`;
    name.title = anchor.prompt;
    const off = document.createElement("button");
    off.textContent = "✕";
    off.setAttribute("aria-label", `Remove the anchor ${anchor.name}`);
    off.onclick = () => commit((state) => { state.anchors.splice(index, 1); });
    item.append(colour, name, off);
    return item;
  });
  $("anchors").replaceChildren(...items);
}

const snapshot = () => ({ version: 1, state: S.state, undo: S.undo, redo: S.redo });

async function keep() {
  try {
    const { file } = await (await ask("/api/session", snapshot())).json();
    say(`Saved: ${file}`);
  } catch (error) { say(`Not saved: ${error.message}`); }
}

function restore(session) {
  Object.assign(S, { state: session.state, undo: session.undo ?? [], redo: session.redo ?? [] });
  changed("state");
}

async function exportTask() {
  try {
    const anchors = S.state.anchors.map(({ name, prompt }) => ({ name, prompt }));
    const pairs = S.state.chosen.length === 2 ? [S.state.chosen] : [];
    const most = Math.max(1, ...S.state.anchors.map((_, index) => S.images.filter((image, number) => anchorOf(number) === index && image[2] === 0).length));
    const body = { tree: S.state.tree, anchors, inverse: S.state.inverse, pairs, name: "explored", images_per_prompt: most };
    save("explored.yaml", new Blob([await (await ask("/api/export", body)).text()], { type: "application/yaml" }));
  } catch (error) { say(`No task: ${error.message}`); }
}

onChange((what) => {
  if (what === "state") {
    $("undo").disabled = !S.undo.length;
    $("redo").disabled = !S.redo.length;
    anchorList();
    tree.render();
    grid.layout();
    evaluate().catch((error) => say(error.message));
  } else if (what === "brush") {
    $("clear").disabled = !S.brushed;
    grid.relist();
    Object.values(plots).forEach((plot) => plot.redraw());
  } else if (what === "lit") {
    grid.relight();
    Object.values(plots).forEach((plot) => plot.redraw());
  }
});

function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
  $("theme").setAttribute("aria-pressed", name === "dark");
  localStorage.setItem("theme", name);
  Object.values(plots).forEach((plot) => plot.redraw());
}

$("undo").onclick = () => step("undo", "redo") && say("Undone");
$("redo").onclick = () => step("redo", "undo") && say("Done again");
$("save").onclick = keep;
$("download").onclick = () => save("session.json", new Blob([JSON.stringify(snapshot(), null, 1)], { type: "application/json" }));
$("upload").onchange = async (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  try {
    const session = JSON.parse(await file.text());
    await ask("/api/session", session); // the server checks it, and keeps it
    restore(session);
    say("Session opened");
  } catch (error) { say(`No session: ${error.message}`); }
};
$("task").onclick = exportTask;
$("add").onclick = () => tree.add(S.state.chosen[0]);
$("clear").onclick = () => { S.brushed = null; changed("brush"); };
$("colour-by").onchange = (event) => { S.colourBy = event.target.value; tree.render(); };
$("theme").onclick = () => theme($("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark");
$("add-anchor").onsubmit = (event) => {
  event.preventDefault();
  const prompt = $("anchor-prompt").value.trim();
  if (!S.prompts.includes(prompt)) { say("No image has just this prompt; choose one of the list."); return; }
  if (S.state.anchors.some((anchor) => anchor.prompt === prompt)) { say("That is an anchor already."); return; }
  $("anchor-prompt").value = "";
  commit((state) => {
    const free = PALETTE.find((colour) => !state.anchors.some((anchor) => anchor.colour === colour)) ?? PALETTE[0];
    state.anchors.push({ name: prompt.slice(0, 200), prompt, colour: free });
  });
};
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT") return;
  const key = event.key.toLowerCase();
  const control = event.ctrlKey || event.metaKey;
  if (control && key === "z" && !event.shiftKey) $("undo").click();
  else if (control && (key === "y" || (key === "z" && event.shiftKey))) $("redo").click();
  else if (control && key === "s") keep();
  else if (event.key === "Escape" && S.brushed) $("clear").click();
  else return;
  event.preventDefault();
});

const dark = matchMedia("(prefers-color-scheme: dark)").matches;
theme(localStorage.getItem("theme") ?? (dark ? "dark" : "light"));
try {
  await loadImages();
  restore(await (await ask("/api/session")).json());
  grid.relist();
  document.body.dataset.ready = "yes";
} catch (error) { say(error.message); }
