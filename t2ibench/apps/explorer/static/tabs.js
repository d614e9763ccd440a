// The tools at the right, one at a time.
import { byId } from "./dom.js";
import * as card from "./card.js";
import * as discover from "./discover.js";
import * as grid from "./grid.js";
import * as link from "./link.js";
import * as map from "./map.js";
import * as runs from "./runs.js";
import * as tests from "./tests.js";

const PANELS = { map, discover, tests, images: { show: () => grid.layout(), changed: () => {} }, runs, card };
const NAMES = Object.keys(PANELS);
let now = null;

export function open(name, focus) {
  const wanted = NAMES.includes(name) && !byId(`tab-${name}`).hidden ? name : "map";
  now = wanted;
  for (const one of NAMES) {
    const tab = byId(`tab-${one}`);
    tab.setAttribute("aria-selected", one === wanted);
    tab.tabIndex = one === wanted ? 0 : -1;
    byId(`panel-${one}`).hidden = one !== wanted;
  }
  link.write({ tab: wanted, ...(wanted === "tests" ? {} : { task: null, row: null, of: null, run: null }) });
  if (focus) {
    byId(`tab-${wanted}`).focus({ preventScroll: true });
    byId("tabs").scrollIntoView({ block: "nearest" });
  }
  PANELS[wanted].show();
}

// Something changed: only the open tool has to know now, the others when they are opened.
export function shown(what) {
  for (const name of NAMES) PANELS[name].changed(what, name === now);
}

const list = byId("tabs");
list.addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (tab) open(tab.id.slice(4), true);
});
list.addEventListener("keydown", (event) => {
  const there = NAMES.filter((name) => !byId(`tab-${name}`).hidden), at = there.indexOf(now);
  const to = {
    ArrowRight: (at + 1) % there.length, ArrowLeft: (at + there.length - 1) % there.length, Home: 0, End: there.length - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  open(there[to], true);
});
