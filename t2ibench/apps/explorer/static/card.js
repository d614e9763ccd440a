// One card of a concept with the images, the number, its interval and its caveat, as SVG or PNG.
import { S, ask, imagesOf, say, save } from "./store.js";
import { byId, el } from "./dom.js";

let asked = null, text = "", address = null, turn = 0;
const ui = {};

function build() {
  ui.picture = el("div", { id: "card-picture" });
  const button = (name, act) => el("button", {
    text: name, "aria-label": `Save the card as ${name}`, on: { click: () => act().catch((error) => say(error.message)) },
  });
  ui.say = el("p", { class: "small muted", "aria-live": "polite" });
  byId("panel-card").replaceChildren(el("h2", { text: "Evidence card" }), ui.say, ui.picture,
    ui.acts = el("p", { class: "acts" }, button("SVG", svg), button("PNG", png)));
}

function body() {
  if (!S.text) return null;
  const [anchors, names] = ["prompt", "name"].map((key) => S.state.anchors.map((anchor) => anchor[key]));
  const family = S.state.tree.nodes.slice(1).map((node) => S.nodes.get(node.id)?.text).filter((one) => one && !anchors.includes(one));
  return { run: 0, text: S.text, anchors, names, family: [...new Set(family)] };
}

async function load() {
  const mine = ++turn, question = body();
  asked = JSON.stringify(question);
  ui.acts.hidden = true;
  if (!question) { ui.say.textContent = "Choose a concept to make its card."; ui.picture.replaceChildren(); return; }
  ui.say.textContent = "Drawing the card…";
  try {
    const there = S.state.anchors.filter((_, index) => imagesOf(index, 0).length).length;
    if (there < 2) throw new Error("fewer than two anchors have images in this run.");
    const found = await (await ask("/api/card", question)).text();
    if (mine !== turn) return;
    text = found;
    if (address) URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    const label = new DOMParser().parseFromString(text, "image/svg+xml").documentElement.getAttribute("aria-label");
    ui.picture.replaceChildren(el("img", { src: address, alt: label ?? "Evidence card" }));
    ui.say.textContent = `Card of “${S.text}”.`;
    ui.acts.hidden = false;
  } catch (error) {
    if (mine !== turn) return;
    ui.picture.replaceChildren();
    ui.say.textContent = `No card: ${error.message}`;
  }
}

const name = () => S.text.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "card";

async function svg() { save(`${name()}.svg`, new Blob([text], { type: "image/svg+xml" })); }

async function png() {
  const image = new Image();
  image.src = address;
  await image.decode();
  const sheet = el("canvas");
  sheet.width = 2 * image.naturalWidth;
  sheet.height = 2 * image.naturalHeight;
  sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
  const blob = await new Promise((done) => { sheet.toBlob(done, "image/png"); });
  save(`${name()}.png`, blob);
}

export function show() {
  if (!ui.picture) build();
  if (asked !== JSON.stringify(body())) load();
}

export function changed(what, visible) {
  if (ui.picture && visible && what === "concept") show();
}
