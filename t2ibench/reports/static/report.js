"use strict";
// The page is complete without this. It opens the details a link points into, and before printing all.
function reveal() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
reveal();
