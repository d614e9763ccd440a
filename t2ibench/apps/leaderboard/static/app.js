"use strict";
// The tables are there without this script. It sorts, finds and ticks, and keeps all of
// that in the address, so that a view can be shared. Text is only ever set as text.
const rows = [...document.querySelectorAll(".board tr[data-id]")];
const bodies = [...document.querySelectorAll(".board tbody")].map((body) => [body, [...body.rows]]);
const facets = document.getElementById("facets");
const finder = document.getElementById("find");
const compare = document.getElementById("compare");
const state = { sort: "", down: false, find: "", picked: new Set() };

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.sort = given.get("sort") ?? "";
  state.down = given.get("order") === "down";
  state.find = given.get("find") ?? "";
  state.picked = new Set((given.get("pick") ?? "").split(",").filter(Boolean));
  finder.value = state.find;
  show();
}

function write() {
  const kept = new URLSearchParams();
  for (const name of ["sort", "find"]) if (state[name]) kept.set(name, state[name]);
  if (state.down) kept.set("order", "down");
  if (state.picked.size) kept.set("pick", [...state.picked].join(","));
  const text = kept.toString();
  // A page from disk may change what follows '#', and nothing else.
  history.replaceState(null, "", text ? `#${text}` : "#");
}

function order(first, second) {
  const key = state.sort;
  if (!key || !first.dataset.id || !second.dataset.id) return 0;
  const [a, b] = [first.dataset[key] ?? "", second.dataset[key] ?? ""];
  if (key === "name") return (state.down ? -1 : 1) * a.localeCompare(b);
  // What has no number comes last, whichever way the rest is sorted.
  if (a === "" || b === "") return (a === "") - (b === "");
  return (state.down ? -1 : 1) * (Number(a) - Number(b));
}

function wanted(row) {
  const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => row.dataset.name.toLowerCase().includes(word));
}

function show() {
  for (const [body, all] of bodies) {
    const sorted = state.sort ? [...all].sort(order) : all;
    if (sorted.some((row, k) => body.rows[k] !== row)) body.append(...sorted);
    let some = false;
    for (const row of all) {
      if (!row.dataset.id) continue;
      row.hidden = !wanted(row);
      some = some || !row.hidden;
      row.querySelector(".tick").checked = state.picked.has(row.dataset.id);
    }
    body.hidden = !some;
  }
  for (const part of document.querySelectorAll(".stratum")) part.hidden = [...part.tBodies ?? part.querySelectorAll("tbody")].every((body) => body.hidden);
  for (const head of document.querySelectorAll(".board th[data-key]")) {
    const sorted = head.dataset.key === state.sort;
    if (sorted) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  const count = rows.filter((row) => !row.hidden).length;
  document.getElementById("found").textContent = count === rows.length ? "" : `${count} of ${rows.length} models`;
  const many = state.picked.size;
  compare.disabled = many < 2;
  compare.textContent = many < 2 ? "Tick models to compare" : `Compare ${many} models`;
}

function changed() {
  show();
  write();
}

for (const head of document.querySelectorAll(".board th[data-key]")) {
  const label = head.querySelector(".fn");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fn";
  button.textContent = label.textContent;
  button.addEventListener("click", () => {
    state.down = state.sort === head.dataset.key && !state.down;
    state.sort = head.dataset.key;
    changed();
  });
  label.replaceWith(button);
}
for (const row of rows) {
  const tick = row.querySelector(".tick");
  tick.addEventListener("change", () => {
    if (tick.checked) state.picked.add(row.dataset.id);
    else state.picked.delete(row.dataset.id);
    changed();
  });
}
// What a mark says to those who do not see it is its tip, too.
document.addEventListener("pointerover", ({ target }) => {
  const mark = target.closest?.("td.f")?.querySelector(".rail");
  if (mark) mark.title ||= mark.getAttribute("aria-label");
});
finder.addEventListener("input", () => { state.find = finder.value; changed(); });
compare.addEventListener("click", () => { location.href = `compare.html#models=${[...state.picked].map(encodeURIComponent).join(",")}`; });
addEventListener("hashchange", read);
facets.hidden = false;
document.documentElement.classList.add("js");
read();
document.body.dataset.ready = "yes";
