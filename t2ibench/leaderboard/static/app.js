"use strict";
// One page; the address after '#' says what it shows. All text goes in as text, never as markup.
const D = window.T2IBENCH;
const main = document.getElementById("main");
const PUBLISHED = published();
const view = { sort: "name", down: false, find: "", level: "", borda: false, chosen: new Set() };
const LIMIT = 200; // rows at first; a button shows the rest

function make(tag, options = {}, ...inside) {
  const { text, ...rest } = options;
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(rest)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "className") element.className = value;
    else element.setAttribute(key, value);
  }
  if (text !== undefined) element.textContent = text;
  element.append(...inside.filter((child) => child !== null && child !== undefined));
  return element;
}

const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const link = (kind, id, text) => make("a", { href: `#/${kind}/${encodeURIComponent(id)}`, text });

function published() {
  const rows = new Map();
  for (const [name, task] of Object.entries(D.tasks)) {
    for (const published of task.published) {
      if (!rows.has(published.model)) rows.set(published.model, []);
      rows.get(published.model).push({ task: name, family: task.family, scores: published.scores, source: published.source });
    }
  }
  return rows;
}

// A number on its scale: its interval as a bar, the band of a fair model dotted.
function rail({ value, low, high, fair, from }) {
  const at = (number) => 100 * Math.min(1, Math.max(0, (number - from) / (1 - from)));
  const element = make("div", { className: "rail", "aria-hidden": "true" });
  const span = (tag, [a, b], title) => {
    if (a === null || b === null) return;
    const part = make(tag, title ? { title } : {});
    part.style.left = `${at(a)}%`;
    part.style.width = `${Math.max(0.5, at(b) - at(a))}%`;
    element.append(part);
  };
  span("i", [low, high]);
  span("u", fair, "Where a fair model lies");
  const mark = make("b");
  mark.style.left = `${at(value)}%`;
  element.append(mark);
  return element;
}

const sign = (value, digits = 2) => (value === null || value === undefined ? "–" : `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`);
const range = (low, high, show = number) => make("span", { className: "range", text: `[${show(low)}, ${show(high)}]` });
const soft = (text) => make("td", { className: "cell" }, make("span", { className: "soft", text }));

function familyCell(family) {
  if (!family) return soft("not run");
  const { value, low, high, fair, tasks, of, inconclusive, rank, unranked, fewer, rooted } = family;
  if (value === null) return soft(inconclusive ? `inconclusive (${inconclusive} of ${of} tasks)` : "no value");
  const element = make("td", { className: "cell" });
  element.append(make("span", { className: "value", text: rooted ? number(value) : sign(value) }), document.createTextNode(" "));
  if (low !== null) element.append(range(low, high, rooted ? number : sign));
  element.append(rail({ value, low, high, fair: [rooted ? 0 : fair === null ? null : -fair, fair], from: rooted ? 0 : -1 }));
  const measured = tasks + inconclusive;
  const facts = [measured === of ? `${of} tasks` : `${measured} of ${of} tasks`];
  if (inconclusive) facts.push(`${inconclusive} inconclusive`);
  if (fewer) facts.push("fewer images than the tasks ask for");
  facts.push(rank ? `rank ${rank[0] === rank[1] ? rank[0] : `${rank[0]}–${rank[1]}`} of ${rank[2]}` : `not ranked: ${unranked}`);
  if (fair !== null) facts.push(`fair up to ${number(fair)}`);
  element.append(make("small", { text: facts.join(" · ") }));
  return element;
}

