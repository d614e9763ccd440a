// The middle of the page: what a concept shows, how sure that is, and the images behind it.
import { S, anchorOf, anchorOrder, axial, imageColours, imagesOf, json, pole, sideOf, similarity } from "./store.js";
import { byId, el, many, probability, share, signed, term } from "./dom.js";
import { Plot, scatter, strips } from "./plots.js";
import { rail } from "./rail.js";
import { Row } from "./rows.js";
import * as tested from "./tested.js";
import { disagreement, drawnOf, markOf, nameOf, sentence, shareOf, smallestD, whyUnclear } from "./words.js";

export const plots = {
  strip: new Plot("strip", "similarity of the anchors' images"),
  intersection: new Plot("intersection", "two concepts together"),
  inverse: new Plot("inverse", "between the anchors"),
};
const rows = new Map();
const textOf = (id) => S.nodes.get(id)?.text ?? "";

export const mark = () => { rows.forEach((row) => row.mark()); redraw(); };
export const redraw = () => Object.values(plots).forEach((plot) => plot.redraw());

async function chosenText(chosen) {
  if (chosen.length < 2) return textOf(chosen[0]);
  return (await json("/api/text", { tree: S.state.tree, nodes: chosen })).text;
}

function nothing() {
  S.text = "";
  byId("concept").textContent = "none chosen";
  byId("concept").dataset.text = "";
  byId("path").replaceChildren();
  byId("numbers").replaceChildren(el("p", { class: "verdict", text: "Type a word above, or choose a concept of the tree." }));
  for (const id of ["disagree", "own", "acts"]) byId(id).replaceChildren();
  Object.values(plots).forEach((plot) => plot.hide());
  tested.show("");
  anchorRows(null);
}

// `current` says whether this answer is still wanted; `preview` is a text that is only looked at.
export async function views(current, preview = null, drawing = () => {}) {
  const chosen = preview ? [] : S.state.chosen.filter((id) => S.nodes.has(id));
  if (!preview && !chosen.length) { nothing(); return; }
  const text = preview ?? await chosenText(chosen);
  if (!text) { nothing(); return; }
  const [values, anchors, pair] = await Promise.all([
    similarity(text),
    Promise.all(S.state.anchors.map((anchor) => similarity(anchor.prompt))),
    chosen.length === 2 ? Promise.all(chosen.map((id) => similarity(textOf(id)))) : null,
  ]);
  if (!current()) return;
  S.text = text;
  const only = chosen.length === 1 && S.state.tree.nodes.find((node) => node.id === chosen[0])?.label;
  const labels = chosen.map((id) => S.state.tree.nodes.find((node) => node.id === id)?.label || textOf(id));
  byId("concept").textContent = labels.length > 1 ? labels.join(" and ") : only || text;
  byId("concept").dataset.text = text;
  byId("path").textContent = preview ? "a look, not a test: press Enter to test it"
    : chosen.length > 1 ? `${chosen.length} concepts; together “${text}”` : only && only !== text ? `“${text}”` : "";
  numbers(chosen);
  tested.show(preview || labels.length > 1 ? "" : labels[0]);
  anchorRows(values);
  ownImages(text, anchors);
  drawing();
  if (preview) { Object.values(plots).forEach((plot) => plot.hide()); return; }
  // The answer is on the screen before the figures are drawn: of 100,000 images they take a while.
  requestAnimationFrame(() => setTimeout(() => { if (current()) draw(text, values, anchors, pair, chosen); }));
}

function draw(text, values, anchors, pair, chosen) {
  const shown = [...S.images.keys()].filter((number) => anchorOf(number) >= 0), colour = imageColours();
  plots.strip.title.textContent = `How near the anchors' images are to “${text}”`;
  plots.strip.note = noteOf(chosen);
  if (shown.length) plots.strip.show(strips(values, text)); else plots.strip.hide();
  if (pair) {
    const names = chosen.map(textOf);
    plots.intersection.title.textContent = `“${names[0]}” and “${names[1]}” together`;
    const points = shown.map((number) => ({ number, x: pair[0][number], y: pair[1][number], colour: colour(number) }));
    plots.intersection.show(scatter(points, names));
  } else plots.intersection.hide();
  if (!axial()) { plots.inverse.hide(); return; }
  const own = ownOf(text), leans = leansOf(anchors);
  const points = [...shown, ...own].map((number) => ({ number, x: leans(number), y: values[number], colour: colour(number) }));
  plots.inverse.title.textContent = own.length
    ? `${many(own.length, "image")} of “${text}” (grey) between the anchors` : "The anchors' images between their texts";
  const [high, low] = S.state.anchors;
  plots.inverse.show(scatter(points, [`◂ ${low.name} · ${high.name} ▸`, `similarity to “${text}”`], { zero: true }));
}

