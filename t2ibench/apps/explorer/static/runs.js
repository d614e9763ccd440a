// Two runs side by side: images of the same prompt and number; a swipe where text and seed are the same.
import { S, axial, json, scarce } from "./store.js";
import { byId, el, many, signed } from "./dom.js";
import { shuffled } from "./geometry.js";
import { open } from "./lightbox.js";

const SHOWN = 30;
const ORDERS = [["change", "largest change first"], ["random", "at random (seed 0)"], ["prompt", "by prompt"]];
const pair = [0, 1];
let found = null, asked = "", turn = 0, at = 0, list = [];
const ui = {};

function build() {
  const pick = (which) => el("select", {
    "aria-label": which ? "After" : "Before", on: { change: (event) => { pair[which] = Number(event.target.value); load(); } },
  }, S.sources.map((source, number) => new Option(source.name, number, false, number === pair[which])));
  ui.of = el("select", { on: { change: load } }, new Option("of the concept", "concept"), new Option("of all shared prompts", "all"));
  ui.order = el("select", { on: { change: render } }, ORDERS.map(([value, name]) => new Option(name, value)));
  ui.say = el("div", { "aria-live": "polite" });
  ui.swipe = el("input", {
    type: "range", min: 0, max: 100, value: 50, "aria-label": "Swipe between before and after", on: { input: wipe },
  });
  ui.stage = el("div", { class: "stage" });
  ui.caption = el("p", { class: "small num" });
  ui.rows = el("div", { class: "both", role: "group", "aria-label": "Pairs, arrow keys go through them" });
  byId("panel-runs").replaceChildren(el("h2", { text: "Two runs, pair by pair" }),
    el("div", { class: "line" }, el("label", {}, "Before ", pick(0)), el("label", {}, "After ", pick(1))),
    el("div", { class: "line" }, el("label", {}, "Images ", ui.of), el("label", {}, "Order ", ui.order)),
    ui.say, el("div", { class: "swipe" }, ui.stage, ui.swipe), ui.caption, ui.rows);
  ui.rows.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1 }[event.key];
    if (to === undefined || !list[to]) return;
    event.preventDefault();
    choose(to, true);
  });
}

const key = () => JSON.stringify([pair, ui.of.value, S.text, S.state.anchors.map((anchor) => anchor.prompt), S.images.length]);

async function load() {
  const mine = ++turn;
  asked = key();
  ui.say.replaceChildren(el("p", { class: "small muted", text: "Comparing…" }));
  const body = { runs: pair, prompts: ui.of.value === "concept" && S.text ? [S.text] : [] };
  if (axial() && !scarce(pair)) body.anchors = S.state.anchors.map((anchor) => anchor.prompt);
  try {
    let reply = await json("/api/pairs", body);
    if (!reply.pairs.length && body.prompts.length) { // the concept has no images in both: look at all
      reply = await json("/api/pairs", { ...body, prompts: [] });
      ui.of.value = "all";
      asked = key();
    }
    if (mine !== turn) return;
    found = reply;
    render();
  } catch (error) {
    if (mine !== turn) return;
    found = null;
    ui.say.replaceChildren(el("p", { class: "small", text: error.message }));
    for (const box of [ui.stage, ui.caption, ui.rows]) box.replaceChildren();
  }
}

function sorted(pairs) {
  if (ui.order.value === "random") return Array.from(shuffled(pairs.length, 0), (k) => pairs[k]);
  const change = ({ values }) => (values ? Math.abs(values[1] - values[0]) : 0);
  return ui.order.value === "change" ? [...pairs].sort((a, b) => change(b) - change(a)) : pairs;
}

function render() {
  if (!found) return;
  const { pairs, basis } = found; // the records of both runs say what a pair shares
  ui.say.replaceChildren(el("p", { class: "small muted", text: `${many(pairs.length, "pair")}. ${basis}` }),
    pairs.some((one) => one.values) ? el("p", { class: "micro faint", text: `A number says where an image lies: +1 as the images of `
      + `${S.state.anchors[0].name} on average, −1 as those of ${S.state.anchors[1].name}.` }) : "");
  list = sorted(pairs).slice(0, SHOWN);
  ui.rows.replaceChildren(...list.map(column));
  if (list.length) { choose(0, false); return; }
  ui.stage.replaceChildren(el("p", { class: "emp", text: "No pairs to show." }));
  ui.caption.replaceChildren();
}

function column(one, k) {
  const values = one.values ? `: ${signed(one.values[0], 2)} before, ${signed(one.values[1], 2)} after` : "";
  return el("button", {
    class: "pair", tabindex: k ? -1 : 0, "aria-label": `${one.prompt}, image ${one.index + 1}${values}`,
    on: { click: () => choose(k, true) },
  }, one.ids.map((id, which) => el("span", {}, el("img", { src: `/thumb/${id}`, alt: "", loading: "lazy" }),
    el("small", { class: "num", text: one.values ? signed(one.values[which], 1) : "" }))));
}

function choose(k, focus) {
  at = k;
  const one = list[k], columns = [...ui.rows.children];
  columns.forEach((column, n) => { column.tabIndex = n === k ? 0 : -1; column.setAttribute("aria-current", n === k); });
  if (focus) columns[k].focus();
  const [a, b] = one.ids.map((id, which) => el("img", {
    src: `/image/${id}`, alt: `${which ? "After" : "Before"}: ${one.prompt}`, class: which ? "after" : "before",
  }));
  const names = pair.map((number, which) => el("span", { class: `tag ${which ? "after" : "before"}`, text: S.sources[number].name }));
  // Where the records name no common text and seed, a swipe would suggest that only the model differs.
  ui.stage.className = one.swipe ? "stage" : "stage beside";
  ui.swipe.hidden = !one.swipe;
  ui.stage.replaceChildren(a, b, ...(one.swipe ? [el("i", { class: "cut" })] : []), ...names);
  const change = one.values ? ` · ${signed(one.values[0], 2)} → ${signed(one.values[1], 2)} ` : " ";
  ui.caption.replaceChildren(`${one.prompt}, image ${one.index + 1}${change}`,
    el("button", { text: "Open both", on: { click: (event) => open(one.ids, 0, event.target) } }));
  wipe();
}

function wipe() { ui.stage.style.setProperty("--cut", `${ui.swipe.value}%`); }

export function show() {
  if (!ui.rows) build();
  if (asked !== key()) load();
}

export function changed(what, visible) {
  if (ui.rows && visible && what === "concept" && asked !== key()) load();
}
