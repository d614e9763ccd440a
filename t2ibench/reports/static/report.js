"use strict";
// The page is complete without this script. It opens the details that a link points into, opens all
// of them before printing, and lets an auditor write notes and save them as a file.
function reveal() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
}

function today() {
  const now = new Date();
  return new Date(now - now.getTimezoneOffset() * 60000).toISOString().slice(0, 10);
}

function noter(form) {
  const notes = {};
  const link = form.querySelector("a[download]");
  const list = form.querySelector("ul");
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { task, decision, text, by } = Object.fromEntries(new FormData(form));
    notes[task] = { decision, text, by, date: today() };
    const file = JSON.stringify({ schema: 1, notes }, null, 1);
    link.href = `data:application/json;charset=utf-8,${encodeURIComponent(file)}`;
    link.hidden = false;
    list.replaceChildren(...Object.entries(notes).map(([id, note]) => {
      const item = document.createElement("li");
      const head = document.createElement("b");
      const body = document.createElement("span");
      head.textContent = note.decision;
      body.textContent = `${id}: ${note.text}`;
      item.append(head, body);
      return item;
    }));
    form.elements.text.value = "";
  });
}

addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
reveal();
document.querySelectorAll("form.noter").forEach(noter);
