// How far the images are embedded: words can be compared with them once all are.
import { json } from "./store.js";
import { byId, el } from "./dom.js";

const EVERY = 1000; // milliseconds
const TITLES = { working: "The images are being embedded", none: "No encoder", failed: "The images could not be embedded" };

const pause = () => new Promise((done) => { setTimeout(done, EVERY); });

// Calls `show` with each state until nothing more happens; returns the last one.
export async function follow(show) {
  for (;;) {
    const state = await json("/api/state");
    show(state);
    if (state.stage !== "working") return state;
    await pause();
  }
}

export function meter(state) {
  return el("progress", { max: 1, value: state.share ?? undefined, "aria-label": "Share of the images that are embedded" });
}

// Returns whether the images are embedded; shows why not, and what there is to look at meanwhile.
export async function embedded() {
  const box = byId("waiting");
  const said = el("p", { role: "status" }), bar = el("div");
  const { stage } = await follow((state) => {
    if (state.stage === "ready") return;
    if (box.hidden) {
      box.hidden = false;
      box.replaceChildren(el("h2", { text: TITLES[state.stage] }), said, bar, el("p", {}, el("a", {
        href: "/", text: "The run’s tests and all of its images",
      }), " need no encoder."));
    }
    box.querySelector("h2").textContent = TITLES[state.stage];
    said.textContent = state.words;
    bar.replaceChildren(...(state.stage === "working" ? [meter(state)] : []));
  });
  box.hidden = stage === "ready";
  document.body.dataset.stage = stage;
  return stage === "ready";
}
