"use strict";
const FEW = 12, SHOWN = 30; // rows: from which on one may search, and of an answer
// The page is complete without this script. It opens the details that a link points to or
// into, and finds rows by a word.
function reveal() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  const own = target?.querySelector(":scope > details");
  for (let node = own ?? target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  target?.scrollIntoView();
}

function naming(card) {
  return `${card.querySelector(".micro").textContent.split(" · ")[0]}, ${card.querySelector("h3").textContent}`;
}

// Every row that has a name, and the sentence that its mark says to those who do not see it.
function rows() {
  const of = (selector, test) => [...document.querySelectorAll(selector)].map((rail) => ({
    rail, test: test(rail), text: rail.getAttribute("aria-label"),
  }));
  return [
    ...of(".forest .row .rail", () => "all tests"),
    ...of(".task .rows .rail", (rail) => naming(rail.closest(".task"))),
  ];
}

function show(rail) {
  for (let node = rail; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  document.querySelectorAll(".sought").forEach((one) => one.classList.remove("sought"));
  rail.classList.add("sought");
  rail.scrollIntoView({ block: "center" });
}

function finder(form) {
  const all = rows();
  const [input, status, list] = ["input", "p", "ul"].map((name) => form.querySelector(name));
  form.hidden = all.length < FEW;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => {
    const word = input.value.trim().toLowerCase();
    const found = word ? all.filter((one) => one.text.toLowerCase().includes(word)) : [];
    const more = found.length > SHOWN ? `, the first ${SHOWN} of them` : "";
    status.textContent = word ? `${found.length || "Nothing"} found${more}` : "";
    list.replaceChildren(...found.slice(0, SHOWN).map((one) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      const test = document.createElement("span");
      button.type = "button";
      button.textContent = one.text;
      button.addEventListener("click", () => show(one.rail));
      test.textContent = one.test;
      item.append(button, test);
      return item;
    }));
  });
}

// Paper shows every test; what was closed before is closed again after it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll(".task > details:not([open]), .how:not([open]), .texts:not([open])")];
  opened.forEach((details) => { details.open = true; });
});
addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

addEventListener("hashchange", reveal);
reveal();
document.querySelectorAll("form.finder").forEach(finder);
