// Every image of a run, the run's tests, and the way from each number to its images.
import { json, say } from "./store.js";
import { byId, el, many } from "./dom.js";
import * as link from "./link.js";
import { Facets } from "./facets.js";
import * as large from "./large.js";
import { Tiles } from "./tiles.js";
import * as tests from "./wall-tests.js";
import { follow } from "./waiting.js";
import { W, arrange, caption } from "./wall-data.js";

let turn = 0;

const tiles = new Tiles(byId("grid"), { fill, open, foot: 34 });
tiles.side = 112;
const facets = new Facets(byId("facets"), { changed: () => list() });

function fill(tile, number) {
  const [prompt, index, status] = W.images[number];
  const { text, marked } = caption(number);
  let foot = tile.querySelector("span");
  if (!foot) { foot = el("span", { class: "foot" }); tile.append(foot); }
  const name = W.statuses[status];
  foot.replaceChildren(el("b", { text: text || (name === "ok" ? "" : name) }), el("small", { text: W.prompts[prompt] }));
  tile.classList.toggle("odd", marked);
  tile.classList.toggle("none", !W.hasFile(number));
  tile.setAttribute("aria-label", [W.prompts[prompt], `image ${index + 1}`, text, name === "ok" ? "" : name].filter(Boolean).join(", "));
  return W.hasFile(number) ? `/wall/${W.run}/thumb/${number}` : null;
}

function open(index) {
  large.open(W.list, index, { from: byId("grid"), moved: (at) => tiles.focus(at), marked: () => tiles.layout() });
}

function list() {
  W.list = arrange(facets.values());
  facets.count();
  const all = W.images.length;
  byId("count").textContent = W.list.length === all ? many(all, "image") : `${W.list.length.toLocaleString("en")} of ${many(all, "image")}`;
  byId("no-images").replaceChildren(...(W.list.length ? [] : ["No image fits. ", el("button", { text: "Show all images", on: { click: everything } })]));
  tiles.show(W.list);
}

async function everything() {
  facets.reset();
  await choose(null);
}

const query = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null)).toString();

// A test, or one of its rows: only its images are shown, the lowest value first; null shows all.
async function choose(task, row = null, { group = null, focus = false } = {}) {
  if (!document.body.dataset.ready) return; // the tests that are shown are still those of another run
  const mine = ++turn;
  link.write({ task, row, group, run: W.run || null });
  try {
    const test = task === null ? null : { task, row, group, ...await json(`/api/wall/tests/${encodeURIComponent(task)}?${query({ run: W.run, row, group })}`) };
    if (mine !== turn) return;
    W.test = test;
  } catch (error) { if (mine === turn) say(error.message); return; }
  W.values = new Map(W.test ? W.test.ids.flatMap((id, k) => (W.test.values[k] === null ? [] : [[id, W.test.values[k]]])) : []);
  W.groups = new Map(W.test ? W.test.ids.map((id, k) => [id, W.test.labels[k]]) : []);
  facets.offer();
  facets.set({ order: W.test && W.numeric() ? "low" : "prompt", lean: "", group: "" });
  heading();
  await tests.detail(task, row, group);
  list();
  if (focus) byId("wall-panel").scrollIntoView({ block: "start" });
}

function heading() {
  const { test } = W;
  byId("wall-title").textContent = test ? "Images of a test" : "All images";
  const name = test && tests.nameOf(test.task);
  const unknown = test ? test.labels.filter((label) => label === "unknown").length : 0;
  const behind = `that this number ${W.numeric() ? "was computed from" : "looked at"}${unknown ? `; the ${unknown} unknown ones have no part in it` : ""}. `;
  byId("chosen").replaceChildren(...(test ? [el("p", { class: "small" }, el("b", { text: name }),
    test.row ? `, ${test.row}` : "", test.group ? ` (${test.group})` : "", `: the ${many(test.ids.length, "image")} ${behind}`,
    el("button", { text: "Show all images of the run", on: { click: () => choose(null) } }))] : []));
}

async function openRun(run) {
  const mine = ++turn;
  W.run = run;
  link.write({ task: null, row: null, group: null, run: run || null });
  document.body.dataset.ready = "";
  delete document.body.dataset.answered;
  const data = await json(`/api/wall?run=${run}`);
  if (mine !== turn) return;
  W.take(data);
  heading();
  facets.offer();
  list();
  byId("grid").dataset.shown = String(W.images.length);
  document.body.dataset.ready = "yes";
  await Promise.all([tests.load(choose), questions(run)]);
}

// Answers and tests come after the images are there.
async function questions(run) {
  const found = await json(`/api/wall/questions?run=${run}`);
  if (run !== W.run) return;
  W.topics = found.topics;
  W.reason = found.reason;
  W.repeat(found.repeated);
  if (W.topics.length) await topic(0);
  if (run !== W.run) return;
  facets.offer();
  list();
  document.body.dataset.answered = "yes";
}

async function topic(number) {
  const { run } = W;
  W.topic = number;
  const found = await json(`/api/wall/answers/${number}?run=${run}`);
  if (run === W.run && number === W.topic) W.answers = found;
}

facets.onTopic = async (number) => {
  await topic(number).catch((error) => say(error.message));
  facets.offer();
  list();
};

function pages(state) {
  byId("where").textContent = state.sources.map((source) => source.name).join(" | ");
  const words = {
    working: `Words: ${state.words}`, ready: "Words can be tested now.", none: "Words need an encoder.", failed: "Words: no embeddings.",
  };
  byId("preparation").textContent = words[state.stage];
}

document.addEventListener("tile-size", ({ detail }) => { tiles.side = detail; tiles.layout(); });
document.addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (typing || byId("large").open || byId("grid").contains(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (["j", "k"].includes(event.key.toLowerCase())) { tiles.key(event); }
});

async function begin() {
  const asked = link.read();
  const state = await json("/api/state");
  W.sources = state.sources;
  pages(state);
  const run = Math.min(Number(asked.run) || 0, state.sources.length - 1);
  if (state.sources.length > 1) {
    byId("run-line").replaceChildren(el("label", {}, "Run ", el("select", {
      id: "run", on: { change: (event) => openRun(Number(event.target.value)).catch((error) => say(error.message)) },
    }, state.sources.map((source, number) => new Option(source.name, number, false, number === run)))));
  }
  follow(pages).catch((error) => say(error.message));
  await openRun(run);
  if (asked.task) await choose(asked.task, asked.row ?? null, { group: asked.group ?? null });
}

begin().catch((error) => say(error.message));
