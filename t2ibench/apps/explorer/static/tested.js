// What the run's own tests found about a word, or about two side by side, and the way to the images behind each.
import { S, anchorFor, axial, commit, imagesWith, json, promptFor, say } from "./store.js";
import { byId, el, many, signed } from "./dom.js";
import { roundUp } from "./geometry.js";
import { rail, scale } from "./rail.js";
import { Row } from "./rows.js";
import { WORDS } from "./words.js";

// “A photo of a nurse”, gender: a prompt, and what was asked about it.
const quoted = (item) => item.split(" | ").map((part, k) => (k ? part : `“${part}”`)).join(", ");

const images = [new Row("plain"), new Row("plain")];
let turn = 0, shown = "";

// A row with its poles on the sides and in the colours of the anchors that they name; others have no colour.
function oriented(row) {
  const toward = row.state === "clear" && row.poles && row.side ? row.poles[row.side === "low" ? 0 : 1] : "";
  const [low, high] = axial() && row.poles && !row.square ? row.poles.map(anchorFor) : [-1, -1];
  if (low < 0 && high < 0) return { ...row, toward, side: "plain" };
  if (low !== 0 && high !== 1) return { ...row, toward, side: row.side === "high" ? "right" : "left" };
  const [from, to] = row.low === null ? [null, null] : [-row.high, -row.low];
  return {
    ...row, toward, value: -row.value, low: from, high: to, poles: [...row.poles].reverse(),
    side: row.side === "low" ? "right" : "left",
  };
}

// A number with its direction; which sign a test gives it is told by its side here.
const number = ({ value, square, poles }) => (square ? value.toFixed(2) : poles ? Math.abs(value).toFixed(2) : signed(value, 2));

function mark({ row, run, name }, span, ticks) {
  const { state, toward, item, family } = row;
  const where = S.sources.length > 1 ? ` · ${S.sources[run].name}` : "";
  const interval = row.low === null ? "" : `, 95 % interval ${signed(row.low, 2)} to ${signed(row.high, 2)}`;
  const said = `${item}, ${family}, ${row.name}${where}: ${number(row)}${interval}; ${toward || WORDS[state]}`;
  return el("span", { class: "tst-one" },
    el("small", { class: "micro faint", text: [name, row.n && many(row.n, "image"), where.slice(3)].filter(Boolean).join(" · ") }),
    rail(row, said, { span, height: 22, dot: 9, axis: true, ticks }),
    el("span", { class: "num tst-v" }, el("b", { class: toward ? `t-${row.side}` : state === "clear" ? "" : "muted", text: number(row) }),
      " ", el("small", { class: "micro faint", text: toward || WORDS[state] })));
}

// One test: a mark for each run and each word that it has.
function line(entries, span, ticks) {
  const [{ row, run }] = entries;
  const open = () => document.dispatchEvent(new CustomEvent("test", { detail: { task: row.task, row: row.row, label: row.item, run } }));
  return el("li", { class: "tst" },
    el("button", { class: "link", text: `${row.family}: ${row.name}`, on: { click: open } }),
    el("span", { class: "tst-rail" }, entries.map((one) => mark(one, span, ticks)),
      row.poles && el("span", { class: "tst-poles micro faint", "aria-hidden": "true" },
        row.poles.map((pole) => el("span", { text: pole })))));
}

function section(words, entries) {
  const span = roundUp(Math.max(1, ...entries.flatMap(({ row }) => [row.value, row.low, row.high].map((one) => Math.abs(one ?? 0)))));
  const clear = entries.filter(({ row }) => row.state === "clear").length;
  const runs = S.sources.length > 1 ? "These runs’" : "This run’s";
  const title = words.map((word) => `“${word}”`).join(" and ");
  const groups = new Map(); // the same test of every run and word together, in the order of the first
  for (const one of entries) {
    const key = words.length > 1 ? one.row.task : `${one.row.task} ${one.row.item} ${one.run}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const ticks = [-1, -0.5, 0.5, 1];
  return el("section", { class: "pl", "aria-labelledby": "tested-h" },
    el("h3", { id: "tested-h", class: "ph" }, el("b", { text: `${runs} tests of ${title}: ${clear} of ${entries.length} clear` })),
    entries.length ? el("div", { class: "tst-axis" }, el("span"), el("span", { class: "tst-one" },
      el("span"), scale(span, [-1, 0, 1], 0), el("span"))) : null,
    el("ul", { class: "tsts" }, [...groups.values()].map((list) => line(list, span, ticks))));
}

function sideBySide(words) {
  const sets = words.map((word, k) => {
    const ids = imagesWith(word);
    images[k].show({
      ids, value: (id) => String(S.images[id][1] + 1), label: `Images of “${word}”: ${ids.length}`,
      title: [el("b", { text: word }), el("span", { class: "faint num", text: ` ${many(ids.length, "image")}` })],
      empty: el("p", { class: "emp", text: `No image has a prompt with “${word}” yet.` }),
    });
    return images[k].element;
  });
  const swap = () => {
    const missing = words.find((word) => !S.prompts.includes(promptFor(word)));
    if (missing) { say(`No prompt ends with “${missing}”: generate images of it first.`); return; }
    commit((state) => {
      state.anchors = words.map((word, k) => ({ name: word, prompt: promptFor(word), colour: state.anchors[k]?.colour ?? "#0072b2" }));
    });
  };
  return [el("div", { class: "two" }, sets),
    el("p", { class: "acts" }, el("button", { id: "as-anchors", text: "Make these two the anchors", on: { click: swap } }))];
}

// `words` are concepts as they are called in the tree; nothing is shown where there is one and no test asks about it.
export async function show(words) {
  const key = JSON.stringify([words, S.sources.length, S.images.length, S.state.anchors]);
  if (key === shown) return;
  shown = key;
  const mine = ++turn, box = byId("tested");
  if (!words.length) { box.replaceChildren(); return; }
  const asked = words.flatMap((word) => S.sources.map((_, run) => ({ word, run })));
  let all;
  try {
    all = await Promise.all(asked.map(({ word, run }) => json(`/api/tested?run=${run}&words=${encodeURIComponent(word)}`)));
  } catch { all = []; }
  if (mine !== turn) return;
  const same = (item, word) => item.toLowerCase() === word.toLowerCase();
  const entries = all.flatMap(({ rows }, k) => {
    const { word, run } = asked[k];
    return rows.filter(({ item }) => words.length < 2 || same(item, word))
      .map((row) => ({ row: oriented(row), run, name: words.length > 1 ? word : same(row.item, word) ? "" : quoted(row.item) }));
  });
  const order = [...new Set(entries.map(({ row }) => `${row.task} ${words.length > 1 ? "" : row.item}`))];
  const place = ({ row }) => order.indexOf(`${row.task} ${words.length > 1 ? "" : row.item}`);
  entries.sort((a, b) => place(a) - place(b));
  const two = words.length > 1;
  box.replaceChildren(...(entries.length || two ? [section(words, entries)] : []), ...(two ? sideBySide(words) : []));
}
