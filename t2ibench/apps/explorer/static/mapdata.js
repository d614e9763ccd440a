// Where each image lies on the map, and what its colour says.
import { S, anchorOf, colourOf, css, json, promptOf, similarity, turned } from "./store.js";
import { signed } from "./dom.js";

const decode = (text, Kind) => new Kind(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
const MOST_KINDS = 8;
const HUES = ["#a34e00", "#006a63", "#5b4bb0", "#9c2f6b", "#4d6b00", "#1f5f9e", "#7a5200", "#8a3a3a"];
const HUES_DARK = ["#f0a356", "#54c6b8", "#a99bf5", "#ec8cc0", "#a9cf5a", "#7fb7ee", "#d8b45f", "#ee9a9a"];

export const channels = (colour) => {
  const found = /^#(..)(..)(..)$/.exec(colour);
  if (found) return found.slice(1).map((part) => parseInt(part, 16));
  return (colour.match(/[\d.]+/g) ?? [120, 120, 120]).slice(0, 3).map(Number);
};
const dark = () => channels(css("--paper"))[0] < 128;
const hues = () => (dark() ? HUES_DARK : HUES);

// Coordinates of a run's images, each axis from end to end.
export async function places(run) {
  const found = await json(`/api/map?run=${run}`);
  const ids = decode(found.ids, Int32Array), x = decode(found.x, Float32Array), y = decode(found.y, Float32Array);
  const ends = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
  const [xl, xh] = ends(x), [yl, yh] = ends(y);
  const wide = (xh - xl) / 2 || 1, high = (yh - yl) / 2 || 1;
  const put = (values, low, top, half) => values.map((v) => (0.94 * (v - (low + top) / 2)) / half);
  return { ids, x: put(x, xl, xh, wide), y: put(y, yl, yh, high), explained: found.explained };
}

// Between the two side colours, through the grey of the middle.
function ramp(values, ids, note, poles = ["low", "high"], sides = ["--left", "--right"]) {
  const sorted = [...values.values()].sort((a, b) => a - b);
  const low = sorted[Math.floor(0.02 * sorted.length)], high = sorted[Math.ceil(0.98 * (sorted.length - 1))];
  const [a, middle, b] = [sides[0], "--ink-3", sides[1]].map((name) => channels(css(name)));
  const colours = ids.map((id) => {
    const value = values.get(id);
    if (value === undefined) return null;
    const t = high > low ? Math.max(-1, Math.min(1, (2 * (value - low)) / (high - low) - 1)) : 0;
    const end = t < 0 ? a : b;
    return middle.map((one, k) => Math.round(one + (end[k] - one) * Math.abs(t)));
  });
  return { colours, key: [[css(sides[0]), `${poles[0]} ${signed(low)}`], [css(sides[1]), `${poles[1]} ${signed(high)}`]], note };
}

// The colours of classes by their number, as in reports; see tokens.css.
const CLASS_COLOURS = ["--right", "--left", "--neutral", "--ink-3", "--zero", "--ink", "--race-1", "--race-2", "--race-3", "--race-4",
  "--race-5", "--race-6", "--race-3", "--race-2"];

// `numbers` gives each kind the number of its colour; without them, kinds have colours by how many there are of each.
function kinds(of, ids, note, numbers = null) {
  const counts = new Map();
  for (const id of ids) { const kind = of(id); if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1); }
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_KINDS).map(([kind]) => kind);
  const hueOf = (kind) => (numbers ? css(CLASS_COLOURS[numbers[kind] % CLASS_COLOURS.length]) : hues()[common.indexOf(kind)]);
  const rest = channels(css("--ink-3")), colours = new Map(common.map((kind) => [kind, channels(hueOf(kind))]));
  return {
    colours: ids.map((id) => { const kind = of(id); return kind === undefined ? null : colours.get(kind) ?? rest; }),
    key: [...common.map((kind) => [hueOf(kind), `${kind} (${counts.get(kind)})`]),
      ...(counts.size > common.length ? [[css("--ink-3"), `${counts.size - common.length} others`]] : [])],
    note,
  };
}

// The colour of each image: null is a faint one, which the question is not about.
export async function colouring(how, ids, run) {
  const list = [...ids];
  if (how === "anchor") {
    const colours = S.state.anchors.map((_, index) => channels(colourOf(index)));
    return {
      colours: list.map((id) => colours[anchorOf(id)] ?? null),
      key: S.state.anchors.map((anchor, index) => [colourOf(index), anchor.name]), note: "Images of the anchors; the others are faint.",
    };
  }
  if (how === "text") {
    if (!S.text) return { colours: list.map(() => null), key: [], note: "Choose a concept first." };
    const values = await similarity(S.text);
    return ramp(new Map(list.map((id) => [id, values[id]])), list, `Similarity to “${S.text}”.`);
  }
  if (how === "prompt") return kinds(promptOf, list, "The prompts with the most images.");
  const found = await json(`/api/scores/${encodeURIComponent(how.slice(5))}?run=${run}`);
  const values = new Map(found.ids.map((id, k) => [id, found.values[k]]));
  const note = `${found.row ? `${found.row}: ` : ""}${found.noun ?? "score"} of each image that the test used.`;
  if (found.values.some((value) => typeof value === "string")) {
    return kinds((id) => values.get(id) ?? undefined, list,
      found.said ? "What the judge answered about each image." : note, found.colours);
  }
  // An end that an anchor names has that anchor's colour.
  return ramp(values, list, note, found.poles ?? undefined, turned(found.poles) ? ["--right", "--left"] : undefined);
}