const ownOf = (text) => [...S.images.keys()].filter((number) => S.prompts[S.images[number][0]] === text && anchorOf(number) < 0);

// Where an image lies between the anchors' texts: +1 as the first anchor's images on average, −1 as the second's.
function leansOf([first, second], run = null) {
  const raw = (number) => first[number] - second[number];
  const mean = (index) => { const ids = imagesOf(index, run); return ids.reduce((sum, id) => sum + raw(id), 0) / (ids.length || 1); };
  const [a, b] = [mean(0), mean(1)];
  const middle = (a + b) / 2, half = (a - b) / 2 || 1;
  return (number) => (raw(number) - middle) / half;
}

const noteOf = (chosen) => chosen.slice(0, 1).flatMap((id) => S.nodes.get(id)?.scores ?? []).filter(Boolean)
  .map((score) => `lean ${signed(score.beyond_words, 3)}, ${probability(score.p_holm)} (Holm), D ${score.kolmogorov_smirnov_distance.toFixed(2)}, `
    + `n ${score.n.join(" and ")}`)
  .concat(S.encoder).join(" · ");

function numbers(chosen) {
  const blocks = [], warnings = [];
  for (const id of chosen.slice(0, 2)) {
    const known = S.nodes.get(id);
    (known?.scores ?? []).forEach((score, at) => {
      const several = S.sources.length > 1 || chosen.length > 1;
      const name = [chosen.length > 1 && known.text, S.sources.length > 1 && S.sources[at].name].filter(Boolean).join(" · ");
      blocks.push(block(known.text, score, several ? name : ""));
      const found = disagreement(score);
      if (found) warnings.push(warning(known.text, found));
    });
  }
  byId("numbers").replaceChildren(...blocks);
  byId("disagree").replaceChildren(...warnings);
}

function block(text, score, name) {
  const title = name && el("p", { class: "run-name small", text: name });
  if (!score) return el("div", {}, title, el("p", { class: "facts", text: "Fewer than two anchors have images here." }));
  const mark = markOf(score);
  const line = el("p", { class: "verdict" });
  if (score.verdict === "leans") line.append("Leans to ", pole(score.lean), `: ${score.says}.`);
  else if (score.verdict === "no_lean") line.append(whyUnclear(score));
  else line.append(el("b", { text: "Cannot tell. " }), `${score.says[0].toUpperCase()}${score.says.slice(1)}.`);
  const ends = axial() ? [pole(1), pole(0)] : [el("span"), el("span")];
  ends.forEach((end) => end.classList.add("micro"));
  const drawn = drawnOf(score);
  return el("div", {}, title, line,
    el("div", { class: "one" }, ends[0], rail(mark, sentence(text, score), { span: S.span, height: 34, dot: 12, axis: true }), ends[1]),
    el("p", { class: "facts num" }, term("Lean", "lean"), ` ${signed(mark.value, 3)}`,
      ...(mark.low === null ? [] : [" (", term("95 %"), ` ${signed(mark.low, 3)} to ${signed(mark.high, 3)})`]),
      " · ", term("with the anchors' words", "as it is"), ` ${signed(score.similarity_difference, 3)}`,
      ` · further than ${share(score.percentile)} of `, term("everyday words", "percentile"), " · ",
      term(probability(score.p_holm), "p"), " (Holm)"),
    el("p", { class: "facts num" }, term("D"), ` ${score.kolmogorov_smirnov_distance.toFixed(2)} · n = ${score.n.join(" and ")}: only D ≥ `,
      `${smallestD(score.n).toFixed(2)} can be told from chance`),
    drawn && el("p", { class: "facts" }, term("Drawn", "drawn"), `: ${drawn}`));
}

