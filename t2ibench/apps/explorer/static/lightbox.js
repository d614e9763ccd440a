// One image, large: its prompt, hash and every score of it.
import { S, commit, json, promptOf, say, PALETTE } from "./store.js";
import { byId, el } from "./dom.js";

const box = byId("lightbox");
let list = [], at = 0, opener = null, turn = 0;

export function open(ids, index, from) {
  [list, at, opener] = [ids, Math.max(0, index), from];
  fill();
  if (!box.open) box.showModal();
  byId("lightbox-close").focus();
}

function fill() {
  const number = list[at], [, index, source] = S.images[number], prompt = promptOf(number);
  const step = (by, text, label) => el("button", {
    class: "step", text, "aria-label": label, disabled: !list[at + by], on: { click: () => go(by) },
  });
  const facts = el("dl", { class: "facts-list" });
  box.replaceChildren(
    el("div", { class: "lb-image" }, step(-1, "‹", "Previous image"),
      el("img", { src: `/image/${number}`, alt: `Image ${index + 1} of “${prompt}”` }), step(1, "›", "Next image")),
    el("div", { class: "lb-text" },
      el("h2", { id: "lightbox-title", text: prompt }),
      el("p", { class: "small muted num", text: `Image ${index + 1} · ${S.sources[source].name} · ${at + 1} of ${list.length}` }),
      facts,
      el("p", { class: "acts" },
        el("button", { text: "Use as anchor", on: { click: () => anchor(prompt) } }),
        el("button", { id: "lightbox-close", text: "Close", on: { click: () => box.close() } }))));
  scores(number, facts);
}

async function scores(number, facts) {
  const mine = ++turn;
  facts.replaceChildren(el("dt", { text: "scores" }), el("dd", { text: "…" }));
  let found;
  try { found = await json(`/api/image/${number}/scores`); } catch (error) {
    if (mine === turn) facts.replaceChildren(el("dt", { text: "scores" }), el("dd", { text: error.message }));
    return;
  }
  if (mine !== turn) return;
  const rows = [];
  const fact = (name, value) => rows.push(el("dt", { text: name }), el("dd", { class: "num", text: value }));
  if (found.rewritten) fact("rewritten to", found.rewritten);
  if (found.seed !== null && found.seed !== undefined) fact("seed", String(found.seed));
  fact("SHA-256", found.sha256);
  if (!found.tasks.length) fact("tests", "No test of this run used this image.");
  for (const { task, name, row, value, label } of found.tasks) {
    // What a test recorded of the image, never what somebody is.
    const words = /“/.test(value ?? "") ? value : `recorded as “${value}”`;
    const shown = typeof value === "number" ? value.toFixed(4).replace("-", "−") : value === null ? "–" : words;
    const link = el("button", {
      class: "link", text: row ? `${name}: ${row}` : name,
      on: { click: () => { box.close(); document.dispatchEvent(new CustomEvent("test", { detail: { task, row, run: found.run } })); } },
    });
    rows.push(el("dt", {}, link), el("dd", { class: "num", text: label ? `${shown} (${label})` : shown }));
  }
  facts.replaceChildren(...rows);
}

function go(by) {
  if (!list[at + by]) return;
  at += by;
  const held = document.activeElement?.textContent;
  fill();
  const again = [...box.querySelectorAll("button")].find((one) => one.textContent === held && !one.disabled);
  (again ?? byId("lightbox-close")).focus();
}

export function anchor(prompt, name = prompt) {
  if (S.state.anchors.some((one) => one.prompt === prompt)) { say("That is an anchor already."); return; }
  if (S.state.anchors.length >= 12) { say("Twelve anchors are the most."); return; }
  commit((state) => {
    const free = PALETTE.find((colour) => !state.anchors.some((one) => one.colour === colour)) ?? PALETTE[0];
    state.anchors.push({ name: name.slice(0, 200), prompt, colour: free });
  });
  say(`“${name}” is an anchor now${name === prompt ? "" : `: the images of “${prompt}”`}. Ctrl+Z takes it back.`);
}

box.addEventListener("close", () => { turn += 1; if (opener?.isConnected) opener.focus(); });
box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowRight") go(1);
  else if (event.key === "ArrowLeft") go(-1);
  else return;
  event.preventDefault();
});
