// Elements, numbers as words, and definitions on hover and focus.

// An element: `class`, `text`, `on` (handlers), `data`, `vars` (CSS custom properties); the rest are attributes.
export function el(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name === "on") Object.entries(value).forEach(([event, act]) => made.addEventListener(event, act));
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name === "vars") Object.entries(value).forEach(([key, one]) => made.style.setProperty(`--${key}`, one));
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const byId = (id) => document.getElementById(id);


// A number with its sign and a true minus.
export function signed(value, digits = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  if (!Number(text)) return text;
  return `${value < 0 ? "−" : "+"}${text}`;
}

// A p-value in three significant digits, as decimals.py writes it.
export const probability = (p, name = "p") => (p < 0.001 ? `${name} < 0.001` : `${name} = ${Number(p.toPrecision(3))}`);
// The space before a per cent sign breaks no line.
export const percent = (value) => `${Math.round(100 * value)}\u00a0%`;
export const ordinal = (n) => {
  const last = n % 100;
  return `${n}${last > 10 && last < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] ?? "th"}`;
};
// A percentile in words: never "100 %" where some words lean further.
export const share = (value) => (value > 99 && value < 100 ? `${(Math.floor(10 * value) / 10).toFixed(1)}\u00a0%` : `${Math.round(value)}\u00a0%`);
export const many = (n, one, more = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

const MEANINGS = {
  lean: "How much nearer the images of one anchor are to the text than those of the other, in cosine, less what everyday words "
    + "give on average and without what the anchors' own texts explain. Right of 0: nearer the first anchor.",
  "as it is": "The same with the part that the anchors' own texts explain: an encoder may place a word near “man”, "
    + "whatever the images show.",
  "95 %": "The interval that a new set of images of the anchors would give this lean in 95 of 100 runs (Student's t).",
  percentile: "The share of everyday words that lean less, either way.",
  p: "The chance that an everyday word, or the images' own variation, would lean as far. Corrected (Holm) for all concepts of the tree.",
  band: "Grey: where 95 of 100 everyday words lie. A lean inside it says nothing about the concept.",
  D: "The largest difference of the two anchors' distributions of similarity (Kolmogorov and Smirnov), from 0 to 1.",
  drawn: "Inverse query: images of the concept itself, and the anchor that each lies nearer.",
  q: "False discovery rate: of all words listed with a q this small, at most this share is expected to be there by chance.",
};

// A word with its definition: shown on hover, on focus and on touch; Escape hides it.
export function term(text, key = text) {
  const meaning = MEANINGS[key];
  const button = el("button", { class: "term", type: "button", "aria-expanded": "false", text });
  const show = () => {
    const box = byId("meaning");
    box.textContent = meaning;
    box.hidden = false;
    const at = button.getBoundingClientRect();
    box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8))}px`;
    const below = at.bottom + 6 + box.offsetHeight < innerHeight;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - box.offsetHeight - 6)}px`;
    button.setAttribute("aria-describedby", "meaning");
    button.setAttribute("aria-expanded", "true");
  };
  const hide = () => {
    byId("meaning").hidden = true;
    button.removeAttribute("aria-describedby");
    button.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("mouseenter", show);
  button.addEventListener("focus", show);
  button.addEventListener("click", show);
  button.addEventListener("mouseleave", hide);
  button.addEventListener("blur", hide);
  button.addEventListener("keydown", (event) => { if (event.key === "Escape") { hide(); event.stopPropagation(); } });
  return button;
}
