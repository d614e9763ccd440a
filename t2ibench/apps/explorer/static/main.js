// Loads the data, ties the views together, and talks to the server.
import { S, changed, commit, json, onChange, relabel, say, step } from "./store.js";
import { byId, el } from "./dom.js";
import * as anchors from "./anchors.js";
import * as concept from "./concept.js";
import * as grid from "./grid.js";
import * as link from "./link.js";
import * as session from "./session.js";
import * as tabs from "./tabs.js";
import * as tree from "./tree.js";
import { embedded } from "./waiting.js";

const asked = link.read(); // before anything changes the address
let turn = 0, preview = null;

async function loadImages() {
  const data = await json("/api/images");
  Object.assign(S, data);
  byId("where").textContent = data.sources.map((source) => source.name).join(" | ");
  byId("tab-runs").hidden = data.sources.length < 2;
}

async function evaluate() {
  const mine = ++turn;
  const { nodes } = await json("/api/evaluate", {
    tree: S.state.tree, anchors: S.state.anchors.map((anchor) => anchor.prompt), names: S.state.anchors.map((anchor) => anchor.name),
  });
  if (mine !== turn) return; // a later question is under way
  S.nodes = new Map(nodes.map((node) => [node.id, node]));
  tree.render();
  await look(mine);
}

async function look(mine = turn) {
  await concept.views(() => mine === turn, preview, actions);
  if (mine !== turn) return;
  if (byId("order").value === "text") grid.relist();
  link.write({ concept: preview ? null : S.text });
  tabs.shown("concept");
}

// What can be done with a concept: make its evidence card, share the view.
function actions() {
  const share = el("button", { text: "Copy link", on: { click: () => copy(location.href) } });
  const card = el("button", { class: "pri", text: "Make evidence card", on: { click: () => tabs.open("card", true) } });
  byId("acts").replaceChildren(...(preview ? [] : [card, share]));
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); say("Link copied"); } catch { say("The address bar has the link."); }
}

onChange((what) => {
  if (what === "state") {
    preview = null;
    byId("undo").disabled = !S.undo.length;
    byId("redo").disabled = !S.redo.length;
    relabel();
    anchors.render();
    tree.render();
    grid.layout();
    if (document.body.dataset.ready) session.autosave();
    evaluate().catch((error) => say(error.message));
    tabs.shown("state");
  } else if (what === "brush") {
    grid.relist();
    concept.mark();
    tabs.shown("brush");
  } else if (what === "lit") {
    grid.relight();
    concept.mark();
  }
});

// The tokens follow the system; what is drawn on a canvas follows them.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { concept.redraw(); tabs.shown("theme"); });

let typing;
byId("word").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const words = byId("word").value.trim();
    const mine = ++turn;
    try {
      const text = words ? (await json("/api/text", tree.withWord(words))).text : null;
      if (mine !== turn) return;
      preview = text;
      byId("preview").textContent = preview ? `“${preview}”` : "";
      await look(mine);
    } catch (error) { say(error.message); }
  }, 90);
});
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  const words = byId("word").value.trim();
  if (!words) { say("Type a word or a phrase first."); return; }
  byId("word").value = "";
  byId("preview").textContent = "";
  turn += 1;
  preview = null;
  const before = JSON.stringify(S.state);
  tree.addWord(words);
  if (JSON.stringify(S.state) === before) look().catch((error) => say(error.message)); // it is there and chosen: only the look ends
});
byId("undo").onclick = () => step("undo", "redo") && say("Undone");
byId("redo").onclick = () => step("redo", "undo") && say("Done again");
byId("add").onclick = () => tree.add(S.state.chosen[0]);
byId("clear").onclick = () => { S.brushed = null; changed("brush"); };
document.addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
  const field = ["INPUT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "Escape") {
    const menu = event.target.closest?.("details[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
    else if (S.brushed && !byId("lightbox").open && !field) byId("clear").click();
    return;
  }
  if (control && key === "s") session.keep(true);
  else if (field) return;
  else if (control && key === "z" && !event.shiftKey) byId("undo").click();
  else if (control && (key === "y" || (key === "z" && event.shiftKey))) byId("redo").click();
  else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("#anchor-box[open]")) {
    if (event.target.isConnected && !menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("test", ({ detail: { task, row, label, run } }) => {
  link.write({ task, row, of: label, run });
  tabs.open("tests", true);
});

// What the address asks for: a concept, a tab, a test.
function follow(asked) {
  if (asked.concept) {
    const label = (id) => S.state.tree.nodes.find((one) => one.id === id)?.label;
    const found = [...S.nodes.values()].find((node) => [node.text, label(node.id)].includes(asked.concept));
    if (found) commit((state) => { state.chosen = [found.id]; });
    else tree.addText(asked.concept);
  }
  tabs.open(asked.task ? "tests" : asked.tab ?? "map", false);
}

addEventListener("hashchange", () => { if (document.body.dataset.ready) follow(link.read()); });

async function begin() {
  tree.head();
  if (!await embedded()) { document.body.dataset.ready = "yes"; return; }
  await loadImages();
  await session.load();
  await evaluate();
  grid.relist();
  follow(asked);
  document.body.dataset.ready = "yes";
}

begin().catch((error) => say(error.message));
