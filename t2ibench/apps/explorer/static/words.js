// What a score says, in words and as a mark; never more than the numbers do.
import { S, axial, sideOf } from "./store.js";
import { ordinal, percent, probability, share, signed } from "./dom.js";
import { roundUp } from "./geometry.js";

// The state that shows each verdict on a concept.
const STATE_OF_VERDICT = { leans: "clear", inconclusive: "cannot_tell", no_lean: "not_clear" };

export const nameOf = (index) => S.state.anchors[index]?.name ?? "an anchor";

export function markOf(score) {
  if (!score) return { value: null };
  const state = STATE_OF_VERDICT[score.verdict];
  const side = state === "clear" && score.lean !== null ? sideOf(score.lean) : "plain";
  const { beyond_words: value, beyond_low: low, beyond_high: high, band } = score;
  return { value, low, high, band, state, side, half: !axial() };
}

// One axis for the whole tree: round, and wide enough for every interval and the band.
export function spanOf(scores) {
  let most = 0;
  for (const score of scores) {
    const { beyond_words: value, beyond_low: low, beyond_high: high, band } = score;
    most = Math.max(most, ...[value, low, high, band].map((one) => Math.abs(one ?? 0)));
  }
  return roundUp(most || 0.1);
}

const shortVerdict = (score) => ({
  leans: `leans to ${nameOf(score.lean)}`, inconclusive: "cannot tell", no_lean: "not told from everyday words",
}[score.verdict]);

// Why a lean is not clear: everyday words lean as far, the images vary as much, or many concepts were asked about.
export function whyUnclear({ beyond_words: value, percentile, p, p_holm: corrected }) {
  const toward = axial() && value ? ` to ${nameOf(value > 0 ? 0 : 1)}` : "";
  const from = p < 0.05 ? "not clear once corrected for all concepts of the tree"
    : percentile > 95 ? "not told from how the images vary" : "not told from everyday words";
  const words = share(100 - percentile);
  return `${signed(value, Math.abs(value) < 0.1 ? 3 : 2)}${toward}: ${from}, ${probability(corrected)}. `
    + `${words} of everyday words lean this far.`;
}

// The sentence of a rail: name, lean, interval and state.
export function sentence(name, score) {
  if (!score) return `${name}: no images of two anchors.`;
  const { beyond_words: value, beyond_low: low, beyond_high: high } = score;
  const interval = low === null ? "" : `, 95\u00a0% interval ${signed(low, 3)} to ${signed(high, 3)}`;
  return `${name}: lean ${signed(value, 3)}${interval}; ${shortVerdict(score)}, ${place(score)}.`;
}

export const place = (score) => `further than ${share(score.percentile)} of everyday words, ${probability(score.p_holm)}`;
export const pct = (score) => (score.percentile > 99 ? "> 99\u00a0%" : ordinal(Math.round(score.percentile)));

// A share from 0 to 100 %, and in brackets its interval; a corrected estimate may lie beyond.
export function shareOf({ value, low, high }) {
  const [shown, from, to] = [value, low, high].map((one) => percent(Math.min(1, Math.max(0, one))));
  const beyond = percent(value) === shown ? "" : `; estimate ${percent(value).replace("-", "−")}`;
  return [shown, `(${from} to ${to}${beyond})`];
}

export function drawnOf(score) {
  const found = score?.inverse;
  if (!found) return "";
  if (found.reason) return axial() ? "" : `${found.n} images of it: ${found.reason}.`; // beside the images where there is an axis
  const shares = Object.entries(found.shares).map(([index, one]) => `${shareOf(one)[0]} nearer ${nameOf(index)} ${shareOf(one)[1]}`);
  return `${found.n} images of it: ${shares.join(", ")}.`;
}

// The word and images of it lean to different anchors; null where they do not.
export function disagreement(score) {
  const found = score?.inverse;
  if (!score?.contradiction || !found || found.lean === null) return null;
  // The side of the word is that of its lean beyond the anchors' words where that is clear, else as it is.
  const value = score.p_holm < 0.05 ? score.beyond_words : score.similarity_difference;
  return { value, forward: axial() ? (value >= 0 ? 0 : 1) : score.nearest, inverse: found.lean, share: found.shares[found.lean] };
}

// The smallest D that samples of these sizes can tell from chance, at 95 %.
export function smallestD(n) {
  const [a, b] = [...n].sort((x, y) => x - y);
  if (!a || !b) return 1;
  return Math.min(1, Math.sqrt(-Math.log(0.025) / 2) * Math.sqrt((a + b) / (a * b)));
}
