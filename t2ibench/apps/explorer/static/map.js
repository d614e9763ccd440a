// All images of a run on one plane: pan, zoom, and circle some.
import { S, changed as tell, css, json, promptOf, say, similarity } from "./store.js";
import { byId, el, many, percent } from "./dom.js";
import { Cells, inside, shuffled } from "./geometry.js";
import { colouring, places, channels } from "./mapdata.js";
import { open } from "./lightbox.js";
import { Pace, Points } from "./points.js";
import { Row } from "./rows.js";
import { hideTip, showTip } from "./tip.js";

const NEAR = 10; // pixels
const SHOWN = 60; // images in view from which on they are shown themselves
const TOP = 400; // zoom
let data = null, points = null, cells = null, run = 0, loaded = -1, stale = true, order = null;
const pace = new Pace();
let view = { x: 0, y: 0, zoom: 1 }, planned = false, settled, mode = "move", turn = 0, tinted = "";
const ui = {};
const row = new Row("plain");

function build() {
  ui.canvas = el("canvas", { class: "map", tabindex: 0, role: "img", "aria-label": "Map of all images" });
  ui.lasso = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  ui.lasso.setAttribute("class", "lasso");
  ui.path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  ui.lasso.append(ui.path);
  ui.thumbs = el("div", { class: "thumbs", "aria-hidden": "true" });
  ui.colour = el("select", { "aria-label": "Colour of the map by", on: { change: recolour } });
  ui.run = el("select", { "aria-label": "Run on the map", on: { change: () => { run = Number(ui.run.value); load(); } } },
    S.sources.map((source, number) => new Option(source.name, number)));
  ui.key = el("p", { class: "key micro" });
  ui.note = el("p", { class: "micro faint" });
  ui.found = el("div", { class: "found", "aria-live": "polite" });
  ui.title = el("h2", { text: "Map of the images" });
  const modes = ["move", "lasso"].map((name) => el("label", {}, el("input", {
    type: "radio", name: "mode", value: name, checked: name === mode, on: { change: () => { mode = name; ui.canvas.dataset.mode = name; } },
  }), name === "move" ? "Move" : "Lasso"));
  const zoom = (text, label, act) => el("button", { text, "aria-label": label, on: { click: act } });
  byId("panel-map").replaceChildren(
    ui.title, ui.note,
    el("div", { class: "line" }, el("span", { class: "chips", role: "radiogroup", "aria-label": "Drag to" }, modes),
      zoom("+", "Zoom in", () => scaled(1.6)), zoom("−", "Zoom out", () => scaled(1 / 1.6)), zoom("Whole", "Show the whole map", whole)),
    el("div", { class: "line" }, el("label", {}, "Colour ", ui.colour), S.sources.length > 1 && ui.run),
    el("div", { class: "plane" }, ui.canvas, ui.thumbs, ui.lasso), ui.key, list(), ui.found);
  points = new Points(ui.canvas);
  ui.canvas.dataset.mode = mode;
  listen();
  new ResizeObserver(() => plan()).observe(ui.canvas);
  options();
}

// The same selection without a pointer: images in an order, from one place to another.
function list() {
  const orders = [["most like the concept", "text"], ["left to right on the map", "x"], ["bottom to top on the map", "y"]];
  const by = el("select", {}, orders.map(([name, value]) => new Option(name, value)));
  const from = el("input", { type: "number", min: 1, value: 1, "aria-label": "from place" });
  const to = el("input", { type: "number", min: 1, value: 20, "aria-label": "to place" });
  const choose = async (event) => {
    event.preventDefault();
    if (!data) return;
    const ids = await ordered(by.value);
    const [a, b] = [Number(from.value), Number(to.value)].sort((x, y) => x - y);
    select(ids.slice(Math.max(0, a - 1), b));
  };
  return el("details", { class: "range" }, el("summary", { class: "small", text: "Select by a list" }),
    el("form", { class: "line", on: { submit: choose } },
      el("label", {}, "Images ", by), el("label", {}, "from ", from), el("label", {}, "to ", to), el("button", { text: "Select range" })));
}

async function ordered(by) {
  const ids = [...data.ids];
  if (by === "text") {
    const text = S.text || S.state.anchors[0].prompt, values = await similarity(text);
    return ids.sort((a, b) => values[b] - values[a]);
  }
  return [...ids.keys()].sort((a, b) => data[by][a] - data[by][b]).map((k) => ids[k]);
}

async function options() {
  const wanted = ui.colour.value || "anchor";
  const fixed = [["anchor", "by anchor"], ["text", "by similarity to the concept"], ["prompt", "by prompt"]];
  ui.colour.replaceChildren(...fixed.map(([value, name]) => new Option(name, value)));
  ui.colour.value = wanted;
  try {
    const { tasks } = await json(`/api/scores?run=${run}`);
    const scored = tasks.filter((task) => !task.text_only);
    const more = scored.map((task) => new Option(task.name, `test ${task.id}`));
    if (more.length) ui.colour.append(el("optgroup", { label: "scores and answers" }, more));
    if ([...ui.colour.options].some((option) => option.value === wanted)) ui.colour.value = wanted;
  } catch (error) { say(error.message); }
}

