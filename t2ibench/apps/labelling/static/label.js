"use strict";
const { sheet, unknown, notShown, rows } = JSON.parse(document.getElementById("data").textContent);
const key = `t2ibench-labels-${sheet}`;
const by = (id) => document.getElementById(id);
let answers = {};
try { answers = JSON.parse(localStorage.getItem(key)) || {}; } catch { answers = {}; }
let at = Math.max(0, rows.findIndex((row) => !(row.id in answers)));

function field(text) {
  // As reports/csv.py: a spreadsheet sees a formula behind spaces and in full-width forms, too.
  const formula = /^(?:[\s\0\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/.test(text);
  const safe = formula && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csv() {
  const lines = [["id", "file", "question", "classes", "answer"]];
  for (const row of rows) {
    const classes = [...row.classes, unknown, notShown].join(" | ");
    lines.push([row.id, row.file, row.question, classes, answers[row.id] ?? ""]);
  }
  return lines.map((line) => line.map(field).join(",") + "\r\n").join("");
}

function subject(row) {
  return JSON.stringify([row.question, row.classes]);
}

function keep() {
  try { localStorage.setItem(key, JSON.stringify(answers)); } catch { /* saving is up to the user */ }
}

function show() {
  const row = rows[at];
  const done = rows.filter((item) => item.id in answers).length;
  const asked = [...new Set(rows.map(subject))];
  const mine = rows.filter((item) => subject(item) === subject(row));
  const which = asked.length > 1 ? `Question ${asked.indexOf(subject(row)) + 1} of ${asked.length}, image` : "Image";
  const all = done === rows.length ? `all ${done} answered: save sheet.csv` : `${done} answered, ${rows.length - done} left`;
  by("progress").textContent = `${which} ${mine.indexOf(row) + 1} of ${mine.length}; ${all}`;
  by("bar").value = rows.length ? done / rows.length : 1;
  by("image").src = row.file;
  by("full").href = row.file;
  if (by("question").textContent !== row.question) by("question").textContent = row.question;
  if (rows[at + 1]) new Image().src = rows[at + 1].file; // so that the next one is there at once
  const held = [...by("answers").children].indexOf(document.activeElement);
  const buttons = [...row.classes, unknown, notShown].map((name, number) => {
    const button = document.createElement("button");
    button.type = "button";
    const hint = name === unknown ? "0" : name === notShown ? "N" : number < 9 ? `${number + 1}` : "";
    button.textContent = `${hint} ${name === unknown ? "cannot tell" : name}`.trim();
    button.setAttribute("aria-pressed", String(answers[row.id] === name));
    button.addEventListener("click", () => answer(name));
    return button;
  });
  by("answers").replaceChildren(...buttons);
  if (held >= 0) buttons[Math.min(held, buttons.length - 1)].focus();
  by("open").disabled = done === rows.length;
  by("back").disabled = at === 0;
  by("next").disabled = at === rows.length - 1;
}

function move(step) {
  at = Math.min(rows.length - 1, Math.max(0, at + step));
  show();
}

function answer(name) {
  answers[rows[at].id] = name;
  keep();
  if (at < rows.length - 1) at += 1;
  show();
}

by("back").addEventListener("click", () => move(-1));
by("next").addEventListener("click", () => move(1));
by("open").addEventListener("click", () => {
  const open = rows.findIndex((row) => !(row.id in answers));
  if (open >= 0) { at = open; show(); }
});
by("save").addEventListener("click", () => {
  by("save").href = `data:text/csv;charset=utf-8,${encodeURIComponent(csv())}`;
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") move(-1);
  else if (event.key === "ArrowRight") move(1);
  else if (event.key === "0") answer(unknown);
  else if (event.key.toLowerCase() === "n") answer(notShown);
  else if (/^[1-9]$/.test(event.key) && Number(event.key) <= rows[at].classes.length) {
    answer(rows[at].classes[Number(event.key) - 1]);
  }
});
if (rows.length) show();
else by("progress").textContent = "Nothing to label.";
