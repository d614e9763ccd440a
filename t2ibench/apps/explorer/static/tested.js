// What the run's own tests found about a word, and the way to the images behind each.
import { S, json, turned } from "./store.js";
import { byId, el, many, signed } from "./dom.js";
import { roundUp } from "./geometry.js";
import { rail, scale } from "./rail.js";
import { STATES } from "./states.js";

// “A photo of a nurse”, gender: a prompt, and what was asked about it.
const quoted = (item) => item.split(" | ").map((part, k) => (k ? part : `“${part}”`)).join(", ");

let turn = 0, shown = "";

// A row with its poles on the sides and in the colours of the anchors that they name; others have no colour.
function oriented(row) {
  const toward = row.state === "clear" && row.poles && row.side ? row.poles[row.side === "low" ? 0 : 1] : "";
  const over = row.square ? null : turned(row.poles);
  if (over === null) return { ...row, toward, side: "plain" };
  if (!over) return { ...row, toward, side: row.side === "high" ? "right" : "left" };
  const [from, to] = row.low === null ? [null, null] : [-row.high, -row.low];
  return {
    ...row, toward, value: -row.value, low: from, high: to, poles: [...row.poles].reverse(),
    side: row.side === "low" ? "right" : "left",
  };
}

// A number with its direction; which sign a test gives it is told by its side here.
const size = ({ value, square, poles }) => (square ? value.toFixed(2) : poles ? Math.abs(value).toFixed(2) : signed(value, 2));
const number = (row) => `${size(row)}${row.unit}`;

function mark({ row, run, name }, span, ticks) {
  const { state, toward, item, family } = row;
  const where = S.sources.length > 1 ? ` · ${S.sources[run].name}` : "";
  const interval = row.low === null ? "" : `, 95\u00a0% interval ${signed(row.low, 2)} to ${signed(row.high, 2)}`;
  const said = `${item}, ${family}, ${row.name}${where}: ${number(row)}${interval}; ${toward || STATES[state].word}`;
  return el("span", { class: "tst-one" },
    el("small", { class: "micro faint", text: [name, row.n && many(row.n, "image"), where.slice(3)].filter(Boolean).join(" · ") }),
    rail(row, said, { span: span * row.end, height: 22, dot: 9, axis: true, ticks: ticks.map((tick) => tick * row.end) }),
    el("span", { class: "num tst-v" }, el("b", { class: toward ? `t-${row.side}` : state === "clear" ? "" : "muted", text: number(row) }),
      " ", el("small", { class: "micro faint", text: toward || STATES[state].word })));
}

function line(entry, span, ticks) {
  const { row, run } = entry;
  const open = () => document.dispatchEvent(new CustomEvent("test", { detail: { task: row.task, row: row.row, label: row.item, run } }));
  return el("li", { class: "tst" },
    el("button", { class: "link", text: `${row.family}: ${row.name}`, on: { click: open } }),
    el("span", { class: "tst-rail" }, mark(entry, span, ticks),
      row.poles && el("span", { class: "tst-poles micro faint", "aria-hidden": "true" },
        row.poles.map((pole) => el("span", { text: pole })))));
}

function section(word, entries) {
  // As shares of the end of each row's scale, which is 1 for leans.
  const parts = ({ row }) => [row.value, row.low, row.high].map((end) => Math.abs(end ?? 0) / row.end);
  const span = roundUp(Math.max(1, ...entries.flatMap(parts)));
  const clear = entries.filter(({ row }) => row.state === "clear").length;
  const runs = S.sources.length > 1 ? "These runs’" : "This run’s";
  const ticks = [-1, -0.5, 0.5, 1];
  return el("section", { class: "pl", "aria-labelledby": "tested-h" },
    el("h3", { id: "tested-h", class: "ph" }, el("b", { text: `${runs} tests of “${word}”: ${clear} of ${entries.length} clear` })),
    entries.length ? el("div", { class: "tst-axis" }, el("span"), el("span", { class: "tst-one" },
      el("span"), scale(span, [-1, 0, 1], 0), el("span"))) : null,
    el("ul", { class: "tsts" }, entries.map((one) => line(one, span, ticks))));
}

// `word` is a concept as it is called in the tree; nothing is shown where no test asks about it.
export async function show(word) {
  const key = JSON.stringify([word, S.sources.length, S.images.length, S.state.anchors]);
  if (key === shown) return;
  shown = key;
  const mine = ++turn, box = byId("tested");
  if (!word) { box.replaceChildren(); return; }
  let all;
  try {
    all = await Promise.all(S.sources.map((_, run) => json(`/api/tested?run=${run}&words=${encodeURIComponent(word)}`)));
  } catch { all = []; }
  if (mine !== turn) return;
  const entries = all.flatMap(({ rows }, run) =>
    rows.map((row) => ({ row: oriented(row), run, name: row.item.toLowerCase() === word.toLowerCase() ? "" : quoted(row.item) })));
  const order = [...new Set(entries.map(({ row }) => `${row.task} ${row.item}`))];
  const place = ({ row }) => order.indexOf(`${row.task} ${row.item}`);
  entries.sort((a, b) => place(a) - place(b));
  box.replaceChildren(...(entries.length ? [section(word, entries)] : []));
}