async function load() {
  const mine = ++turn;
  ui.note.textContent = "Reading the map…";
  try {
    const found = await places(run);
    if (mine !== turn) return;
    data = found;
  } catch (error) { ui.note.textContent = `No map: ${error.message}`; return; }
  loaded = S.images.length;
  order = shuffled(data.ids.length);
  cells = new Cells(data.x, data.y, Math.max(16, Math.min(512, Math.round(Math.sqrt(data.ids.length)))));
  ui.title.textContent = `Map of ${many(data.ids.length, "image")}`;
  const [a, b] = data.explained;
  ui.note.textContent = "Near means alike to the encoder. Across and up: the two directions in which these images differ most "
    + `(${percent(a)} and ${percent(b)} of it).`;
  await recolour();
}

const anchorsNow = () => JSON.stringify(S.state.anchors);

async function recolour() {
  if (!data) return;
  const mine = ++turn;
  tinted = anchorsNow();
  let found;
  try { found = await colouring(ui.colour.value, data.ids, run); } catch (error) { say(error.message); return; }
  if (mine !== turn) return;
  data.colours = found.colours;
  ui.key.replaceChildren(...found.key.map(([colour, name]) => el("span", {}, dotted(colour), name)),
    el("span", { class: "faint", text: found.note }));
  paint();
}

const dotted = (colour) => { const one = el("i", { class: "kd" }); one.style.background = colour; return one; };

function paint() {
  if (!data?.colours) return;
  const n = data.ids.length, faint = channels(css("--ink-3")), ink = channels(css("--ink"));
  const place = new Float32Array(2 * n), colour = new Uint8Array(4 * n), size = new Float32Array(n);
  // What the question is about is drawn last, within it no group before another.
  const about = (k) => (S.brushed ? S.brushed.has(data.ids[k]) : data.colours[k] !== null);
  const drawn = [...order].filter((k) => !about(k)).concat([...order].filter(about));
  const base = n > 30_000 ? 2.5 : n > 3000 ? 4 : 6;
  drawn.forEach((k, at) => {
    const mine = about(k), tint = data.colours[k] ?? (mine && S.brushed ? ink : faint);
    place[2 * at] = data.x[k]; place[2 * at + 1] = data.y[k];
    colour.set([...tint, mine ? 235 : S.brushed ? 60 : 110], 4 * at);
    size[at] = mine && (S.brushed || data.colours.length > 200) ? base + 1.5 : base;
  });
  points.set({ place, colour, size });
  ui.canvas.dataset.drawn = String(n);
  const keys = "Arrow keys move it, + and − zoom, 0 shows the whole. “Select by a list” selects without a pointer.";
  ui.canvas.setAttribute("aria-label", `Map of ${n} images. ${keys}`);
  plan();
}

function plan() {
  if (planned) return;
  planned = true;
  requestAnimationFrame((now) => { planned = false; points.draw(view, pace.frame(now)); });
  ui.thumbs.replaceChildren();
  clearTimeout(settled);
  settled = setTimeout(() => { points.draw(view); images(); }, 160);
}

const toPixels = (k) => {
  const { clientWidth: wide, clientHeight: high } = ui.canvas;
  return [(((data.x[k] - view.x) * view.zoom + 1) / 2) * wide, ((1 - (data.y[k] - view.y) * view.zoom) / 2) * high];
};
const toData = ([px, py]) => {
  const { clientWidth: wide, clientHeight: high } = ui.canvas;
  return [((2 * px) / wide - 1) / view.zoom + view.x, (1 - (2 * py) / high) / view.zoom + view.y];
};

// Few enough in view: the images themselves.
function images() {
  if (!data || view.zoom < 2) return;
  const { clientWidth: wide, clientHeight: high } = ui.canvas, seen = [];
  for (let k = 0; k < data.ids.length; k += 1) {
    const [x, y] = toPixels(k);
    if (x > -20 && y > -20 && x < wide + 20 && y < high + 20) seen.push([k, x, y]);
    if (seen.length > SHOWN) return;
  }
  ui.thumbs.replaceChildren(...seen.map(([k, x, y]) => {
    const one = el("img", { src: `/thumb/${data.ids[k]}`, alt: "" });
    one.style.transform = `translate(${Math.round(x - 16)}px, ${Math.round(y - 16)}px)`;
    return one;
  }));
}

