// The run's tests and their rows: each number leads to all of its images.
import { json, say } from "./store.js";
import { byId, el, many, signed } from "./dom.js";
import { rail, scale } from "./rail.js";
import { STATES } from "./states.js";
import { W } from "./wall-data.js";

const SIDES = { low: "left", high: "right" };
const MOST_ROWS = 40;
let tasks = [], choose = () => {}, turn = 0;

export const nameOf = (id) => tasks.find((task) => task.id === id)?.name ?? id;

const markOf = ({ value, low, high, state, side, fair_low: from = null, fair_high: to = null }) => ({
  value, low, high, state, side: SIDES[side] ?? "plain", fair: from === null || to === null ? null : [from, to],
});
const shownAs = (row) => (row.value === null ? signed(null) : `${row.signed && !row.square ? signed(row.value, 2) : row.value.toFixed(2)}${row.unit}`);
const toward = ({ state, side, poles }) => (state === "clear" && side && poles ? poles[side === "low" ? 0 : 1] : STATES[state].word);

function line(task) {
  const label = `${task.name}: ${shownAs(task)}; ${STATES[task.state].word}. ${task.sentence}`;
  return el("li", { data: { task: task.id } }, el("button", {
    class: "test", disabled: task.text_only, title: task.text_only ? "It measures texts alone: there are no images behind it." : task.sentence,
    on: { click: () => choose(task.id) },
  }, el("span", { class: "nm", text: task.name }), rail(markOf(task), label, { span: task.end, height: 22, dot: 8, withoutMark: "no score" }),
  el("span", { class: `num ${task.state === "clear" ? "b" : "muted"}`, text: shownAs(task) })));
}

export async function load(act) {
  choose = act;
  const mine = ++turn;
  const found = await json(`/api/wall/tests?run=${W.run}`);
  if (mine !== turn) return;
  tasks = found.tasks;
  byId("tests-note").textContent = found.reason || `${many(tasks.length, "test")}. A click shows all images behind a number.`;
  const families = new Map();
  for (const task of tasks) families.set(task.family, [...(families.get(task.family) ?? []), task]);
  const ends = (list) => [...new Set(list.map((task) => task.ends).filter(Boolean))].join("; ");
  byId("test-list").replaceChildren(tasks.length ? scale(1, [-1, 0, 1], 0) : "", ...[...families].map(([family, list]) =>
    el("section", {}, el("h3", { class: "small", text: family }), ends(list) && el("p", { class: "micro muted", text: ends(list) }),
      el("ul", {}, list.map(line)))));
}

function row(task, one, chosen) {
  const group = one.group && one.group !== one.item && !one.item.endsWith(`(${one.group})`) ? one.group : "";
  const label = `${one.item}${group && `, ${group}`}: ${shownAs(one)}; ${toward(one)}`;
  const images = [group, one.n === null ? "" : many(one.n, "image")].filter(Boolean).join(", ");
  const isChosen = one.item === chosen.row && (!chosen.group || one.group === chosen.group);
  return el("li", {}, el("button", {
    class: "test", disabled: !one.images, "aria-current": isChosen ? "true" : null,
    title: one.images ? null : "Which images it was computed from is not stored apart: the test’s own number shows all.",
    on: { click: () => choose(task, one.item, { group: one.group, focus: true }) },
  }, el("span", { class: "nm" }, one.item, " ", el("small", { class: "faint", text: images })),
  rail(markOf(one), label, { span: Math.max(one.end, Math.abs(one.value ?? 0)), height: 20, dot: 8 }),
  el("span", { class: "num" }, el("span", { class: one.state === "clear" ? "b" : "muted", text: shownAs(one) }))));
}

// The sentence and the rows of the test that is chosen, below its line.
export async function detail(id, name, group) {
  const chosen = { row: name, group };
  document.querySelector("#test-rows")?.remove();
  for (const item of byId("test-list").querySelectorAll("[data-task]")) {
    item.firstChild.setAttribute("aria-current", item.dataset.task === id && !name ? "true" : "false");
  }
  if (id === null) return;
  let found;
  try { found = await json(`/api/wall/rows/${encodeURIComponent(id)}?run=${W.run}`); } catch (error) { say(error.message); return; }
  if (W.test?.task !== id) return;
  document.querySelector("#test-rows")?.remove();
  const item = [...byId("test-list").querySelectorAll("[data-task]")].find((one) => one.dataset.task === id);
  const more = found.rows.length - MOST_ROWS;
  const list = el("ul", {}, found.rows.slice(0, MOST_ROWS).map((one) => row(id, one, chosen)));
  const rest = more > 0 && el("button", { text: `${more} more rows`, on: { click: (event) => {
    list.append(...found.rows.slice(MOST_ROWS).map((one) => row(id, one, chosen)));
    event.target.remove();
  } } });
  item?.append(el("div", { id: "test-rows" }, el("p", { class: "small", text: found.sentence }),
    found.poles && el("p", { class: "micro faint ends" }, el("span", { text: `◂ ${found.poles[0]}` }), el("span", { text: `${found.poles[1]} ▸` })), list, rest));
}
