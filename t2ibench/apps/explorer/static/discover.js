// What nobody asked about: thousands of words, ranked, with the false discoveries held down.
import { S, axial, json, pole, say, scarce } from "./store.js";
import { byId, el, many, percent, probability, share, signed, term } from "./dom.js";
import { roundUp } from "./geometry.js";
import { rail, scale } from "./rail.js";
import { addExactly } from "./tree.js";
import { markOf, nameOf } from "./words.js";

const SHOWN = 40;
const FOUND = { leans: "a finding", inconclusive: "cannot tell" };
let asked = null, found = null, turn = 0, all = false;
const ui = {};

function build() {
  ui.words = el("textarea", { rows: 3, id: "own-words", placeholder: "one word or phrase a line" });
  ui.run = el("select", { "aria-label": "Run to search" }, S.sources.map((source, number) => new Option(source.name, number)));
  ui.say = el("p", { class: "small", "aria-live": "polite" });
  ui.list = el("ol", { class: "ranked" });
  ui.more = el("button", { text: "Show more", on: { click: () => { all = true; render(); } } });
  byId("panel-discover").replaceChildren(
    el("h2", { text: "What nobody asked about" }),
    el("p", { class: "small muted" }, "Every word is compared with everyday words, beyond what the anchors' own words say. ",
      term("False discoveries", "q"), " are controlled."),
    el("form", { class: "sweep", on: { submit: (event) => { event.preventDefault(); search(); } } },
      el("details", {}, el("summary", { class: "small", text: "Search words of your own" }),
        el("label", { class: "sr", for: "own-words", text: "Words, one a line" }), ui.words),
      el("div", { class: "line" }, S.sources.length > 1 && ui.run, el("button", { class: "pri", text: "Search" }))),
    ui.say, ui.list, ui.more);
}

const key = () => JSON.stringify([S.state.anchors.map((anchor) => anchor.prompt), ui.words.value, ui.run.value, S.images.length]);

async function search() {
  const mine = ++turn, words = ui.words.value.split("\n").map((word) => word.trim()).filter(Boolean);
  asked = key();
  all = false;
  ui.say.textContent = "Searching…";
  try {
    const few = scarce([Number(ui.run.value || 0)]);
    if (S.state.anchors.length < 2) throw new Error("choose two anchors first, such as two prompts of the run.");
    if (few) throw new Error(`the anchor “${few}” has fewer than two images here. Choose another anchor.`);
    const reply = await json("/api/discover", {
      anchors: S.state.anchors.map((anchor) => anchor.prompt), run: Number(ui.run.value || 0),
      words: words.length ? words.slice(0, 5000) : "everyday",
    });
    if (mine !== turn) return;
    found = reply;
    render();
  } catch (error) {
    if (mine !== turn) return;
    found = null;
    ui.list.replaceChildren();
    ui.more.hidden = true;
    ui.say.textContent = `No search: ${error.message}`;
  }
}

function render() {
  const { tested, found: n, reference, fdr, rows, anchors, together } = found;
  const needs = together > 1 ? ` At least ${together} words together would have to lie beyond every everyday word.` : "";
  const what = n ? `${many(n, "finding")}: of those in bold, at most ${percent(fdr)} are expected to be chance.`
    : `None found: with ${anchors.join(" and ")} images nothing stands out at a false discovery rate of ${percent(fdr)}.${needs} `
      + "That is not “none there”.";
  ui.say.replaceChildren(el("b", { text: `${many(tested, "word")} tested` }), ` against ${many(reference, "everyday word")}. ${what}`);
  const ends = rows.slice(0, SHOWN).flatMap((row) => [row.beyond_words, row.beyond_low, row.beyond_high]).filter((value) => value !== null);
  const span = roundUp(Math.max(0, ...ends.map(Math.abs)));
  const shown = rows.slice(0, all ? 400 : SHOWN);
  const poles = axial() ? el("span", { class: "poles micro" }, pole(1), pole(0)) : null;
  const axis = el("li", { class: "head", "aria-hidden": "true" }, el("span"),
    el("span", {}, poles, scale(span, axial() ? [-span, 0, span] : [0, span], span < 0.1 ? 2 : 1)), el("span"));
  ui.list.replaceChildren(...(shown.length ? [axis] : []), ...shown.map((row) => item(row, span)));
  ui.more.hidden = shown.length >= Math.min(rows.length, 400);
}

function item(row, span) {
  const clear = row.verdict === "leans", mark = markOf({ ...row, lean: row.side });
  const q = probability(row.q, "q");
  const label = `${row.text}: ${signed(row.beyond_words, 3)} to ${nameOf(row.side)}, `
    + `further than ${share(row.percentile)} of everyday words, ${q}; ${FOUND[row.verdict] ?? "no finding"}`;
  return el("li", { class: clear ? "hit" : "" },
    el("button", { class: "link", text: row.text, "aria-label": `Add ${row.text} to the tree`, on: { click: () => put(row.text) } }),
    rail(mark, label, { span, height: 22, dot: 8 }),
    el("span", { class: "micro num faint" }, clear ? [pole(row.side), " "] : null, q));
}

function put(word) {
  addExactly(word, found.template);
  say(`“${word}” is in the tree.`);
}

export function show() {
  if (!ui.list) build();
  if (asked !== key()) search();
}

export function changed(what, visible) {
  if (ui.list && visible && what === "state" && asked !== key()) search();
}
