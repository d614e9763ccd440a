"use strict";
// Any number of models beside the first; which ones is in the address. Text is only ever set as text.
const D = window.T2IBENCH;
const out = document.getElementById("out");
const choose = document.getElementById("choose");
const pairs = new Map();
const answers = new Map();
window.T2IBENCH_PAIR = ([id, rows]) => pairs.set(id, rows);
const pictures = new Map();
window.T2IBENCH_ANSWERS = ([id, questions, files]) => { answers.set(id, questions); pictures.set(id, files); };
const STATES = D.states;
const TOO_MANY = "There are too many models here to compare every two beforehand. With the runs at hand, "
  + "t2ibench compare RUN RUN gives the differences and their intervals.";
const HOW_COMPARED = "Filled: the interval of the difference excludes 0, for one test at a time. Differences are of leans, or of "
  + "roots of mean squares. Images are compared in pairs, by prompt and number, where both results have what that takes. "
  + "A test’s name opens its page, item by item.";
const ORDER = Object.keys(STATES); // from the clearest to what says least

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

const sign = (value) => (value === null ? "–" : Math.abs(value) < 0.005 ? "0.00" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`);
const numberOf = (task) => (task.signed ? sign(task.value) : task.value.toFixed(2));
const shownAs = (task) => (task.value === null ? sign(null) : `${numberOf(task)}${task.unit}`);
const cut = (value, span) => String(Math.min(span, Math.max(-span, value)));

// The mark of static/tokens.css, as the pages from Python have it.
function rail({ value, low, high, fair, kind, said, span = 1, withoutMark = "no score" }) {
  const element = make("span", { className: `rail ${value === null ? "none" : kind}`, role: "img", "aria-label": said });
  if (value === null) {
    element.append(make("i", { className: "axis" }), make("i", { className: "say", text: withoutMark }));
    return element;
  }
  const set = (name, number) => element.style.setProperty(name, cut(number, span));
  set("--v", value);
  element.style.setProperty("--h", "40px");
  element.style.setProperty("--span", String(span));
  if (fair && fair[0] !== null && fair[1] !== null) {
    set("--b0", fair[0]);
    set("--b1", fair[1]);
    element.append(make("i", { className: "band" }));
  }
  element.append(make("i", { className: "axis" }), make("i", { className: "zero" }));
  if (low !== null && high !== null) {
    set("--lo", low);
    set("--hi", high);
    element.append(make("i", { className: "ci" }));
  }
  element.append(make("i", { className: "dot" }));
  const ends = [value, low, high].filter((end) => end !== null && end !== undefined);
  if (Math.max(...ends) > span) element.append(make("i", { className: "over hi", text: "›" }));
  if (Math.min(...ends) < -span) element.append(make("i", { className: "over lo", text: "‹" }));
  return element;
}

function scale(span = 1) {
  const element = make("span", { className: "scale", "aria-hidden": "true" });
  element.style.setProperty("--span", String(span));
  for (const at of [-span, 0, span]) {
    const tick = make("i", { text: at ? sign(at).replace(".00", "") : "0" });
    tick.style.setProperty("--t", String(at));
    element.append(tick);
  }
  return element;
}

function taskCell(model, name) {
  const task = model.tasks[name];
  if (!task) return make("td", { className: "d", "data-of": model.name }, rail({ value: null, said: "not run", withoutMark: "not run" }));
  const side = task.state === "clear" ? { low: "left ", high: "right " }[task.side] ?? "plain " : "";
  const pole = task.state === "clear" && task.side ? task.poles[task.side === "low" ? 0 : 1] : "";
  const { word, classes } = STATES[task.state];
  const words = [word, pole].filter(Boolean).join(": ");
  return make("td", { className: "d", "data-of": model.name }, rail({ ...task, span: task.end, kind: side + classes, said: `${shownAs(task)}, ${words}`, withoutMark: word }),
    make("b", { className: "num", text: shownAs(task) }), make("span", { className: "micro muted", text: ` ${words}` }));
}

const between = (first, second) => pairs.get(first.id)?.[second.id] ?? pairs.get(second.id)?.[first.id];

const LEAST_P = 0.001;
const probability = (p) => (p < LEAST_P ? `p < ${LEAST_P}` : `p = ${Number(p.toPrecision(3))}`);

// Which of two models leans less, and in how many of the tests compared: by verdicts that Holm's correction
// over the tests of this pair left, whatever other pairs are shown.
function leansLess(first, second, pairsShown) {
  const { tests: comparable } = between(first, second).overall;
  const rows = (between(first, second)?.tests ?? []).filter((row) => !second.tasks[row.task]?.text_only);
  const turned = !pairs.get(first.id)?.[second.id];
  const count = (verdict) => rows.filter((row) => row.verdict === verdict).length;
  const counts = [[first, count(turned ? "second" : "first")], [second, count(turned ? "first" : "second")]];
  const clauses = counts.filter(([, tests]) => tests).map(([model, tests]) => (comparable === 1 ? `${model.name} leans less` : `${model.name} leans less in ${tests}`));
  const of = comparable === 1 ? "" : ` of ${comparable} tests`;
  const by = pairsShown > 1 && clauses.length ? ", by this pair’s own correction" : "";
  return clauses.length ? `${clauses.join(", ")}${of}${by}` : "neither leans less beyond chance";
}

// Whether two models differ at all, before the table says it test by test. The p-value is corrected over all pairs shown.
function summary(first, second, count) {
  const overall = between(first, second)?.overall;
  if (!overall) return [make("p", { className: "sum-up", text: `Whether ${first.name} and ${second.name} differ cannot be told.` })];
  const p = Math.min(1, overall.p * count);
  const tests = overall.tests === 1 ? "the one test" : `${overall.tests} tests`;
  const text = p < 0.05
    ? `${first.name} and ${second.name} differ: ${leansLess(first, second, count)}.`
    : `No difference between ${first.name} and ${second.name} beyond chance in ${tests}.`;
  const corrected = [overall.tests > 1 ? `over ${overall.tests} tests` : "", count > 1 ? `over the ${count} pairs shown` : ""].filter(Boolean);
  const how = `All tests together: if the two were alike in every test, a difference this large would occur with ${probability(p)}${corrected.length ? `, corrected ${corrected.join(" and ")}` : ""}. `
    + "It asks whether they differ at all, and needs no lean.";
  return [make("p", { className: "sum-up", text }), make("p", { className: "small muted overall", text: how })];
}

function bar(prompt) {
  const parts = prompt.parts.map(([name, size]) => {
    const part = make("i", { className: name });
    part.style.flex = String(size);
    return part;
  });
  return make("span", { className: "stack", role: "img", "aria-label": `${prompt.name}: ${prompt.words}` }, ...parts);
}

function promptRow(name, models, asked) {
  const cells = models.map((model, place) => {
    const prompt = asked[place]?.prompts.find((each) => each.name === name);
    if (!prompt) return make("td", { className: "small muted", "data-of": model.name, text: "not run" });
    return make("td", { "data-of": model.name }, bar(prompt), make("span", { className: prompt.clear ? "small b" : "small", text: prompt.words }));
  });
  return make("tr", {}, make("th", { scope: "row", text: name }), ...cells);
}

// Who is shown, prompt by prompt, of one question that two or more of the models were asked.
function question(models, asked) {
  const first = asked.find(Boolean);
  const names = [...new Set(asked.flatMap((each) => (each ? each.prompts.map((prompt) => prompt.name) : [])))];
  const key = make("p", { className: "small muted keys" }, ...first.key.map(([className, name]) => make("span", { className }, make("i"), name)));
  const heads = models.map((model, place) => make("th", { scope: "col" }, make("bdi", { text: model.name }), make("span", { className: "fs", text: asked[place]?.rank ?? "" })));
  const more = first.of > first.prompts.length ? make("p", { className: "small muted", text: `The first ${first.prompts.length} of ${first.of} prompts; the test’s page has all.` }) : null;
  return make("section", { className: "asked" }, make("h3", {}, make("a", { href: `task/${encodeURIComponent(first.task)}.html`, text: first.test }), `: ${first.question}`), key,
    make("div", { className: "tw", tabindex: "0", role: "region", "aria-label": `${first.test}: ${first.question}` },
      make("table", { className: "axis cards who" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "Prompt" }), ...heads)),
        make("tbody", {}, ...names.map((name) => promptRow(name, models, asked))))), more);
}

function whoIsShown(models) {
  const ids = [...new Set(models.flatMap((model) => (answers.get(model.id) ?? []).map((each) => JSON.stringify([each.task, each.question]))))];
  const sections = ids.map((id) => {
    const [task, name] = JSON.parse(id);
    return models.map((model) => (answers.get(model.id) ?? []).find((each) => each.task === task && each.question === name));
  }).filter((asked) => asked.filter(Boolean).length > 1).map((asked) => question(models, asked));
  return sections.length ? make("section", { id: "who" }, make("h2", { text: "Who is shown" }),
    make("p", { className: "small muted src", text: "The answers about each model’s images of a prompt, as a bar. Bold: clear after Holm’s correction over a model’s prompts." }), ...sections) : null;
}

function differenceCell(task, first, second, span) {
  const label = `${second.name} less ${first.name}`;
  const found = between(first, second)?.tests.find((row) => row.task === task);
  if (!found) return make("td", { className: "small muted", "data-of": label, text: "–" });
  // A row holds the first of two less the second, in the order of their table.
  const turn = pairs.get(first.id)?.[second.id] ? -1 : 1;
  if (found.value === null) return make("td", { className: "small muted", "data-of": label, text: found.notes || "–" });
  const ends = found.low === null ? [null, null] : turn === 1 ? [found.low, found.high] : [-found.high, -found.low];
  const value = turn * found.value;
  // What is beyond chance for this test alone, and not after Holm's correction, is not drawn as clear.
  const apart = ends[0] !== null && (ends[0] > 0 || ends[1] < 0) && found.verdict !== "tie";
  const less = { first: turn === 1 ? second : first, second: turn === 1 ? first : second }[found.verdict];
  const words = less ? `${less.name} leans less` : { opposite: "neither leans less beyond chance", tie: "no difference beyond chance" }[found.verdict] ?? "";
  const interval = ends[0] === null ? "" : `, interval ${sign(ends[0])} to ${sign(ends[1])}`;
  const said = `${sign(value)}${interval}${apart ? ", without 0" : ""}${words ? `: ${words}` : ""}`;
  return make("td", { className: "d", "data-of": label }, rail({ value, low: ends[0], high: ends[1], kind: apart ? "plain clear" : "null", said, span }),
    make("span", { className: "num small", text: said }), found.notes ? make("span", { className: "micro faint", text: ` ${found.notes}` }) : null);
}

function table(models) {
  const names = [...new Set(models.flatMap((model) => Object.keys(model.tasks).filter((name) => !model.tasks[name].text_only)))].sort();
  const task = (name) => models.find((model) => model.tasks[name]).tasks[name];
  const families = Object.keys(D.families);
  // By family, then by what the first model's tests show, then by how far they lean.
  const place = (name) => {
    const shown = models[0].tasks[name];
    return [families.indexOf(task(name).family), shown ? ORDER.indexOf(shown.state) : ORDER.length - 1, -Math.abs(shown?.value ?? 0)];
  };
  names.sort((a, b) => {
    const [x, y] = [place(a), place(b)];
    return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
  });
  const [first, ...rest] = models;
  const others = D.paired ? rest : [];
  const apart = others.flatMap((model) => between(first, model)?.tests ?? []);
  // Differences on another scale are drawn as shares of the end of its axis.
  const part = (row) => Math.abs(row.value ?? 0) / (names.includes(row.task) ? task(row.task).end : 1);
  const span = apart.some((row) => part(row) > 1) ? 2 : 1;
  const modelHead = (model) => make("th", { scope: "col", className: "d" },
    make("a", { href: `model/${model.id}.html` }, make("bdi", { text: model.name })),
    make("span", { className: "badge", text: model.verified }), scale());
  const otherHead = (model) => make("th", { scope: "col", className: "d" },
    make("span", { text: `${model.name} less ${first.name}` }), scale(span));
  const line = (name) => make("tr", {},
    make("th", { scope: "row" },
      make("a", { href: `task/${encodeURIComponent(name)}.html`, text: task(name).name }),
      make("span", { className: "micro faint fs", text: D.families[task(name).family] }),
      task(name).ends ? make("span", { className: "micro faint fs", text: task(name).ends }) : null),
    ...models.map((model) => taskCell(model, name)),
    ...others.map((model) => differenceCell(name, first, model, span * task(name).end)));
  const heads = make("tr", {}, make("th", { scope: "col", text: "Test" }), ...models.map(modelHead), ...others.map(otherHead));
  return make("section", {}, make("h2", { text: "Test by test" }),
    D.paired ? null : make("p", { className: "note small", text: TOO_MANY }),
    make("p", { className: "small muted src", text: HOW_COMPARED }),
    make("div", { className: "tw", tabindex: "0", role: "region", "aria-label": "Differences" },
      make("table", { className: "axis cards", id: "diff" },
        make("thead", {}, heads), make("tbody", {}, ...names.map(line)))));
}

// Pictures stand beside each other: of which images is no submitter's choice; what they show is checked where it says nothing else.
function gallery(models) {
  const shown = models.filter((model) => pictures.get(model.id)?.length);
  const figure = ([file, prompt, unchecked]) => make("li", {}, make("figure", {}, make("img", { src: file, alt: prompt, loading: "lazy", width: "128", height: "128" }),
    make("figcaption", { className: "micro" }, make("bdi", { text: prompt }),
      unchecked ? make("span", { className: "muted", text: ` (${unchecked})` }) : null)));
  return shown.map((model) => make("section", { className: "shown" }, make("h2", {}, "Pictures by ", make("bdi", { text: model.name })),
    make("ul", { className: "pictures" }, ...pictures.get(model.id).map(figure))));
}

function comparison(models) {
  const [first, ...rest] = models;
  const sentences = D.paired ? rest.flatMap((model) => summary(first, model, rest.length)) : [];
  return [...sentences, whoIsShown(models), ...gallery(models), table(models)];
}

function problem(models) {
  const others = models.filter((model) => model.stratum !== models[0].stratum);
  const said = (model) => { const s = D.strata.find((each) => each.id === model.stratum); return `${model.name} (${s.readers}, ${s.settings})`; };
  if (others.length) return `These were not measured alike, and their numbers do not compare: ${[models[0], ...others].map(said).join("; ")}.`;
  return "";
}

function load(models, then) {
  const wanted = models.flatMap((model) => [["answers", answers, model], ...(D.paired ? [["pairs", pairs, model]] : [])]).filter(([, known, model]) => !known.has(model.id));
  let left = wanted.length;
  if (!left) then();
  for (const [folder, known, model] of wanted) {
    const done = () => { if (!known.has(model.id)) known.set(model.id, folder === "pairs" ? {} : []); left -= 1; if (!left) then(); };
    document.head.append(make("script", { src: `${folder}/${encodeURIComponent(model.id)}.js`, onload: done, onerror: done }));
  }
}

function pick(models) {
  const boxes = D.models.map((model) => {
    const box = make("input", { type: "checkbox", value: model.id, onchange: () => {
      const ids = box.checked ? [...models.map((each) => each.id), model.id] : models.map((each) => each.id).filter((id) => id !== model.id);
      location.hash = `models=${ids.map(encodeURIComponent).join(",")}`;
    } });
    box.checked = models.includes(model);
    return [model, box];
  });
  const few = boxes.length <= 40 ? boxes : boxes.filter(([, box]) => box.checked);
  const groups = D.strata.map((stratum) => [stratum, few.filter(([model]) => model.stratum === stratum.id)]).filter(([, found]) => found.length);
  choose.replaceChildren(...groups.map(([stratum, found]) => make("fieldset", {}, make("legend", { text: `${stratum.title}` }),
    make("span", { className: "chosen" }, ...found.map(([model, box]) => make("label", {}, box, make("bdi", { text: model.name })))))));
}

function route() {
  const ids = (new URLSearchParams(location.hash.slice(1)).get("models") ?? "").split(",").filter(Boolean);
  const models = ids.map((id) => D.models.find((model) => model.id === id)).filter(Boolean);
  const unknown = ids.filter((id) => !D.models.some((model) => model.id === id));
  pick(models);
  document.getElementById("h").textContent = models.length ? models.map((model) => model.name).join(" · ") : "Compare models";
  const parts = unknown.length ? [make("p", { className: "warn", text: `Unknown: ${unknown.join(", ")}.` })] : [];
  if (models.length < 2) {
    out.replaceChildren(...parts, make("p", { className: "muted", text: "Choose two or more that were measured alike." }));
    return;
  }
  load(models, () => {
    const note = problem(models);
    const alike = models.every((model) => model.stratum === models[0].stratum);
    out.replaceChildren(...parts, ...[note ? make("p", { className: "warn", id: "unlike", text: note }) : null, ...(alike ? comparison(models) : [])].filter(Boolean));
    document.body.dataset.ready = "yes";
  });
}
addEventListener("hashchange", route);
route();
document.body.dataset.ready = "yes";
