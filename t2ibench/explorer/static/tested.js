// What the run's own tests found about the concept's word, and the way to the images behind each.
import { S, json } from "./store.js";
import { byId, el, many, signed } from "./dom.js";
import { rail } from "./rail.js";

const SIDES = { low: "left", high: "right" };
const WORDS = { clear: "clear", not_clear: "no clear lean", cannot_tell: "cannot tell", no_score: "no score" };
let turn = 0, shown = "";

const number = ({ value, square }) => (square ? value.toFixed(2) : signed(value, 2));

function line(row, run, span) {
  const { state, side, poles, n, item, name, family, task } = row;
  const toward = state === "clear" && poles && side ? poles[side === "low" ? 0 : 1] : "";
  const where = S.sources.length > 1 ? ` · ${S.sources[run].name}` : "";
  const interval = row.low === null ? "" : `, 95 % interval ${signed(row.low, 2)} to ${signed(row.high, 2)}`;
  const said = `${item}, ${family}, ${name}${where}: ${number(row)}${interval}; ${WORDS[state]}${toward ? `, ${toward}` : ""}`;
  const open = () => document.dispatchEvent(new CustomEvent("test", { detail: { task, row: row.row, label: item, run } }));
  const same = item.toLowerCase() === byId("concept").textContent.toLowerCase();
  return el("li", { class: "tst" },
    el("span", {}, el("button", { class: "link", text: `${family}: ${name}`, on: { click: open } }),
      el("small", { class: "micro faint", text: [same ? "" : `“${item}”`, n && many(n, "image"), where.slice(3)].filter(Boolean).join(" · ") })),
    el("span", { class: "tst-rail" },
      rail({ ...row, side: SIDES[side] ?? "plain" }, said, { span, height: 22, dot: 9, axis: true }),
      poles && el("span", { class: "tst-poles micro faint", "aria-hidden": "true" }, el("span", { text: poles[0] }), el("span", { text: poles[1] }))),
    el("span", { class: "num tst-v" }, el("b", { class: toward ? `t-${SIDES[side]}` : state === "clear" ? "" : "muted", text: number(row) }),
      el("small", { class: "micro faint", text: toward || WORDS[state] })));
}

// `words` is the concept as it is called in the tree; nothing is shown where no test asks about it.
export async function show(words, text) {
  const key = JSON.stringify([words, text, S.sources.length]);
  if (key === shown) return;
  shown = key;
  const mine = ++turn, box = byId("tested");
  if (!words) { box.replaceChildren(); return; }
  let all;
  try {
    all = await Promise.all(S.sources.map((_, run) => json(`/api/tested?run=${run}&words=${encodeURIComponent(words)}`)));
  } catch { all = []; }
  if (mine !== turn) return;
  const rows = all.flatMap(({ rows: found }, run) => found.map((row) => [row, run]));
  if (!rows.length) { box.replaceChildren(); return; }
  if (S.sources.length > 1) { // the same test of every run together, in the order of the first
    const order = [...new Set(rows.map(([row]) => `${row.task} ${row.item}`))];
    rows.sort(([a, x], [b, y]) => order.indexOf(`${a.task} ${a.item}`) - order.indexOf(`${b.task} ${b.item}`) || x - y);
  }
  const span = Math.max(1, ...rows.map(([row]) => row.span));
  const clear = rows.filter(([row]) => row.state === "clear").length;
  box.replaceChildren(el("section", { class: "pl", "aria-labelledby": "tested-h" },
    el("h3", { id: "tested-h", class: "ph" }, el("b", { text: `${S.sources.length > 1 ? "These runs’" : "This run’s"} tests of “${words}”: ${clear} of ${rows.length} clear` })),
    el("p", { class: "small muted", text: "They measure images generated of it, and answer whether the model leans. The lean above asks another "
      + "question: which anchor’s images this encoder finds nearer the word." }),
    el("ul", { class: "tsts" }, rows.map(([row, run]) => line(row, run, span)))));
}
