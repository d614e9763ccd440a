"use strict";
// Tests open and close without this script. It opens the one that an address names, and all of them for printing.
const folds = [...document.querySelectorAll("details.fold")];
const all = document.getElementById("unfold");

function follow() {
  const one = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = one && one.closest("details.fold");
  if (!fold) return;
  fold.open = true;
  one.scrollIntoView();
}

function label() { all.textContent = folds.every((fold) => fold.open) ? "Close all" : "Open all"; }

all.addEventListener("click", () => {
  const open = !folds.every((fold) => fold.open);
  for (const fold of folds) fold.open = open;
});
for (const fold of folds) fold.addEventListener("toggle", label);
addEventListener("beforeprint", () => { for (const fold of folds) fold.open = true; });
addEventListener("hashchange", follow);
all.hidden = false;
follow();
document.body.dataset.ready = "yes";