function taskCell(task) {
  if (!task) return soft("not run");
  const { text, value, low, high, fair, signed, about, p, images, excluded, inconclusive, direction, reason, fewer } = task;
  const element = make("td", { className: "cell" });
  if (inconclusive) {
    element.append(make("span", { className: "soft", text: value === null ? "inconclusive" : `inconclusive (${text})` }), make("small", { text: inconclusive }));
    return element;
  }
  if (value === null) {
    element.append(make("span", { className: "soft", text: "no value" }), make("small", { text: reason ?? "" }));
    return element;
  }
  element.append(make("span", { className: "value", text }), document.createTextNode(" "));
  if (low !== null) element.append(range(low, high, signed ? sign : number));
  const wide = signed || fair[0] < 0;
  element.append(rail({ value, low, high, fair, from: wide ? -1 : 0 }));
  const facts = [`${images} images${excluded ? `, ${excluded} excluded` : ""}`];
  if (fewer) facts.push(fewer);
  facts.push(`p (Holm) ${p === null ? "–" : p < 0.001 ? "< .001" : number(p, 3)}`);
  if (about) facts.push(about === "these" ? "about these prompts" : "about prompts like these");
  if (fair[1] !== null) facts.push(`fair [${number(fair[0])}, ${number(fair[1])}]`);
  element.append(make("small", { text: facts.join(" · ") }));
  if (direction) element.append(make("small", { text: direction }));
  return element;
}

// What a row is about: its name, how far it was verified, what was run, and how.
const badge = ({ level, verified }) => make("span", { className: verified ? "badge verified" : "badge", title: D.levels[level] ?? "", text: level });
const chip = (text) => make("span", { className: "chip", text });
const named = (model) => make("bdi", {}, link("model", model.id, model.name));
const ran = ({ ran, drawn }) => make("small", { className: "ran", title: drawn ? "Its images were generated again; the model's page says what was compared" : "As the submitter states it; not checked" }, make("bdi", { text: `${drawn ? "" : "stated: "}--model ${ran}` }));
const title = (model) => make("th", { scope: "row" }, named(model), document.createTextNode(" "), badge(model), ran(model), ...model.departures.map(chip));

function rows() {
  const words = view.find.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = D.models.filter((model) => words.every((word) => model.name.toLowerCase().includes(word)) && (!view.level || model.level === view.level));
  const scores = new Map(D.borda.map((row) => [row.id, row.value]));
  const key = (model) => view.sort === "borda" ? scores.get(model.id) : model.families[view.sort]?.square;
  return kept.sort((a, b) => {
    if (a.verified !== b.verified) return a.verified ? -1 : 1; // below, whatever it is sorted by
    if (view.sort === "name") return (view.down ? -1 : 1) * a.name.localeCompare(b.name);
    const [x, y] = [key(a), key(b)];
    // What was not run comes last, whichever way the rest is sorted.
    if (x === undefined || x === null) return y === undefined || y === null ? a.name.localeCompare(b.name) : 1;
    if (y === undefined || y === null) return -1;
    return (view.down ? y - x : x - y) || a.name.localeCompare(b.name);
  });
}

function heading(name, text) {
  const sorted = view.sort === name;
  const sort = () => { view.down = sorted && !view.down; view.sort = name; fill(); document.querySelector(`th[data-name="${name}"] button`).focus(); };
  return make("th", { scope: "col", "data-name": name, "aria-sort": sorted ? (view.down ? "descending" : "ascending") : "none" }, make("button", { text, onclick: sort }));
}

let all = false;
function fill() {
  const table = document.getElementById("table");
  const families = Object.entries(D.families);
  const head = make("tr", {}, make("th", { scope: "col", text: "Compare" }), heading("name", "Model"), ...families.map(([name, text]) => heading(name, text)), view.borda ? heading("borda", "Borda") : null);
  const wanted = rows();
  const shown = all ? wanted : wanted.slice(0, LIMIT);
  const scores = new Map(D.borda.map((row) => [row.id, row]));
  const body = shown.map((model) => {
    const tick = make("input", { type: "checkbox", "aria-label": `Compare ${model.name}`, onchange: () => {
      if (tick.checked) view.chosen.add(model.id); else view.chosen.delete(model.id);
      pick();
    } });
    tick.checked = view.chosen.has(model.id);
    const score = scores.get(model.id);
    return make("tr", { className: model.verified ? "" : "unverified" }, make("td", {}, tick), title(model), ...families.map(([name]) => familyCell(model.families[name])),
      view.borda ? make("td", { text: score ? `${number(score.value)} [${number(score.low)}, ${number(score.high)}]` : model.verified ? "not all families run" : "not verified" }) : null);
  });
  const below = shown.findIndex((model) => !model.verified);
  if (below >= 0) body.splice(below, 0, make("tr", { className: "divide" }, make("th", { scope: "rowgroup", colspan: String(2 + families.length + (view.borda ? 1 : 0)), text: "Not verified: the numbers are the submitters' own and take no part in ranks." })));
  if (!view.level && !view.find) for (const [model, rows] of PUBLISHED) body.push(paper(model, rows, families));
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  const more = document.getElementById("more");
  more.hidden = shown.length === wanted.length;
  more.textContent = `Show all ${wanted.length} models`;
  document.getElementById("found").textContent = `${wanted.length} of ${D.models.length} models`;
}

