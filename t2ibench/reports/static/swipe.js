"use strict";
// The page is complete without this script: pictures stand side by side. Where both pictures of a
// pair begin alike, it lays the second on the first, and a slider moves the edge between them.
function slider(row) {
  const swiper = document.createElement("div");
  const label = document.createElement("label");
  const range = document.createElement("input");
  const toggle = document.createElement("button");
  const [first, second] = row.dataset.swipe.split("|");
  const name = row.querySelector("h3, h5").firstChild.textContent.trim();
  swiper.className = "swiper small noprint";
  Object.assign(range, { type: "range", min: "0", max: "100", value: "50" });
  range.setAttribute("aria-label", `Swipe from ${first} to ${second}: ${name}`);
  // At the left end all of the second is seen, at the right end all of the first.
  range.addEventListener("input", () => row.style.setProperty("--cut", `${range.value}%`));
  label.append(second, range, first);
  toggle.type = "button";
  const show = (swiping) => {
    row.classList.toggle("swiping", swiping);
    toggle.textContent = swiping ? "Side by side" : "One on the other";
    label.hidden = !swiping;
  };
  toggle.addEventListener("click", () => show(!row.classList.contains("swiping")));
  swiper.append(label, toggle);
  row.querySelector(".pairs").before(swiper);
  show(true);
}

document.querySelectorAll(".pictured[data-swipe]").forEach(slider);
