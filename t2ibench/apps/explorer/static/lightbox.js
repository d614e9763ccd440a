// One image, large: its prompt, seed and hash.
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
  describe(number, facts);
}

async function describe(number, facts) {
  const mine = ++turn;
  let found;
  try { found = await json(`/api/image/${number}`); } catch (error) { found = { problem: error.message }; }
  if (mine !== turn) return;
  const known = { "rewritten to": found.rewritten, seed: found.seed, "SHA-256": found.sha256, problem: found.problem };
  facts.replaceChildren(...Object.entries(known).filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { class: "num", text: String(value) })]));
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
