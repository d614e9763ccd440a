// The one mark for every interval; its style is in tokens.css, which reports share.
import { el, signed } from "./dom.js";
import { STATES } from "./states.js";

const cut = (value, span) => Math.max(-span, Math.min(span, value));

// mark: {value, low, high, band or fair, side, state}; value null draws a dotted rail with `withoutMark` on it.
export function rail(mark, label, { span = 1, height, dot, ticks = [], axis = false, withoutMark = "no images" } = {}) {
  const vars = {};
  if (height) vars.h = `${height}px`;
  if (dot) vars.dot = `${dot}px`;
  if (mark.value === null || mark.value === undefined) {
    return el("span", { class: "rail none", role: "img", "aria-label": label, vars },
      el("i", { class: "axis" }), el("i", { class: "say", text: withoutMark }));
  }
  const { value, low, high } = mark, fair = mark.fair ?? (mark.band ? [-mark.band, mark.band] : null);
  const known = low !== null && low !== undefined && high !== null && high !== undefined;
  Object.assign(vars, { v: cut(value, span), span });
  if (known) Object.assign(vars, { lo: cut(low, span), hi: cut(high, span) });
  if (fair) Object.assign(vars, { b0: cut(fair[0], span), b1: cut(fair[1], span) });
  const { classes } = STATES[mark.state] ?? STATES.not_clear;
  const kind = mark.state === "clear" ? `${classes} ${mark.side ?? "plain"}` : classes;
  const over = Math.abs(value) > span;
  return el("span", { class: `rail ${kind}${mark.half ? " half" : ""}`, role: "img", "aria-label": label, vars },
    fair && el("i", { class: "band" }), axis && el("i", { class: "axis" }), el("i", { class: "zero" }),
    ticks.map((tick) => el("i", { class: "tk", vars: { t: cut(tick, span) } })),
    known && el("i", { class: "ci" }), el("i", { class: "dot" }),
    over && el("i", { class: `over ${value > 0 ? "hi" : "lo"}`, text: value > 0 ? "›" : "‹" }));
}

export function scale(span, ticks, digits) {
  return el("span", { class: "scale", "aria-hidden": "true", vars: { span } },
    ticks.map((tick) => el("i", { text: signed(tick, digits), vars: { t: tick } })));
}
