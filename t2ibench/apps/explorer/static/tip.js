// The image under the mouse or the keyboard focus, with its prompt.
import { S } from "./store.js";

const tip = document.getElementById("tip");

export function showTip(number, box, extra = "") {
  const [prompt, index, source] = S.images[number];
  const thumbnail = document.createElement("img");
  thumbnail.src = `/image/${number}`;
  thumbnail.alt = "";
  const text = document.createElement("div");
  const where = S.sources.length > 1 ? ` · ${S.sources[source].name}` : "";
  text.textContent = `${S.prompts[prompt]} (image ${index + 1}${where})${extra ? ` · ${extra}` : ""}`;
  tip.replaceChildren(thumbnail, text);
  tip.hidden = false;
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  const left = box.right + 8 + wide < innerWidth ? box.right + 8 : Math.max(4, Math.min(box.left - wide - 8, innerWidth - wide - 4));
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(4, Math.min(box.top, innerHeight - high - 8))}px`;
}

export const hideTip = () => { tip.hidden = true; };
