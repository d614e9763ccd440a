// The data view: all images, or those of a selection, in an order.
import { S, anchorOf, changed, colourOf, say, similarity } from "./store.js";
import { el } from "./dom.js";
import { open } from "./lightbox.js";
import { Tiles } from "./tiles.js";
import { hideTip, showTip } from "./tip.js";

const grid = document.getElementById("grid");
const find = document.getElementById("find");
const size = document.getElementById("size");
const count = document.getElementById("count");
const order = document.getElementById("order");
const none = document.getElementById("no-images");
let listed = [];

const tiles = new Tiles(grid, {
  fill,
  open: (index) => open(listed, index, grid),
  over: (tile) => showTip(Number(tile.dataset.number), tile.getBoundingClientRect()),
  out: hideTip,
});

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
  tiles.side = Number(size.value);
  tiles.show(listed);
}

function empty(words) {
  if (listed.length) { none.textContent = ""; return; }
  const what = words.length ? `No image has “${words.join(" ")}” in its prompt` : "There is no image here";
  none.replaceChildren(`${what}${S.brushed ? ", in the selection" : ""}. `, el("button", {
    text: "Show all images", on: { click: () => { find.value = ""; S.brushed = null; changed("brush"); find.focus(); } },
  }));
}

export function layout() {
  tiles.side = Number(size.value);
  tiles.layout();
}

function fill(tile, number) {
  const [prompt, sample] = S.images[number];
  const anchor = anchorOf(number);
  tile.dataset.number = number;
  tile.classList.toggle("lit", S.lit !== null && S.prompts[prompt] === S.lit);
  tile.style.borderColor = anchor < 0 ? "transparent" : colourOf(anchor);
  tile.setAttribute("aria-label", `${S.prompts[prompt]}, image ${sample + 1}`);
  return `/thumb/${number}`;
}

export function relight() {
  for (const tile of tiles.tiles.values()) {
    const prompt = S.prompts[S.images[Number(tile.dataset.number)][0]];
    tile.classList.toggle("lit", S.lit !== null && prompt === S.lit);
  }
}

find.addEventListener("input", relist);
order.addEventListener("change", relist);
size.addEventListener("input", layout);
