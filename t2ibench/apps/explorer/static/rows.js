// Rows of images, most to least.
import { S, promptOf } from "./store.js";
import { el } from "./dom.js";
import { hideTip, showTip } from "./tip.js";
import { open } from "./lightbox.js";

const SHOWN = 16, LEAST = 6, WHOLE = 24, MOST = 400;

function tile(number) {
  const made = el("button", { class: "shot", type: "button", tabindex: -1, data: { number } },
    el("img", { src: `/thumb/${number}`, alt: "", loading: "lazy", decoding: "async" }), el("span", { class: "num" }));
  const over = () => showTip(number, made.getBoundingClientRect(), made.dataset.value);
  made.addEventListener("mouseenter", over);
  made.addEventListener("mouseleave", hideTip);
  return made;
}

// A row of one kind of images; `show` may be called again with another order.
export class Row {
  constructor(kind) {
    this.tiles = new Map();
    this.head = el("p", { class: "ph" });
    this.box = el("div", { class: "pr", role: "group" });
    this.element = el("section", { class: `pl ${kind}` }, this.head, this.box);
    this.all = false;
    this.current = 0;
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => {
      const hit = event.target.closest(".shot");
      if (hit) { hideTip(); open(this.ids, this.ids.indexOf(Number(hit.dataset.number)), hit); }
    });
  }

  // ids most to least, the value of each as text, a title (nodes) and what to say where there are none.
  show({ ids, value, title, label, empty }) {
    Object.assign(this, { ids, value, label, last: { ids, value, title, label, empty } });
    this.box.setAttribute("aria-label", label);
    const many = ids.length > WHOLE;
    const toggle = many && el("button", {
      text: this.all ? "Fewer" : ids.length > MOST ? `First ${MOST}` : `All ${ids.length}`,
      "aria-label": this.all ? `Fewer: ${label}` : `All: ${label}`,
      on: { click: () => { this.all = !this.all; this.show(this.last); this.head.querySelector("button")?.focus(); } },
    });
    this.head.replaceChildren(...title, ...(toggle ? [toggle] : []));
    const cut = many && !this.all;
    const shown = cut ? [...ids.slice(0, SHOWN), null, ...ids.slice(-LEAST)] : ids.slice(0, MOST);
    const kept = new Map();
    const nodes = shown.map((number) => {
      if (number === null) return el("span", { class: "gap num", text: `… ${ids.length - SHOWN - LEAST} more …` });
      const one = this.tiles.get(number) ?? tile(number);
      const text = value(number);
      one.lastChild.textContent = text;
      one.dataset.value = text;
      one.setAttribute("aria-label", `${promptOf(number)}, image ${S.images[number][1] + 1}, ${text}`);
      one.tabIndex = -1;
      kept.set(number, one);
      return one;
    });
    const held = this.box.contains(document.activeElement) ? document.activeElement : null;
    this.box.replaceChildren(...(nodes.length ? nodes : [empty]));
    this.tiles = kept;
    const first = this.shots()[Math.min(this.current, this.shots().length - 1)];
    if (first) first.tabIndex = 0;
    if (held?.isConnected) held.focus();
    this.mark();
  }

  shots() { return [...this.box.querySelectorAll(".shot")]; }

  mark() {
    const about = S.brushed && (this.ids ?? []).some((number) => S.brushed.has(number));
    for (const [number, one] of this.tiles) {
      one.classList.toggle("off", Boolean(about && !S.brushed.has(number)));
      one.classList.toggle("lit", S.lit !== null && promptOf(number) === S.lit);
    }
  }

  key(event) {
    const shots = this.shots(), at = shots.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shots.length - 1 }[event.key];
    if (to === undefined || !shots[to]) return;
    shots.forEach((one) => { one.tabIndex = -1; });
    this.current = to;
    shots[to].tabIndex = 0;
    shots[to].focus();
    event.preventDefault();
  }
}
