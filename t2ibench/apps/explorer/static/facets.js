// The facets of the wall: which images are shown, with how many there are of each, and in what order.
import { byId, el } from "./dom.js";
import { FACETS, VALUE_OF, W, fitting } from "./wall-data.js";

const NAMES = {
  judge: "Judge", people: "People", agree: "Agreement", lean: "Leans to", group: "Group", status: "Status",
};
const ORDERS = [["prompt", "by prompt"], ["low", "lowest value first"], ["high", "highest value first"], ["differ", "disagreement first"]];
const MOST_PROMPTS = 1000;

export class Facets {
  constructor(box, { changed }) {
    this.changed = changed;
    this.onTopic = () => {};
    this.selects = {};
    this.find = el("input", { type: "search", placeholder: "words of a prompt", on: { input: changed } });
    this.prompt = el("select", { on: { change: changed } });
    this.topic = el("select", { on: { change: () => this.onTopic(Number(this.topic.value)) } });
    this.order = el("select", { on: { change: changed } });
    for (const name of FACETS) this.selects[name] = el("select", { data: { facet: name }, on: { change: changed } });
    this.labels = {};
    const labelled = (name, text, control) => { this.labels[name] = el("label", {}, `${text} `, control); return this.labels[name]; };
    const size = el("input", { id: "size", type: "range", min: 72, max: 240, value: 112, "aria-label": "Size of the images" });
    box.replaceChildren(
      labelled("find", "Find", this.find), labelled("prompt", "Prompt", this.prompt), labelled("topic", "Question", this.topic),
      ...FACETS.map((name) => labelled(name, NAMES[name], this.selects[name])), labelled("order", "Order", this.order),
      labelled("size", "Size", size), el("button", { id: "reset", text: "Reset", on: { click: () => { this.reset(); changed(); } } }));
    size.addEventListener("input", () => document.dispatchEvent(new CustomEvent("tile-size", { detail: Number(size.value) })));
  }

  values() {
    const chosen = Object.fromEntries(FACETS.map((name) => [name, this.selects[name].value]));
    return { find: this.find.value, prompt: this.prompt.value, order: this.order.value, ...chosen };
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      const select = this.selects[name] ?? this[name];
      select.value = value;
      if (select.value !== value) select.value = "";
    }
  }

  reset() {
    this.find.value = "";
    this.prompt.value = "";
    for (const select of Object.values(this.selects)) select.value = "";
  }

  // What there is to choose from; a facet with nothing to choose is not there.
  offer() {
    const keep = this.values();
    const shown = W.prompts.slice(0, MOST_PROMPTS).map((prompt) => new Option(prompt, prompt));
    this.prompt.replaceChildren(new Option("all", ""), ...shown);
    this.topic.replaceChildren(...W.topics.map((topic, number) => new Option(topic.title, number, false, number === W.topic)));
    const numeric = W.numeric();
    const orders = ORDERS.filter(([name]) => name === "prompt" || (name === "differ" ? W.answers : numeric));
    this.order.replaceChildren(...orders.map(([value, name]) => new Option(name, value)));
    this.present = Object.fromEntries(FACETS.map((name) => [name, this.kinds(name)]));
    this.count();
    this.set({ prompt: keep.prompt, order: keep.order });
    if (!this.order.value) this.order.value = "prompt";
    this.labels.topic.hidden = W.topics.length < 2;
    for (const name of FACETS) this.labels[name].hidden = this.present[name].length < 2;
  }

  // Every value of a facet, in the order in which answers are declared, others by frequency.
  kinds(name) {
    if (["judge", "people", "agree"].includes(name) && !W.answers) return [];
    const counts = new Map();
    for (const number of W.test ? W.test.ids : W.images.keys()) {
      const value = VALUE_OF[name](number);
      if (value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const declared = ["judge", "people"].includes(name) ? [...W.options(), "no answer"] : null;
    return [...counts.keys()].sort((a, b) => (declared ? declared.indexOf(a) - declared.indexOf(b) : counts.get(b) - counts.get(a)));
  }

  count() {
    const values = this.values();
    for (const name of FACETS) {
      const counts = new Map();
      for (const number of fitting(values, name)) {
        const value = VALUE_OF[name](number);
        counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      const now = this.selects[name].value;
      const options = (this.present?.[name] ?? []).map((value) => new Option(`${value} (${(counts.get(value) ?? 0).toLocaleString("en")})`, value));
      this.selects[name].replaceChildren(new Option("all", ""), ...options);
      this.set({ [name]: now });
    }
    byId("reset").disabled = !Object.entries(values).some(([name, value]) => name !== "order" && value);
  }
}
