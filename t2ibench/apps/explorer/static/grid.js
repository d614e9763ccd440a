// The data view: only the tiles that can be seen exist.
import { S, anchorOf, changed, colourOf, say, similarity } from "./store.js";
import { el } from "./dom.js";
import { open } from "./lightbox.js";
import { hideTip, showTip } from "./tip.js";

const grid = document.getElementById("grid");
const sheet = document.getElementById("sheet");
const find = document.getElementById("find");
const size = document.getElementById("size");
const count = document.getElementById("count");
const order = document.getElementById("order");
const none = document.getElementById("no-images");
const tiles = new Map(); // index in the list -> element
const spare = [];
const GAP = 4;
const A_FRAME = 12;
const waiting = new Map(); // tile -> image to load
let pumping = false;
let listed = [];
let columns = 1;
let side = 72;
let planned = false;
let current = 0; // where the arrow keys are

export async function relist() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = S.prompts.map((prompt) => words.every((word) => prompt.toLowerCase().includes(word)));
  const wanted = (number) => fits[S.images[number][0]] && (!S.brushed || S.brushed.has(number));
  listed = [...S.images.keys()].filter(wanted);
  if (order.value === "text" && S.text) {
    const values = await similarity(S.text).catch((error) => say(error.message));
    if (values) listed.sort((a, b) => values[b] - values[a]);
  }
  const all = S.images.length;
  count.textContent = (listed.length === all ? [all] : [listed.length, all]).map((n) => n.toLocaleString("en")).join(" of ");
  document.getElementById("clear").disabled = !S.brushed;
  empty(words);
  current = 0;
  grid.scrollTop = 0;
  layout();
}

function empty(words) {
  if (listed.length) { none.textContent = ""; return; }
  const what = words.length ? `No image has “${words.join(" ")}” in its prompt` : "There is no image here";
  none.replaceChildren(`${what}${S.brushed ? ", in the selection" : ""}. `, el("button", {
    text: "Show all images", on: { click: () => { find.value = ""; S.brushed = null; changed("brush"); find.focus(); } },
  }));
}

export function layout() {
  side = Number(size.value);
  columns = Math.max(1, Math.floor((grid.clientWidth - GAP) / (side + GAP)));
  sheet.style.height = `${Math.ceil(listed.length / columns) * (side + GAP)}px`;
  for (const tile of tiles.values()) spare.push(tile), tile.remove();
  tiles.clear();
  draw();
}

export function draw() {
  planned = false;
  const step = side + GAP;
  const first = Math.max(0, Math.floor(grid.scrollTop / step) - 2) * columns;
  const last = Math.min(listed.length, (Math.ceil((grid.scrollTop + grid.clientHeight) / step) + 2) * columns);
  for (const [index, tile] of tiles) {
    if (index < first || index >= last) { tiles.delete(index); waiting.delete(tile); tile.remove(); spare.push(tile); }
  }
  const added = document.createDocumentFragment();
  for (let index = first; index < last; index += 1) {
    if (tiles.has(index)) continue;
    const tile = spare.pop() ?? fresh();
    put(tile, index);
    tiles.set(index, tile);
    added.append(tile);
  }
  sheet.append(added);
  spare.length = Math.min(spare.length, 400);
}

function fresh() {
  const tile = document.createElement("button");
  tile.tabIndex = -1;
  const thumbnail = document.createElement("img");
  thumbnail.decoding = "async";
  tile.append(thumbnail);
  tile.onmouseenter = () => showTip(Number(tile.dataset.number), tile.getBoundingClientRect());
  tile.onmouseleave = hideTip;
  tile.onfocus = tile.onmouseenter;
  tile.onblur = hideTip;
  tile.onclick = () => { hideTip(); open(listed, Number(tile.dataset.index), grid); };
  return tile;
}

function put(tile, index) {
  const number = listed[index];
  const step = side + GAP;
  const [prompt, sample] = S.images[number];
  const anchor = anchorOf(number);
  tile.dataset.number = number;
  tile.className = "tile" + (S.lit !== null && S.prompts[prompt] === S.lit ? " lit" : "");
  tile.dataset.index = index;
  tile.style.left = `${(index % columns) * step}px`;
  tile.style.top = `${Math.floor(index / columns) * step}px`;
  tile.style.width = tile.style.height = `${side}px`;
  tile.style.borderColor = anchor < 0 ? "transparent" : colourOf(anchor);
  tile.setAttribute("aria-label", `${S.prompts[prompt]}, image ${sample + 1}`);
  const source = `/thumb/${number}`;
  const thumbnail = tile.firstChild;
  thumbnail.alt = "";
  if (thumbnail.getAttribute("src") === source) return;
  thumbnail.removeAttribute("src");
  waiting.set(tile, source);
  if (!pumping) { pumping = true; requestAnimationFrame(pump); }
}

// A few images a frame: what has scrolled past by then is not loaded at all.
function pump() {
  let left = A_FRAME;
  for (const [tile, source] of waiting) {
    waiting.delete(tile);
    if (!tile.isConnected || source !== `/thumb/${tile.dataset.number}`) continue;
    tile.firstChild.src = source;
    left -= 1;
    if (!left) break;
  }
  pumping = waiting.size > 0;
  if (pumping) requestAnimationFrame(pump);
}

export function relight() {
  for (const tile of tiles.values()) {
    const prompt = S.prompts[S.images[Number(tile.dataset.number)][0]];
    tile.classList.toggle("lit", S.lit !== null && prompt === S.lit);
  }
}

const plan = () => { if (!planned) { planned = true; requestAnimationFrame(draw); } };
grid.addEventListener("scroll", plan, { passive: true });
new ResizeObserver(() => layout()).observe(grid);
find.addEventListener("input", relist);
order.addEventListener("change", relist);
size.addEventListener("input", layout);
grid.addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.floor(grid.clientHeight / (side + GAP))) * columns;
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page }[event.key];
  const to = { Home: 0, End: listed.length - 1 }[event.key] ?? (by === undefined ? undefined : current + (event.target === grid ? 0 : by));
  if (to === undefined || !listed.length) return;
  event.preventDefault();
  current = Math.max(0, Math.min(listed.length - 1, to));
  const top = Math.floor(current / columns) * (side + GAP);
  if (top < grid.scrollTop) grid.scrollTop = top;
  if (top + side > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + side - grid.clientHeight + GAP;
  draw();
  tiles.get(current)?.focus({ preventScroll: true });
});
