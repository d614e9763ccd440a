// From a score of the run to the images behind it; the lightbox goes the way back.
import { S, json } from "./store.js";
import { byId, el, many, signed } from "./dom.js";
import * as link from "./link.js";
import { rail, scale } from "./rail.js";
import { Row } from "./rows.js";
import { STATES } from "./states.js";

const SIDES = { low: "left", high: "right" };
const MOST_ROWS = 8;
const rows = new Map();
let tasks = null, run = 0, seen = "", turn = 0;
const ui = {};

function build() {
  ui.run = el("select", { "aria-label": "Run of the tests", on: { change: () => { run = Number(ui.run.value); tasks = null; show(); } } },
    S.sources.map((source, number) => new Option(source.name, number)));
  ui.list = el("div", { class: "tests" });
  ui.one = el("div", { id: "one-test" });
  byId("panel-tests").replaceChildren(el("h2", { text: "Tests of this run" }),
    S.sources.length > 1 ? el("div", { class: "line" }, ui.run) : "", ui.one, ui.list);
}

function markOf(task) {
  const { value, low, high, state, fair_low: from, fair_high: to } = task;
  return { value, low, high, state, side: SIDES[task.side] ?? "plain", fair: from === null || to === null ? null : [from, to] };
}

// A size has no sign.
const numberOf = ({ value, signed: directed }) => (directed ? signed(value, 2) : value.toFixed(2));
const shownAs = (task) => (task.value === null ? signed(null) : `${numberOf(task)}${task.unit}`);

function line(task, chosen) {
  const label = `${task.name}: ${shownAs(task)}; ${STATES[task.state].word}. ${task.sentence}`;
  return el("li", {}, el("button", {
    class: "test", "aria-current": task.id === chosen ? "true" : null, disabled: task.text_only, data: { task: task.id },
    title: task.text_only ? "It measures texts alone: there are no images behind it." : null,
    on: { click: () => choose(task.id, null, true) },
  }, el("span", { class: "nm", text: task.name }), rail(markOf(task), label, { span: task.end, height: 22, dot: 8, withoutMark: "no score" }),
  el("span", { class: `num ${task.state === "clear" && task.side ? `t-${SIDES[task.side]} b` : "muted"}`, text: shownAs(task) })));
}

function renderList(chosen) {
  const families = new Map();
  for (const task of tasks) {
    families.set(task.family, [...(families.get(task.family) ?? []), task]);
  }
  // Every axis is as wide; a family on another scale says where it ends.
  const notes = (list) => [...new Set(list.map((task) => task.ends).filter(Boolean))].join("; ");
  ui.list.replaceChildren(tasks.length ? scale(1, [-1, 0, 1], 0) : "", ...[...families].map(([family, list]) =>
    el("section", {}, el("h3", { class: "small", text: family }),
      notes(list) && el("p", { class: "micro muted", text: notes(list) }),
      el("ul", {}, list.map((task) => line(task, chosen))))));
}

const keyOf = (id, row, label) => JSON.stringify([run, id, row ?? null, label ?? ""]);

async function choose(id, row, focus, label = "") {
  const mine = ++turn;
  link.write({ task: id, row, of: label, run: run || null });
  seen = keyOf(id, row, label);
  renderList(id);
  const task = tasks.find((one) => one.id === id);
  if (!task) { ui.one.replaceChildren(el("p", { class: "small", text: `This run has no test “${id}”.` })); return; }
  ui.one.replaceChildren(el("p", { class: "small muted", text: "Reading its images…" }));
  try {
    const found = await json(`/api/scores/${encodeURIComponent(id)}?run=${run}${row ? `&row=${encodeURIComponent(row)}` : ""}`);
    if (mine === turn) detail(task, found, label);
  } catch (error) { if (mine === turn) ui.one.replaceChildren(el("p", { class: "small", text: error.message })); }
  if (focus) byId("tabs").scrollIntoView({ block: "nearest" });
}

