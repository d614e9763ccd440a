// The anchors: which images are compared.
import { PALETTE, S, axial, commit, imagesOf, pole, promptFor, say, anchorOrder } from "./store.js";
import { byId, el, many } from "./dom.js";
import { anchor as use } from "./lightbox.js";

export function render() {
  const { anchors } = S.state;
  const items = anchors.map((anchor, index) => {
    const n = imagesOf(index).length;
    const colour = !axial() && el("select", {
      "aria-label": `Colour of ${anchor.name}`, vars: { tint: anchor.colour },
      on: { change: (event) => commit((state) => { state.anchors[index].colour = event.target.value; }) },
    }, PALETTE.map((name) => new Option(name, name, false, name === anchor.colour)));
    return el("li", {}, colour, el("span", { class: "name", text: `${anchor.name} (${n} images)`, title: anchor.prompt }),
      index > 0 && el("button", { text: "↑", "aria-label": `Move up the anchor ${anchor.name}`, on: { click: () => swap(index) } }),
      el("button", {
        text: "✕", "aria-label": `Remove the anchor ${anchor.name}`, disabled: anchors.length < 2,
        on: { click: () => commit((state) => { state.anchors.splice(index, 1); }) },
      }));
  });
  byId("anchors").replaceChildren(...items);
  const parts = anchorOrder().map((index) => pole(index));
  byId("poles").replaceChildren(...parts.flatMap((part, k) => (k ? [el("span", { text: axial() ? "to" : "·" }), part] : [part])));
  const counts = anchors.map((_, index) => imagesOf(index).length);
  const each = anchorOrder().map((index) => counts[index]).join(" and ");
  byId("run").textContent = `${S.encoder} · ${many(S.images.length, "image")}, ${each} of the anchors`;
}

const swap = (index) => commit((state) => {
  [state.anchors[index - 1], state.anchors[index]] = [state.anchors[index], state.anchors[index - 1]];
});

byId("add-anchor").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = byId("anchor-prompt").value.trim().replace(/\s+/g, " ");
  const prompt = promptFor(words);
  if (!prompt) { say("Type the prompt of the new anchor."); return; }
  if (!S.prompts.includes(prompt)) { say(`No image has the prompt “${prompt}”.`); return; }
  use(prompt, words);
  byId("anchor-prompt").value = "";
});

byId("anchor-prompt").addEventListener("focus", () => {
  if (byId("prompts").children.length) return;
  const counts = new Map();
  for (const [prompt] of S.images) counts.set(prompt, (counts.get(prompt) ?? 0) + 1);
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 1000);
  byId("prompts").replaceChildren(...common.map(([prompt, count]) => new Option(`${count} images`, S.prompts[prompt])));
});