function paper(model, rows, families) {
  const title = make("th", { scope: "row" }, document.createTextNode(`${model} `), make("span", { className: "badge", text: "published, not recomputable" }));
  const cells = families.map(([name]) => {
    const reported = rows.filter((row) => row.family === name);
    if (!reported.length) return make("td", { className: "cell" }, make("span", { className: "soft", text: "not reported" }));
    const first = reported[0];
    const element = make("td", { className: "cell" });
    element.append(make("span", { text: reported.length === 1 ? scoresOf(first) : `${reported.length} tasks` }));
    element.append(make("small", { text: first.source }));
    if (reported.length > 1) element.append(make("details", {}, make("summary", { text: "values" }), ...reported.map((row) => make("div", {}, link("task", row.task, row.task), document.createTextNode(`: ${scoresOf(row)}`)))));
    return element;
  });
  return make("tr", {}, make("td"), title, ...cells, view.borda ? make("td", { text: "–" }) : null);
}

const scoresOf = (row) => Object.entries(row.scores).map(([name, value]) => `${name} ${value}`).join(", ");

function pick() {
  const go = document.getElementById("compare");
  go.disabled = view.chosen.size !== 2;
  go.textContent = view.chosen.size === 2 ? "Compare the two" : "Tick two models to compare";
}

function home() {
  const find = make("input", { type: "search", id: "find", placeholder: "name of a model", oninput: () => { view.find = find.value; fill(); } });
  find.value = view.find;
  const levels = ["", ...new Set(D.models.map((model) => model.level))];
  const level = make("select", { id: "level", onchange: () => { view.level = level.value; fill(); } }, ...levels.map((level) => new Option(level || "all", level)));
  level.value = view.level;
  const bordas = make("input", { type: "checkbox", id: "borda", onchange: () => { view.borda = bordas.checked; fill(); } });
  bordas.checked = view.borda;
  const bar = make("div", { className: "bar" }, make("label", {}, document.createTextNode("Find "), find), make("label", {}, document.createTextNode("Verified "), level),
    make("label", { title: "Mean share of models that lean more, over families: one number for many things" }, bordas, document.createTextNode(" Borda rank")),
    make("button", { id: "compare", onclick: () => { const [a, b] = view.chosen; location.hash = `#/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`; } }),
    make("span", { id: "found" }));
  main.replaceChildren(bar, make("div", { className: "wrap" }, make("table", { id: "table" })),
    make("p", {}, make("button", { id: "more", onclick: () => { all = true; fill(); } })),
    make("p", { className: "soft", text: "A cell is the root of the mean unbiased squared lean over a family's conclusive tasks, with its 95 % interval; the dotted band is where a fair model lies at this number of images. Ranks are intervals, by the squares, image by image, and only among models measured with the same encoders and judges: models whose ranks overlap cannot be told apart. Inconclusive tasks are left out. “Not run” is not 0." }),
    meanings(), ...leftOut());
  fill();
  pick();
}

function meanings() {
  const used = new Set(D.models.map((model) => model.level));
  const list = make("dl", { id: "levels" });
  for (const [level, text] of Object.entries(D.levels)) list.append(make("dt", {}, make("span", { className: "badge", text: level })), make("dd", { text: used.has(level) ? text : `${text} (No model here.)` }));
  return make("section", {}, make("h3", { text: "What the levels mean" }), list);
}

function leftOut() {
  if (!D.refused.length) return [];
  return [make("h3", { text: "Left out" }), make("p", { className: "soft", text: "Verifying refused these submissions; none of their numbers is shown." }),
    make("ul", { id: "refused" }, ...D.refused.map(({ id, problem }) => make("li", {}, make("bdi", { text: id }), document.createTextNode(`: ${problem}`))))];
}

