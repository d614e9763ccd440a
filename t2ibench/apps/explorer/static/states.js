// What a test can show. Written by tools/write_states.py from t2ibench/results/states.py.
export const STATES = {
  clear: { word: "clear", classes: "clear" },
  not_clear: { word: "not clear", classes: "null" },
  none_above: { word: "none above 0.24", classes: "null small" },
  cannot_tell: { word: "cannot tell", classes: "unsure" },
  no_score: { word: "no score", classes: "unsure" },
};
