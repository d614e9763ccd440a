// What a score says, in words and as a mark; never more than the numbers do.
import { S, axial, sideOf } from "./store.js";
import { probability, ordinal, percent, signed } from "./dom.js";
import { roundUp } from "./geometry.js";

const STATES = { leans: "clear", inconclusive: "cannot_tell", no_lean: "not_clear" };

export const nameOf = (index) => S.state.anchors[index]?.name ?? "an anchor";

export function markOf(score) {
  if (!score) return { value: null };
  const state = STATES[score.verdict];
  const side = state === "clear" && score.lean !== null ? sideOf(score.lean) : "plain";
  return { value: score.m, low: score.m_low, high: score.m_high, band: score.band ?? null, state, side, half: !axial() };
}

// One axis for the whole tree: round, and wide enough for every interval and the band.
export function spanOf(scores) {
  let most = 0;
  for (const score of scores) {
    for (const value of [score.m, score.m_low, score.m_high, score.band]) if (value) most = Math.max(most, Math.abs(value));
  }
  return roundUp(most || 0.1);
}

export const shortVerdict = (score) => ({
  leans: `leans to ${nameOf(score.lean)}`, inconclusive: "cannot tell", no_lean: "no further than everyday words",
}[score.verdict]);

// The sentence of a rail: name, lean, interval and state.
export function sentence(name, score) {
  if (!score) return `${name}: no images of two anchors.`;
  const interval = score.m_low === null ? "" : `, 95 % interval ${signed(score.m_low, 3)} to ${signed(score.m_high, 3)}`;
  return `${name}: lean ${signed(score.m, 3)}${interval}; ${shortVerdict(score)}, ${place(score)}.`;
}

export const place = (score) => `further than ${Math.round(score.percentile)} % of everyday words, ${probability(score.p_holm)}`;
export const pct = (score) => ordinal(Math.round(score.percentile));

export function drawnOf(score) {
  const found = score?.inverse;
  if (!found) return "";
  if (found.reason) return `${found.n} images of it: ${found.reason}.`;
  const shares = Object.entries(found.shares).map(([index, { value, low, high }]) =>
    `${percent(value)} nearer ${nameOf(index)} (${percent(low)} to ${percent(high)})`);
  return `${found.n} images of it: ${shares.join(", ")}.`;
}

// Forward and inverse point to different anchors, or cannot be told apart: null where they agree.
export function disagreement(score) {
  const found = score?.inverse;
  if (!found || found.reason || found.lean === null) return null;
  const forward = score.m >= 0 ? 0 : 1;
  if (!score.contradiction && !(axial() && found.lean !== forward)) return null;
  const share = found.shares[found.lean];
  return { forward, inverse: found.lean, share };
}

// The smallest D that samples of these sizes can tell from chance, at 95 %.
export function smallestD(n) {
  const [a, b] = [...n].sort((x, y) => x - y);
  if (!a || !b) return 1;
  return Math.min(1, Math.sqrt(-Math.log(0.025) / 2) * Math.sqrt((a + b) / (a * b)));
}
