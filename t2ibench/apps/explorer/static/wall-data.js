// What the wall knows of its images, and which of them are shown in what order.

const NONE = -1;

export const W = {
  run: 0, sources: [], prompts: [], statuses: [], images: [],
  list: [],          // numbers of the images that are shown, in order
  topics: [], topic: 0, answers: null, reason: "",
  test: null,        // the test whose images are shown, or null
  values: new Map(), // image -> its value in the test
  groups: new Map(), // image -> the stimulus or group that the test counts it to

  take(data) {
    Object.assign(this, data, { topics: [], topic: 0, answers: null, test: null, values: new Map(), groups: new Map() });
  },
  // Images that repeat an earlier one are no evidence of their own.
  repeat(numbers) {
    if (!numbers.length) return;
    const code = this.statuses.push("repeated") - 1;
    for (const number of numbers) this.images[number][2] = code;
  },
  hasFile(number) { return ["ok", "repeated"].includes(this.statuses[this.images[number][2]]); },
  // Answers in own words come with their options.
  options() { return this.answers?.options ?? this.topics[this.topic]?.options ?? []; },
  numeric() { return this.values.size > 0; },
};

export const AGREEMENT = { 1: "all agree", 0: "they differ", [NONE]: "fewer than two answers" };

const answerOf = (kind, number) => W.answers?.[kind][number] ?? NONE;

// The value of an image in each facet, as text; "" where it has none.
export const VALUE_OF = {
  status: (number) => W.statuses[W.images[number][2]],
  judge: (number) => W.options()[answerOf("judge", number)] ?? "no answer",
  people: (number) => W.options()[answerOf("people", number)] ?? "no answer",
  agree: (number) => AGREEMENT[answerOf("agree", number)],
  group: (number) => W.groups.get(number) ?? "",
  lean: (number) => {
    const value = W.values.get(number);
    if (value === undefined) return "";
    const [low, high] = W.test?.poles ?? ["below 0", "above 0"];
    return value < 0 ? low : value > 0 ? high : "0";
  },
};

export const FACETS = Object.keys(VALUE_OF);

// What stands under an image: its value in the test, else what was answered about it.
export function caption(number) {
  const value = W.values.get(number);
  const differs = answerOf("agree", number) === 0;
  if (value !== undefined) return { text: `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`, marked: differs };
  const [judge, people] = ["judge", "people"].map((kind) => W.options()[answerOf(kind, number)]);
  if (judge && people && judge !== people) return { text: `${judge} ≠ ${people}`, marked: true };
  return { text: people ?? judge ?? "", marked: differs };
}

// The images that fit all facets but one (`except`), which may be null.
export function fitting(values, except = null) {
  const words = (values.find ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const fits = W.prompts.map((prompt) => {
    const text = prompt.toLowerCase();
    return (!values.prompt || prompt === values.prompt) && words.every((word) => text.includes(word));
  });
  const asked = FACETS.filter((name) => values[name] && name !== except);
  const numbers = W.test ? W.test.ids : [...W.images.keys()];
  return numbers.filter((number) => fits[W.images[number][0]] && asked.every((name) => VALUE_OF[name](number) === values[name]));
}

const RANK = { 0: 0, [NONE]: 1, 1: 2 };

export function arrange(values) {
  const list = fitting(values);
  const value = (number) => W.values.get(number) ?? null;
  const by = {
    low: (a, b) => (value(a) ?? Infinity) - (value(b) ?? Infinity) || a - b,
    high: (a, b) => (value(b) ?? -Infinity) - (value(a) ?? -Infinity) || a - b,
    differ: (a, b) => RANK[answerOf("agree", a)] - RANK[answerOf("agree", b)] || a - b,
    prompt: (a, b) => a - b,
  };
  return list.sort(by[values.order] ?? by.prompt);
}
