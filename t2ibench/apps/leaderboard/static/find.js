"use strict";
// The list is there without this script, which narrows it to what is looked for and keeps that in the address.
const box = document.getElementById("find");
const all = [...document.querySelectorAll("[data-find]")].map((one) => [one, one.dataset.find.toLowerCase()]);

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [one, text] of all) {
    one.hidden = !words.every((word) => text.includes(word));
    count += !one.hidden;
  }
  for (const part of document.querySelectorAll(".findable")) part.hidden = !part.querySelector("[data-find]:not([hidden])");
  document.getElementById("found").textContent = words.length ? `${count} of ${all.length} tests and words` : "";
}

function read() {
  const given = new URLSearchParams(location.hash.slice(1)).get("find");
  if (given === null) return;
  box.value = given;
  show();
}

box.addEventListener("input", () => {
  show();
  history.replaceState(null, "", box.value ? `#${new URLSearchParams({ find: box.value })}` : "#");
});
addEventListener("hashchange", read);
document.getElementById("finder").hidden = false;
read();
document.body.dataset.ready = "yes";