function modelPage(id) {
  const model = D.models.find((model) => model.id === id);
  if (!model) return missing("model");
  const families = Object.entries(D.families);
  const sections = families.flatMap(([family, name]) => {
    const tasks = Object.keys(model.tasks).filter((task) => D.tasks[task].family === family);
    if (!tasks.length) return [make("h3", { text: name }), make("p", { className: "soft", text: "Not run." })];
    return [make("h3", { text: name }), taskTable(tasks.map((task) => [link("task", task, task), D.tasks[task].title, taskCell(model.tasks[task])]))];
  });
  main.replaceChildren(make("h2", {}, make("bdi", { text: model.name }), document.createTextNode(" "), badge(model)), make("p", {}, ran(model), ...model.departures.map(chip)),
    make("p", { className: "soft", text: `${model.level}: ${D.levels[model.level] ?? ""}` }), ...verdict(model), provenance(model), ...sections);
}

function taskTable(rows) {
  const body = rows.map(([first, text, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first), make("td", { text }), ...cells));
  return make("div", { className: "wrap" }, make("table", {}, make("tbody", {}, ...body)));
}

// What verifying said, and what it could not compare.
function verdict(model) {
  const lists = [["Verifying says", model.notes], ["As the submitter states it", model.unchecked.length ? [model.unchecked.join(", ")] : []]];
  const shown = lists.filter(([, lines]) => lines.length);
  if (!shown.length) return [];
  return [make("dl", { id: "verdict" }, ...shown.flatMap(([name, lines]) => [make("dt", { text: name }), make("dd", {}, ...lines.map((line) => make("div", { text: line })))]))];
}

function provenance(model) {
  const part = (id, heading, facts) => {
    if (!Object.keys(facts).length) return [];
    const list = make("dl", { id });
    for (const [name, value] of Object.entries(facts)) {
      const text = Array.isArray(value) ? value.join(" ") : value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
      list.append(make("dt", { text: name }), make("dd", { text }));
    }
    return [make("h4", { text: heading }), list];
  };
  return make("details", {}, make("summary", { text: "Provenance" }), ...part("checked", "Confirmed by generating images again", model.checked),
    ...part("stated", "Stated by the submitter, not checked: do not run a command that you have not read", model.stated));
}

const order = (task) => (task.inconclusive || task.square === null ? 9 : task.square);

function taskPage(name) {
  const task = D.tasks[name];
  if (!task) return missing("task");
  const measured = D.models.filter((model) => model.tasks[name]).sort((a, b) => b.verified - a.verified || order(a.tasks[name]) - order(b.tasks[name]));
  const body = measured.map((model) => make("tr", { className: model.verified ? "" : "unverified" }, title(model), taskCell(model.tasks[name])));
  for (const published of task.published) body.push(make("tr", {}, make("th", { scope: "row" }, document.createTextNode(`${published.model} `), make("span", { className: "badge", text: "published, not recomputable" })), make("td", { className: "cell" }, make("span", { text: scoresOf(published) }), make("small", { text: published.source }))));
  main.replaceChildren(make("h2", { text: task.title }), make("p", { text: task.description }), make("p", { className: "soft", text: `${name}, version ${task.version} · ${task.citation}` }),
    make("div", { className: "wrap" }, make("table", {}, make("tbody", {}, ...body))),
    make("h3", { text: "What to know" }), make("ul", {}, ...task.notes.map((note) => make("li", { text: note }))));
}

// Which of two models leans less, image by image, comes in a script of its own.
const pairs = new Map();
window.T2IBENCH_PAIR = ([id, rows]) => pairs.set(id, rows);
function paired(id, then) {
  if (!D.paired || pairs.has(id)) { then(); return; }
  const script = make("script", { src: `pairs/${encodeURIComponent(id)}.js`, onload: then, onerror: () => { pairs.set(id, {}); then(); } });
  document.head.append(script);
}