function scaled(by, at = [ui.canvas.clientWidth / 2, ui.canvas.clientHeight / 2]) {
  const before = toData(at);
  view.zoom = Math.max(0.8, Math.min(TOP, view.zoom * by));
  const after = toData(at);
  view.x += before[0] - after[0];
  view.y += before[1] - after[1];
  plan();
}
function moved(dx, dy) {
  view.x -= (2 * dx) / ui.canvas.clientWidth / view.zoom;
  view.y += (2 * dy) / ui.canvas.clientHeight / view.zoom;
  plan();
}
function whole() { view = { x: 0, y: 0, zoom: 1 }; plan(); }

function nearest(at) {
  if (!cells) return -1;
  const [x, y] = toData(at), reach = Math.max(...[2 * NEAR / ui.canvas.clientWidth, 2 * NEAR / ui.canvas.clientHeight]) / view.zoom;
  return cells.nearest(x, y, reach);
}

function listen() {
  const { canvas } = ui, down = new Map();
  let polygon = null, travelled = 0;
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const spread = () => {
    const [[ax, ay], [bx, by]] = [...down.values()];
    return { far: Math.hypot(ax - bx, ay - by), x: (ax + bx) / 2, y: (ay + by) / 2 };
  };
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, at(event));
    travelled = 0;
    canvas.setPointerCapture(event.pointerId);
    hideTip();
    polygon = down.size === 1 && (mode === "lasso" || event.shiftKey) ? [at(event)] : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event), last = down.get(event.pointerId);
    if (!last) { hover(now); return; }
    travelled += Math.hypot(now[0] - last[0], now[1] - last[1]);
    if (polygon) {
      polygon.push(now);
      ui.path.setAttribute("d", `M${polygon.map((one) => one.join(" ")).join("L")}Z`);
      down.set(event.pointerId, now);
      return;
    }
    const before = down.size === 2 ? spread() : null;
    down.set(event.pointerId, now);
    if (before) {
      const after = spread();
      moved(after.x - before.x, after.y - before.y);
      if (before.far > 0) scaled(after.far / before.far, [after.x, after.y]);
    } else moved(now[0] - last[0], now[1] - last[1]);
  });
  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    const drawn = polygon;
    polygon = null;
    ui.path.setAttribute("d", "");
    if (event.type === "pointercancel") return;
    if (drawn && drawn.length > 3 && travelled > 12) { circled(drawn); return; }
    const hit = travelled < 5 ? nearest(at(event)) : -1;
    if (hit >= 0) { hideTip(); open([data.ids[hit]], 0, canvas); }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => scaled(2, at(event)));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls until the map is clicked
    event.preventDefault();
    scaled(Math.exp(-event.deltaY / 300), at(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    if (by) moved(...by);
    else if (event.key === "+" || event.key === "=") scaled(1.4);
    else if (event.key === "-") scaled(1 / 1.4);
    else if (event.key === "0") whole();
    else return;
    event.preventDefault();
  });
}

let over = -1;
function hover(now) {
  const hit = nearest(now);
  if (hit === over) return;
  over = hit;
  if (hit < 0) { hideTip(); return; }
  const box = ui.canvas.getBoundingClientRect(), [x, y] = toPixels(hit);
  showTip(data.ids[hit], { left: box.left + x - 8, right: box.left + x + 8, top: box.top + y });
}

function circled(polygon) {
  const around = polygon.map(toData);
  select([...data.ids.keys()].filter((k) => inside(data.x[k], data.y[k], around)).map((k) => data.ids[k]));
}

function select(ids) {
  S.brushed = ids.length ? new Set(ids) : null;
  say(ids.length ? `${many(ids.length, "image")} selected` : "Selection cleared");
  tell("brush");
}

// The selected images, and their most frequent prompts.
function selected() {
  const ids = S.brushed ? [...S.brushed] : [], counts = new Map();
  if (!ids.length) { ui.found.replaceChildren(); return; }
  for (const id of ids) counts.set(promptOf(id), (counts.get(promptOf(id)) ?? 0) + 1);
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([prompt, count]) => `${count} “${prompt}”`);
  const value = (id) => `${S.images[id][1] + 1}`;
  row.show({ ids, value, title: [el("b", { text: `${many(ids.length, "image")} selected` })], label: "Selected images", empty: "" });
  const clear = el("button", { text: "Clear selection", on: { click: () => select([]) } });
  ui.found.replaceChildren(row.element, el("p", { class: "small muted", text: common.join(", ") }), el("p", { class: "acts" }, clear));
}

export function show() {
  if (!ui.canvas) build();
  if (loaded !== S.images.length) load();
  else if (stale) recolour();
  stale = false;
  selected();
  plan();
}

export function changed(what, visible) {
  if (!ui.canvas) return;
  if (!visible) { stale = true; return; }
  const othersAnchors = what === "state" && tinted !== anchorsNow();
  const otherText = what === "concept" && ui.colour.value === "text";
  if (what === "brush") { paint(); selected(); } else if (what === "theme" || othersAnchors || otherText) recolour();
}
