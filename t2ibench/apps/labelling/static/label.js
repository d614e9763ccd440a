"use strict";
const { sheet, unknown, notShown, served, rows } = JSON.parse(document.getElementById("data").textContent);
const NAME = "t2ibench-labeller";
const ONCE = /^(?:[0-9nzu]|enter)$/; // keys that act once, however long they are held
const by = (id) => document.getElementById(id);
let answers = {}, person = "", at = 0, sending = Promise.resolve();

function stored(item) { try { return localStorage.getItem(item); } catch { return null; } }
function store(item, text) { try { localStorage.setItem(item, text); } catch { /* saving is up to the user */ } }

function field(text) {
  // As reports/csv.py: a spreadsheet sees a formula behind spaces and in full-width forms, too.
  const formula = /^(?:[\s\0\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/.test(text);
  const safe = formula && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csv() {
  const lines = [["id", "file", "question", "classes", "answer", "labeller"]];
  for (const row of rows) {
    const classes = [...row.classes, unknown, notShown].join(" | ");
    lines.push([row.id, row.file, row.question, classes, answers[row.id] ?? "", person]);
  }
  return lines.map((line) => line.map(field).join(",") + "\r\n").join("");
}

// Of each person apart: several may answer on one machine.
const key = () => `t2ibench-labels-${sheet} ${person}`;
// What was answered and is not stored yet, by whom: a reload must not lose it. Of each image, what was stored
// before (null for nothing) and then each answer, the last to be sent: what is stored tells whether it is newer.
const waitingKey = (labeller) => `t2ibench-waiting-${sheet} ${labeller}`;
const subject = (row) => JSON.stringify([row.question, row.classes]);
const firstOpen = () => rows.findIndex((row) => !(row.id in answers));

// The server replied, and took nothing: another try would be in vain.
class Refusal extends Error {}

async function ask(path, body) {
  const options = body && {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    keepalive: true, // it arrives although the page is closed meanwhile
  };
  const reply = await fetch(path, options);
  const found = await reply.json();
  if (!reply.ok) throw new Refusal(found.error);
  return found;
}

function waiting(labeller) {
  try { return JSON.parse(stored(waitingKey(labeller))) ?? {}; } catch { return {}; }
}

function wait(labeller, id, option, before) {
  const all = waiting(labeller);
  const given = all[id] ?? [before ?? null];
  if (given.length === 1 || given.at(-1) !== option) given.push(option);
  store(waitingKey(labeller), JSON.stringify({ ...all, [id]: given }));
}

function waitNoMore(labeller, id, option) {
  const left = waiting(labeller);
  if (left[id]?.at(-1) !== option) return; // it was answered again
  delete left[id];
  store(waitingKey(labeller), JSON.stringify(left));
}

// Who labels is asked before the first answer; in a file the name is kept in this browser and goes into the sheet.
async function begin(given) {
  await sending; // what was answered last is stored before the answers are read again
  if (served) ({ answers } = await ask(`/api/answers?labeller=${encodeURIComponent(given)}`));
  person = given;
  if (!served) { try { answers = JSON.parse(stored(key())) ?? {}; } catch { answers = {}; } }
  store(NAME, person);
  by("name").blur(); // else a key that is pressed at once would still be typed
  by("start").hidden = true;
  by("work").hidden = false;
  document.querySelector("footer").hidden = false;
  const change = document.createElement("button");
  change.type = "button";
  change.textContent = "Somebody else";
  change.addEventListener("click", who);
  by("who").replaceChildren(person, change);
  if (served) sendWhatWaits();
  at = Math.max(0, firstOpen());
  show();
}

function sendWhatWaits() {
  for (const [id, given] of Object.entries(waiting(person))) {
    if (!rows.some((row) => row.id === id)) continue; // of another sample
    const option = given.at(-1);
    // It arrived after all, or the image was answered elsewhere since.
    if (!given.slice(0, -1).includes(answers[id] ?? null)) {
      waitNoMore(person, id, option);
      continue;
    }
    answers[id] = option;
    send(id, option);
  }
}

function who() {
  by("start").hidden = false;
  by("work").hidden = true;
  document.querySelector("footer").hidden = true;
  by("who").replaceChildren();
  by("name").value = "";
  by("name").focus();
}

function progress(row, done) {
  const asked = [...new Set(rows.map(subject))];
  const mine = rows.filter((item) => subject(item) === subject(row));
  const which = asked.length > 1 ? `Question ${asked.indexOf(subject(row)) + 1} of ${asked.length}, image` : "Image";
  const left = rows.length - done;
  return `${which} ${mine.indexOf(row) + 1} of ${mine.length}; ${done} answered, ${left ? `${left} left` : "none left"}`;
}

function show() {
  const row = rows[at];
  const done = rows.filter((item) => item.id in answers).length;
  by("progress").textContent = progress(row, done);
  by("bar").value = done / rows.length;
  display(by("image"), row.file);
  by("full").href = row.file;
  pair(row);
  if (by("question").textContent !== row.question) by("question").textContent = row.question;
  preload(rows[at + 1]);
  by("kept").textContent = served
    ? "Each answer is stored in the run at once; whoever comes back under the same name goes on here."
    : "Answers stay in this browser: a reload goes on here. Save sheet.csv when you are done.";
  const held = [...by("answers").children].indexOf(document.activeElement);
  const buttons = [...row.classes, unknown, notShown].map((option, number) => choice(row, option, number));
  by("answers").replaceChildren(...buttons);
  if (held >= 0) buttons[Math.min(held, buttons.length - 1)].focus();
  by("open").disabled = done === rows.length;
  by("back").disabled = at === 0;
  by("next").disabled = at === rows.length - 1;
  end(done === rows.length);
}

// A browser shows the old image until the new one has loaded: it would stand under the next question.
function display(image, place) {
  if (image.getAttribute("src") === place) return;
  image.classList.add("loading");
  image.src = place;
}

// So that the next images are there at once.
function preload(row) {
  for (const place of [row?.file, row?.beside]) if (place) new Image().src = place;
}

// Two images side by side, of which one is asked about: which of them was there first is not told.
function pair(row) {
  by("full-beside").hidden = by("which").hidden = !row.beside;
  document.querySelector("figure").classList.toggle("pair", Boolean(row.beside));
  document.querySelector("figure").classList.toggle("swapped", Boolean(row.beside) && !row.left);
  if (!row.beside) return;
  display(by("beside"), row.beside);
  by("full-beside").href = row.beside;
  by("which").textContent = `About the ${row.left ? "left" : "right"} image, in the frame.`;
}

function choice(row, option, number) {
  const button = document.createElement("button"), hint = document.createElement("kbd");
  button.type = "button";
  hint.textContent = option === unknown ? "0" : option === notShown ? "N" : number < 9 ? `${number + 1}` : "";
  button.append(...(hint.textContent ? [hint, " "] : []), option === unknown ? "cannot tell" : option);
  button.setAttribute("aria-pressed", String(answers[row.id] === option));
  button.addEventListener("click", () => answer(option));
  return button;
}

// What others answered is told only now, so that it sways nobody.
async function end(isDone) {
  by("end").hidden = !isDone;
  by("finish").hidden = !served;
  if (!isDone) return;
  by("then").textContent = served
    ? "“Finish and score the run” ends this page and writes the run's report with all labels. Or let somebody else label first."
    : "Save sheet.csv, and store it in the run with `t2ibench label import RUN sheet.csv`.";
  if (!served) return;
  const labeller = person;
  await sending;
  const { others } = await ask(`/api/answers?labeller=${encodeURIComponent(labeller)}`);
  if (labeller !== person) return;
  const lines = Object.entries(others).map(([person, [same, both]]) => {
    const line = document.createElement("p");
    line.textContent = `You and ${person} gave the same answer about ${same} of the ${both} images that you both answered.`;
    return line;
  });
  by("agreement").replaceChildren(...lines);
}

function move(step) {
  at = Math.min(rows.length - 1, Math.max(0, at + step));
  show();
}

function answer(option) {
  const row = rows[at];
  const before = answers[row.id];
  answers[row.id] = option;
  if (served) send(row.id, option, before);
  else store(key(), JSON.stringify(answers));
  if (at < rows.length - 1) at += 1;
  show();
}

// One after the other; an answer that was not stored is open again, and the page says so. Somebody else
// may begin before it is sent: it stays that of the person who gave it.
function send(id, option, before) {
  const labeller = person, given = answers;
  wait(labeller, id, option, before);
  sending = sending.then(async () => {
    await ask("/api/answer", { id, labeller, answer: option });
    waitNoMore(labeller, id, option);
  }).catch((error) => {
    // Where nobody replied, the page may be on its way out: the answer is sent when it is there again.
    if (error instanceof Refusal) waitNoMore(labeller, id, option);
    delete given[id];
    show();
    by("progress").textContent = `Not stored: ${error.message}`;
  });
}

function zoom() {
  const is = document.body.classList.toggle("zoomed");
  by("zoom").setAttribute("aria-pressed", String(is));
  const figure = document.querySelector("figure"); // the middle first: there the subject mostly is
  figure.scrollTo((figure.scrollWidth - figure.clientWidth) / 2, (figure.scrollHeight - figure.clientHeight) / 2);
}

function showFirstOpen() {
  if (firstOpen() >= 0) { at = firstOpen(); show(); }
}

async function finish() {
  await sending;
  try {
    await ask("/api/finish", {});
    by("progress").textContent = "Finished: the terminal shows the scores, and the run's report has them.";
    document.querySelector("footer").hidden = by("work").hidden = true;
  } catch (error) { by("progress").textContent = `Not finished: ${error.message}`; }
}

for (const image of [by("image"), by("beside")]) {
  for (const end of ["load", "error"]) image.addEventListener(end, () => image.classList.remove("loading"));
}
by("back").addEventListener("click", () => move(-1));
by("next").addEventListener("click", () => move(1));
by("zoom").addEventListener("click", zoom);
by("open").addEventListener("click", showFirstOpen);
by("finish").addEventListener("click", finish);
by("save").hidden = served;
by("save").addEventListener("click", () => {
  by("save").href = `data:text/csv;charset=utf-8,${encodeURIComponent(csv())}`;
});
by("start").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(by("name").value.trim()).catch((error) => { by("wrong").textContent = error.message; });
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT" || by("work").hidden) return;
  const pressed = event.key.toLowerCase();
  // A key that is held down would answer about one image after another.
  if (event.repeat && ONCE.test(pressed)) event.preventDefault();
  else if (event.key === "ArrowLeft") move(-1);
  else if (event.key === "ArrowRight") move(1);
  else if (pressed === "z") zoom();
  else if (pressed === "u") showFirstOpen();
  else if (event.key === "0") answer(unknown);
  else if (pressed === "n") answer(notShown);
  else if (/^[1-9]$/.test(event.key) && Number(event.key) <= rows[at].classes.length) {
    answer(rows[at].classes[Number(event.key) - 1]);
  }
});

if (!rows.length) by("progress").textContent = "Nothing to label.";
else {
  const last = stored(NAME);
  if (last) begin(last).catch(who);
  else who();
}