function comparePage(first, second) {
  const places = [first, second].map((id) => D.models.findIndex((model) => model.id === id));
  if (places.includes(-1)) return missing("model");
  const [a, b] = places.sort((x, y) => x - y).map((place) => D.models[place]);
  const names = Object.keys(D.tasks).filter((name) => a.tasks[name] && b.tasks[name]);
  const head = make("tr", {}, make("th", { scope: "col", text: "Task" }), ...[a, b].map((model) => make("th", { scope: "col" }, named(model), document.createTextNode(" "), badge(model), ran(model), ...model.departures.map(chip))), make("th", { scope: "col", text: "Difference, 95 % CI" }));
  const cells = new Map(names.map((name) => [name, make("td", { text: "–" })]));
  const body = names.map((name) => make("tr", {}, make("th", { scope: "row" }, link("task", name, name)), taskCell(a.tasks[name]), taskCell(b.tasks[name]), cells.get(name)));
  main.replaceChildren(make("h2", { text: `${a.name} and ${b.name}` }), make("div", { className: "wrap" }, make("table", { id: "comparison" }, make("thead", {}, head), make("tbody", {}, ...body))),
    ...pictures(a, b),
    make("p", { className: "soft", text: D.paired ? "Images are paired by prompt and index. Of leans the difference is shown, of root mean squares that of the mean squares; ● is an interval without 0, one task at a time." : `There are too many models to compare every two: t2ibench compare ${a.id} ${b.id} does.` }));
  const verdicts = { first: `${a.name} leans less`, second: `${b.name} leans less`, opposite: "neither leans less beyond chance", tie: "no difference beyond chance" };
  for (const model of [a, b]) if (!model.verified) for (const cell of cells.values()) cell.replaceChildren(make("span", { className: "soft", text: `${model.name} was not verified` }));
  if (D.paired && a.verified && b.verified) paired(a.id, () => {
    for (const row of pairs.get(a.id)?.[b.id] ?? []) cells.get(row.task)?.replaceChildren(...difference(row, verdicts));
  });
}

function difference({ value, low, high, verdict, notes }, verdicts) {
  if (value === null) return [make("span", { className: "soft", text: notes || "–" })];
  const beyond = low !== null && (low > 0 || high < 0) ? " ●" : "";
  const text = `${sign(value)}${low === null ? "" : ` [${sign(low)}, ${sign(high)}]`}${beyond}`;
  return [make("span", { text }), make("small", { className: "soft", text: [verdicts[verdict], notes].filter(Boolean).join(" · ") })];
}

function pictures(a, b) {
  const both = Object.keys(a.pictures).filter((prompt) => b.pictures[prompt]);
  if (!both.length) return [];
  const row = (prompt) => make("tr", {}, make("th", { scope: "row", text: prompt }), ...[a, b].map((model) => make("td", {}, ...model.pictures[prompt].map((src) => make("img", { src, alt: `${model.name}: ${prompt}`, loading: "lazy", width: "96", height: "96" })))));
  return [make("h3", { text: "The same prompt, generated from the same seed" }), make("p", { className: "soft", text: "Thumbnails come from the submitters." }), make("div", { className: "wrap" }, make("table", { id: "pictures" }, make("tbody", {}, ...both.map(row))))];
}

function missing(what) { main.replaceChildren(make("h2", { text: `Unknown ${what}.` }), make("p", {}, make("a", { href: "#/", text: "To the table" }))); }

function route() {
  const [, kind, ...ids] = location.hash.split("/").map(decodeURIComponent);
  const pages = { model: modelPage, task: taskPage, compare: comparePage };
  (pages[kind] ?? home)(...ids);
  document.title = `${main.querySelector("h2")?.textContent ?? "Table"} · t2ibench leaderboard`;
  if (kind) { main.focus(); scrollTo(0, 0); }
}

const button = document.getElementById("theme");
function theme(name) {
  document.documentElement.dataset.theme = name;
  button.textContent = name === "dark" ? "Light" : "Dark";
  try { localStorage.setItem("theme", name); } catch { /* a page from disk may have no storage */ }
}
let remembered = null;
try { remembered = localStorage.getItem("theme"); } catch { /* as above */ }
theme(remembered ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
button.onclick = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
addEventListener("hashchange", route);
route();
document.body.dataset.ready = "yes";
