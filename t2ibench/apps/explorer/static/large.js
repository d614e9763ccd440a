// One image in full size: who answered what about it, and the button that says that an answer is wrong.
import { json, say } from "./store.js";
import { byId, el } from "./dom.js";
import { W } from "./wall-data.js";

const UNKNOWN = "unknown", NOT_SHOWN = "not in the picture";
const NAME = "t2ibench-labeller";
const box = byId("large");
let list = [], at = 0, around = {}, turn = 0;
let unstored = ""; // the name, where the browser stores none

export function open(numbers, index, options) {
  [list, at, around] = [numbers, index, options];
  show();
  if (!box.open) box.showModal();
  byId("large-close").focus();
}

function show() {
  const number = list[at], [prompt, index, status] = W.images[number];
  const text = W.prompts[prompt];
  const step = (by, name, label) => el("button", { class: "step", text: name, "aria-label": label, disabled: list[at + by] === undefined, on: { click: () => go(by) } });
  const picture = W.hasFile(number)
    ? el("a", { href: `/wall/${W.run}/image/${number}`, target: "_blank", rel: "noopener", title: "Open the file by itself" },
      el("img", { src: `/wall/${W.run}/image/${number}`, alt: `Image ${index + 1} of “${text}”` }))
    : el("p", { class: "emp", text: `There is no image: ${W.statuses[status]}.` });
  const answers = el("div", { class: "answers", "aria-live": "polite" }), facts = el("dl", { class: "facts-list" });
  const source = el("div");
  box.replaceChildren(
    el("div", { class: "large-image" }, step(-1, "‹", "Previous image"), picture, step(1, "›", "Next image")),
    el("div", { class: "large-text" }, el("h2", { id: "large-title", text }),
      el("p", { class: "small muted num", text: `Image ${index + 1} of the prompt · ${at + 1} of ${list.length}` }),
      source, answers, facts, el("p", { class: "acts" }, el("button", { id: "large-close", text: "Close", on: { click: () => box.close() } }))));
  describe(number, answers, facts, source);
}

// An edit has the image that it was made from beside it.
function edited(number, prompt) {
  return el("figure", { class: "source" },
    el("img", { src: `/wall/${W.run}/source/${number}`, alt: `The image before the edit, of “${prompt}”` }),
    el("figcaption", { class: "small muted", text: `Before the edit: ${prompt}` }));
}

async function describe(number, answers, facts, source) {
  const mine = ++turn;
  let found;
  try { found = await json(`/api/wall/image/${number}?run=${W.run}&labeller=${encodeURIComponent(labeller())}`); } catch (error) { found = { questions: [], problem: error.message }; }
  if (mine !== turn) return;
  if (source && found.source) source.replaceChildren(edited(number, found.source));
  const rows = { "why not": found.reason, "rewritten to": found.rewritten, seed: found.seed, "SHA-256": found.sha256, problem: found.problem };
  facts.replaceChildren(...Object.entries(rows).filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { class: "num", text: String(value) })]));
  answers.replaceChildren(...found.questions.map((asked) => question(number, asked, answers, facts)));
}

function question(number, asked, answers, facts) {
  const { judges, people, marked, others } = asked;
  const said = [...Object.entries(judges), ...Object.entries(people)];
  const who = said.length ? said.map(([name, answer]) => el("li", {}, el("b", { text: answer }), ` ${name}`)) : [el("li", { text: "nobody has answered" })];
  const mark = (answer) => store(number, asked, answer).then((stored) => { if (stored) describe(number, answers, facts); });
  const choices = [...asked.classes, UNKNOWN, NOT_SHOWN].map((name) => el("button", {
    text: name === UNKNOWN ? "cannot tell" : name, "aria-pressed": String(marked === name), on: { click: () => mark(marked === name ? null : name) },
  }));
  const head = [el("h3", { class: "small", text: asked.question }), el("ul", { class: "who small" }, who)];
  // What was answered in own words is read; no class says that it is wrong.
  if (!asked.classes.length) return el("section", { class: "asked" }, head);
  return el("section", { class: "asked" }, head,
    marked && el("p", { class: "small" }, "You noted: ", el("b", { text: marked }), "."),
    Object.entries(others).map(([name, answer]) => el("p", { class: "small" }, `${name} noted: `, el("b", { text: answer }), ".")),
    el("details", { open: Boolean(marked) }, el("summary", { class: "small", text: "Wrong answer" }),
      el("p", { class: "micro muted", text: "What does the image show?" }), el("div", { class: "choices" }, choices),
      labeller() && el("p", { class: "micro muted" }, `Stored under the name ${labeller()}. `,
        el("button", { text: "Somebody else", on: { click: () => { rename(""); describe(number, answers, facts); } } }))));
}

function labeller() {
  try { return localStorage.getItem(NAME) ?? ""; } catch { return unstored; }
}

function rename(name) {
  unstored = name;
  try { localStorage.setItem(NAME, name); } catch { /* asked again after a reload */ }
}

// Who corrects is asked once; nothing is stored without a name.
function asksName() {
  return new Promise((done) => {
    const input = el("input", { id: "labeller", maxlength: 80, autocomplete: "off", required: true });
    const form = el("form", { class: "name", on: { submit: (event) => {
      event.preventDefault();
      const name = input.value.trim();
      if (!name) return;
      rename(name);
      form.remove();
      done(name);
    } } }, el("label", {}, "Your name, which is stored with the answer ", input), el("button", { class: "pri", text: "Store" }));
    box.querySelector(".answers").prepend(form);
    input.focus();
  });
}

async function store(number, { question: text, classes }, answer) {
  const name = labeller() || await asksName();
  try {
    const stored = await json("/api/wall/wrong", { run: W.run, image: number, question: text, classes, answer, labeller: name });
    say(`${stored.count} noted in ${stored.file}`);
    note(stored);
    around.marked?.();
    return true;
  } catch (error) { say(`Not stored: ${error.message}`); return false; }
}

// What becomes of the notes: they are no random sample, and the page says so where they are made.
function note({ count, command }) {
  box.querySelector(".noted")?.remove();
  if (!count) return;
  box.querySelector(".large-text").append(el("p", { class: "small muted noted" },
    "Kept beside the run, not in its scores: images picked because an answer looks wrong are no random sample, and would make the judge "
    + "look worse than it is. To correct shares, label a random sample (t2ibench label serve). To count these anyway: ", el("code", { text: command })));
}

function go(by) {
  if (list[at + by] === undefined) return;
  at += by;
  const held = document.activeElement?.textContent;
  show();
  const again = [...box.querySelectorAll(".step")].find((one) => one.textContent === held && !one.disabled);
  (again ?? byId("large-close")).focus();
}

box.addEventListener("close", () => { turn += 1; around.moved?.(at); });
box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
box.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1, J: 1, K: -1 }[event.key];
  if (by === undefined) return;
  go(by);
  event.preventDefault();
});