function detail(task, found, label = "") {
  const change = (event) => choose(task.id, event.target.value);
  const names = found.rows.map((name) => new Option(name, name, false, name === found.row));
  const which = found.rows.length > 1 && el("label", {}, "Row ", el("select", { on: { change } }, names));
  const labels = [...new Set(found.labels)].filter((name) => name !== null && name !== undefined);
  // A label may be a prompt that has the word.
  const some = label && !labels.includes(label) && labels.some((name) => holds(name, label));
  const images = el("div");
  const only = (name) => {
    link.write({ of: name });
    seen = keyOf(task.id, link.read().row, name);
    groups(found, name, images);
  };
  const filter = labels.length > 1 && el("select", { on: { change: () => only(filter.value) } },
    new Option(`all ${labels.length}`, ""), some && new Option(`with “${label}”`, label, false, true),
    labels.map((name) => new Option(name, name, false, name === label)));
  ui.one.replaceChildren(el("article", { class: "one-test" },
    el("h3", { text: task.title }), el("p", { class: "verdict", text: task.sentence }),
    task.poles && el("p", { class: "micro muted", text: `◂ ${task.poles[0]} to ${task.poles[1]} ▸` }),
    el("div", { class: "line" }, which, filter && el("label", {}, "Of ", filter)),
    images));
  groups(found, some || labels.includes(label) ? label : "", images);
}

// Whether a text has words in it, not only their letters.
const holds = (text, words) => ` ${text.toLowerCase().split(/[^\p{L}\p{N}]+/u).join(" ")} `.includes(` ${words.toLowerCase()} `);

// What a judge answered about an image, never what somebody is.
const said = ({ said: form }, value) => (value === null ? "no answer" : (form || "{group}").replace("{group}", () => String(value)));

// Numbers with poles: an end in each row. Numbers of groups: a row each. Answers: a row each.
function groups(found, label, box) {
  const exact = found.labels.includes(label);
  const at = [...found.ids.keys()].filter((k) => !label || (exact ? found.labels[k] === label : holds(found.labels[k] ?? "", label)));
  const value = new Map(at.map((k) => [found.ids[k], found.values[k]]));
  const numeric = at.every((k) => typeof found.values[k] === "number");
  const digits = numeric && Math.max(...[...value.values()].map(Math.abs)) < 0.5 ? 3 : 2;
  const text = (id) => (numeric ? signed(value.get(id), digits) : `${S.images[id][1] + 1}`);
  const sets = [];
  if (numeric && found.poles) {
    const ids = at.map((k) => found.ids[k]), [low, high] = found.poles;
    const put = (side, title, keep, sign) => {
      const kept = ids.filter((id) => keep(value.get(id))).sort((a, b) => sign * (value.get(a) - value.get(b)));
      sets.push([side, title, kept, ids.length]);
    };
    put("left", `◂ ${low}`, (v) => v < 0, 1);
    put("right", `${high} ▸`, (v) => v >= 0, -1);
  } else {
    const of = new Map();
    for (const k of at) {
      const name = numeric ? found.labels[k] ?? "" : said(found, found.values[k]);
      of.set(name, [...(of.get(name) ?? []), found.ids[k]]);
    }
    for (const [name, ids] of [...of].sort((a, b) => b[1].length - a[1].length)) {
      if (numeric) ids.sort((a, b) => value.get(b) - value.get(a));
      sets.push(["plain", name, ids, at.length]);
    }
  }
  box.replaceChildren(...sets.slice(0, MOST_ROWS).map(([side, title, ids, all], k) => {
    const key = `${k} ${side}`;
    if (!rows.has(key)) rows.set(key, new Row(side));
    const row = rows.get(key);
    row.show({
      ids, value: text, label: `${title}: ${ids.length} of ${all}`,
      empty: el("p", { class: "emp", text: `None of ${many(all, "image")} here.` }),
      title: [el("b", { class: side === "plain" ? "" : `t-${side}`, text: title }),
        el("span", { class: "faint num", text: ` ${ids.length} of ${all}` })],
    });
    return row.element;
  }), sets.length > MOST_ROWS ? el("p", { class: "small faint", text: `${sets.length - MOST_ROWS} more groups; choose one above.` }) : "");
}

export async function show() {
  if (!ui.list) build();
  const wanted = Number(link.read().run ?? run);
  if (link.read().task && wanted !== run && S.sources[wanted]) {
    run = wanted;
    ui.run.value = run;
    tasks = null;
  }
  if (!tasks) {
    try {
      const reply = await json(`/api/scores?run=${run}`);
      tasks = reply.tasks;
      if (!tasks.length) ui.one.replaceChildren(el("p", { class: "small muted", text: reply.reason || "There are no scores here." }));
    } catch (error) { ui.one.replaceChildren(el("p", { class: "small", text: error.message })); return; }
    renderList(null);
  }
  const asked = link.read();
  if (asked.task && tasks.length && seen !== keyOf(asked.task, asked.row, asked.of)) {
    await choose(asked.task, asked.row ?? null, false, asked.of);
  }
}

export function changed(what) {
  if (what === "brush") rows.forEach((row) => row.mark());
}