function warning(text, { value, forward, inverse, share }) {
  return el("div", { class: "warn", role: "note" },
    el("p", { class: "b", text: `! Forward and inverse disagree about “${text}”.` }),
    el("div", { class: "fi" },
      el("div", {}, el("p", { class: "micro faint", text: "Forward: which anchor's images are nearer the word?" }),
        el("p", { class: "num" }, el("b", { class: `t-${sideOf(forward)}`, text: signed(value, 2) }), ` to ${nameOf(forward)}`)),
      el("div", {}, el("p", { class: "micro faint", text: "Inverse: which anchor are images of it nearer?" }),
        el("p", { class: "num" }, el("b", { class: `t-${sideOf(inverse)}`, text: shareOf(share)[0] }),
          ` nearer ${nameOf(inverse)} ${shareOf(share)[1]}`))),
    el("p", { class: "small muted", text: "The word and its images are different questions, and an encoder may place a word "
      + "where no image puts it. Neither is picked here: quote the two together." }));
}

const ruled = (n) => Math.round(100 * (1 - 0.05 ** (1 / n)));

const rowOf = (key, kind) => {
  if (!rows.has(key)) rows.set(key, new Row(kind));
  return rows.get(key);
};

// The anchors' images, most to least like the concept; a row for each anchor and run.
function anchorRows(values) {
  const wanted = [], three = (value) => signed(value, 3).replace("+", "");
  for (const index of anchorOrder()) {
    S.sources.forEach((source, run) => {
      const ids = imagesOf(index, run);
      const anchor = S.state.anchors[index];
      if (S.sources.length > 1 && !ids.length) return;
      const row = rowOf(`${anchor.prompt}\n${run}\n${sideOf(index)}`, sideOf(index));
      if (values) ids.sort((a, b) => values[b] - values[a]);
      const where = S.sources.length > 1 ? ` · ${source.name}` : "", count = many(ids.length, "image");
      row.show({
        ids, value: (id) => (values ? three(values[id]) : String(S.images[id][1] + 1)),
        title: [pole(index), el("span", { class: "faint num", text: ` ${count}${where}${values ? ", most to least like it" : ""}` })],
        label: `${anchor.name}${where}: ${count}${values ? `, most to least like “${S.text}”` : ""}`,
        empty: el("p", { class: "emp", text: `No image has the prompt “${anchor.prompt}”.` }),
      });
      wanted.push(row.element);
    });
  }
  place(byId("rows"), wanted);
}

// Nothing moves in the document that has its place already: moving would end an animation and lose the focus.
function place(box, wanted) {
  if (wanted.length === box.children.length && wanted.every((one, k) => one === box.children[k])) return;
  box.replaceChildren(...wanted);
}

// Images of the concept itself, by the side that they lie on.
function ownImages(text, anchors) {
  const all = ownOf(text), wanted = [];
  S.sources.forEach((source, run) => {
    const own = all.filter((id) => S.images[id][2] === run);
    if (axial() && own.length) wanted.push(...ownRows(text, own, leansOf(anchors, run), run));
  });
  place(byId("own"), wanted);
}

function ownRows(text, own, leans, run) {
  const values = new Map(own.map((id) => [id, leans(id)])), made = [];
  const where = S.sources.length > 1 ? ` · ${S.sources[run].name}` : "";
  const reason = [...S.nodes.values()].find((node) => node.text === text)?.scores?.[run]?.inverse?.reason;
  const rule = `${own.length} made, 0 here: a true share of up to ${ruled(own.length)} in 100 could still show none.`;
  for (const index of anchorOrder()) {
    const sign = index === 0 ? 1 : -1;
    const ids = own.filter((id) => sign * values.get(id) > 0).sort((a, b) => sign * (values.get(b) - values.get(a)));
    const row = rowOf(`own\n${index}\n${run}`, sideOf(index));
    row.show({
      ids, value: (id) => signed(values.get(id), 1),
      title: ["Images of it nearer ", pole(index), el("span", { class: "faint num", text: ` ${ids.length} of ${own.length}${where}` })],
      label: `Images of “${text}” nearer ${nameOf(index)}${where}: ${ids.length} of ${own.length}`,
      empty: el("p", { class: "emp" }, "No image of it falls on this side. ",
        el("span", { class: "faint", text: reason ? "" : rule })),
    });
    made.push(row.element);
  }
  if (reason) made.push(el("p", { class: "note small muted", text: `${reason[0].toUpperCase()}${reason.slice(1)}.` }));
  return made;
}
