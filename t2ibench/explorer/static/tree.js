// The prompting tree: add, rename, relate, move and delete, by mouse and by keyboard.
import { S, commit, say, changed } from "./store.js";

const PROPERTY = "has property";
const RELATIONS = [PROPERTY, "that shows a", "wearing a", "with", "taken in", "in", "of"];
const root = document.getElementById("tree");
let editing = null; // {id} or {parent}
let focused = null;

const nodeOf = (id) => S.state.tree.nodes.find((node) => node.id === id);
const childrenOf = (id) => S.state.tree.nodes.filter((node) => node.parent === id);
const isInside = (id, above) => {
  for (let node = nodeOf(id); node; node = nodeOf(node.parent)) if (node.id === above) return true;
  return false;
};

// Nodes in the order of the tree: parents come before their children.
function sorted(nodes) {
  const out = [];
  const visit = (node) => { out.push(node); nodes.filter((child) => child.parent === node.id).forEach(visit); };
  nodes.filter((node) => node.parent === null).forEach(visit);
  return out;
}

function mix(colour, strength) {
  const grey = [154, 161, 167];
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgb(${grey.map((value, channel) => Math.round(value + (wanted[channel] - value) * strength)).join(" ")})`;
}

export function strengthOf(score) {
  // Grey is what chance alone gives at these numbers of images.
  if (S.colourBy === "z") return Math.min(1, Math.max(0, (Math.abs(score.z) - 1) / 4));
  return Math.min(1, Math.max(0, (score.d - score.chance) / (1 - score.chance)));
}

export function tint(id) {
  const node = S.nodes.get(id);
  const anchor = S.state.anchors.find((anchor) => node && anchor.prompt === node.text);
  if (anchor) return anchor.colour;
  const score = node?.scores?.find((score) => score);
  if (!score) return "";
  // A colour is a claim: grey unless the concept leans further than everyday words explain.
  if (score.lean === null) return mix("#9aa1a7", 0);
  return mix(S.state.anchors[score.lean]?.colour ?? "#9aa1a7", Math.max(0.35, strengthOf(score)));
}

const signed = (value, digits) => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(digits)}`;
export const probability = (p) => p < 0.001 ? "p < .001" : `p ${p.toFixed(3).replace(/^0/, "")}`;

export function verdictOf(score) {
  if (score.verdict === "leans") return `leans to ${S.state.anchors[score.lean]?.name ?? "an anchor"}`;
  return score.verdict === "inconclusive" ? "inconclusive" : "not beyond everyday words";
}

export function drawnOf(score) {
  if (!score.inverse) return "";
  if (score.inverse.reason) return `${score.inverse.n} drawn: ${score.inverse.reason}`;
  const percent = (value) => Math.round(100 * value);
  const shares = Object.entries(score.inverse.shares).map(([index, { value, low, high }]) =>
    `${S.state.anchors[index]?.name} ${percent(value)} % [${percent(low)}, ${percent(high)}]`);
  return `${score.inverse.n} drawn: ${shares.join(", ")}`;
}

export const shown = (score) => score
  ? `${verdictOf(score)} · further than ${Math.round(score.percentile)} % of everyday words · ${probability(score.p_holm)} · D ${score.d.toFixed(2)}`
  : "no images";
export const effectOf = (score) => `m ${signed(score.m, 4)}${score.m_low === null ? "" : ` [${signed(score.m_low, 4)}, ${signed(score.m_high, 4)}]`} · beyond words ${signed(score.beyond_words, 4)}`;

export function render() {
  if (editing && document.activeElement?.closest?.("#tree form")) return; // somebody is typing
  const inside = root.contains(document.activeElement);
  const held = focused ?? document.activeElement?.closest?.("#tree li")?.dataset.id;
  root.replaceChildren(...S.state.tree.nodes.filter((node) => node.parent === null).map((node) => branch(node, 1)));
  const items = [...root.querySelectorAll("li")];
  const current = items.find((item) => item.dataset.id === held) ?? items[0];
  if (current) current.tabIndex = 0;
  const field = root.querySelector("form input.label");
  if (field) { field.focus(); field.select(); } else if (focused || inside) current?.focus();
  focused = null;
}

function branch(node, level) {
  const item = document.createElement("li");
  item.dataset.id = node.id;
  item.setAttribute("role", "treeitem");
  item.setAttribute("aria-level", level);
  item.setAttribute("aria-selected", S.state.chosen.includes(node.id));
  item.tabIndex = -1;
  item.append(editing?.id === node.id ? form(node) : row(node));
  const inside = childrenOf(node.id);
  if (inside.length || editing?.parent === node.id) {
    item.setAttribute("aria-expanded", "true");
    const list = document.createElement("ul");
    list.setAttribute("role", "group");
    list.append(...inside.map((child) => branch(child, level + 1)));
    if (editing?.parent === node.id) {
      const fresh = document.createElement("li");
      fresh.append(form({ label: "", relation: node.parent === null ? "that shows a" : PROPERTY }));
      list.append(fresh);
    }
    item.append(list);
  }
  if (node.parent !== null) dragging(item, node);
  return item;
}

function row(node) {
  const known = S.nodes.get(node.id);
  const element = document.createElement("div");
  element.className = "node";
  const colour = tint(node.id);
  if (colour) element.style.setProperty("--tint", colour);
  const acts = document.createElement("span");
  acts.className = "acts";
  for (const [sign, title, act] of [["+", "Add below", () => add(node.id)], ["✎", "Rename", () => rename(node.id)], ["✕", "Delete", () => remove(node.id)]]) {
    if (sign === "✕" && node.parent === null) continue;
    const button = document.createElement("button");
    button.textContent = sign;
    button.title = title;
    button.setAttribute("aria-label", `${title}: ${node.label || "root"}`);
    button.tabIndex = -1;
    button.onclick = (event) => { event.stopPropagation(); act(); };
    acts.append(button);
  }
  element.append(acts);
  if (node.parent !== null && node.relation !== PROPERTY) element.append(span("relation", node.relation));
  element.append(span("label", node.label || "(root)"));
  const anchor = S.state.anchors.find((anchor) => known && anchor.prompt === known.text);
  if (anchor) element.append(span("mark", "anchor"));
  if (S.state.inverse.includes(node.id)) element.append(span("mark", "generated"));
  if (known?.scores && !anchor && node.parent !== null) {
    const several = S.sources.length > 1;
    const text = known.scores.map((score, at) => (several ? `${S.sources[at].name}: ` : "") + shown(score)).join("\n");
    const scores = span("scores", text);
    scores.style.whiteSpace = "pre-line";
    element.append(scores);
  }
  if (known) element.title = known.text;
  element.onclick = (event) => choose(node.id, event.ctrlKey || event.metaKey || event.shiftKey);
  element.onmouseenter = () => { S.lit = known?.text ?? null; changed("lit"); };
  element.onmouseleave = () => { S.lit = null; changed("lit"); };
  return element;
}

function span(kind, text) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  return element;
}

function form(node) {
  const element = document.createElement("div");
  element.className = "node";
  const fields = document.createElement("form");
  const label = input("label", node.label, "concept");
  const relation = input("relation", node.relation, "relation");
  const list = document.createElement("datalist");
  list.id = "relations";
  list.append(...RELATIONS.map((text) => new Option(text, text)));
  relation.setAttribute("list", "relations");
  const done = document.createElement("button");
  done.textContent = "OK";
  fields.append(...(node.parent === null ? [label] : [relation, label]), done, list);
  fields.onsubmit = (event) => { event.preventDefault(); finish(label.value.trim(), relation.value.trim()); };
  fields.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Escape") { focused = editing.id ?? editing.parent; editing = null; render(); }
  };
  element.append(fields);
  return element;
}

function input(kind, value, name) {
  const field = document.createElement("input");
  field.className = kind;
  field.value = value;
  field.placeholder = name;
  field.setAttribute("aria-label", name);
  field.maxLength = 200;
  return field;
}

function finish(label, relation) {
  const { id, parent } = editing;
  editing = null;
  if (!label && (!id || nodeOf(id).parent !== null)) { focused = id ?? parent; render(); return; }
  if (id) {
    focused = id;
    commit((state) => {
      const node = state.tree.nodes.find((node) => node.id === id);
      node.label = label;
      if (node.parent !== null) node.relation = relation || PROPERTY;
    });
  } else {
    const fresh = `n${Date.now().toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`;
    focused = fresh;
    commit((state) => {
      state.tree.nodes = sorted([...state.tree.nodes, { id: fresh, label, parent, relation: relation || PROPERTY }]);
      state.chosen = [fresh];
    });
  }
  render();
}

export function add(parent) { editing = { parent: parent ?? S.state.tree.nodes[0].id }; render(); }
export function rename(id) { editing = { id }; render(); }

export function remove(id) {
  const node = nodeOf(id);
  if (!node || node.parent === null) return;
  focused = node.parent;
  commit((state) => {
    state.tree.nodes = state.tree.nodes.filter((node) => !isInside(node.id, id));
    const left = new Set(state.tree.nodes.map((node) => node.id));
    state.chosen = state.chosen.filter((chosen) => left.has(chosen));
    state.inverse = state.inverse.filter((chosen) => left.has(chosen));
  });
  say(`Removed “${node.label}”. Ctrl+Z brings it back.`);
}

export function choose(id, more) {
  commit((state) => {
    const others = state.chosen.filter((other) => other !== id);
    const wasChosen = others.length !== state.chosen.length;
    state.chosen = more ? [...others, ...(wasChosen ? [] : [id])].slice(-4) : wasChosen && state.chosen.length === 1 ? [] : [id];
  });
}

function move(id, parent, before) {
  if (!nodeOf(id) || nodeOf(id).parent === null || isInside(parent, id)) return;
  focused = id;
  commit((state) => {
    const nodes = state.tree.nodes.filter((node) => node.id !== id);
    const node = { ...state.tree.nodes.find((node) => node.id === id), parent };
    const at = before ? nodes.findIndex((node) => node.id === before) : nodes.length;
    nodes.splice(at, 0, node);
    state.tree.nodes = sorted(nodes);
  });
}

function nudge(id, key) {
  const node = nodeOf(id);
  if (!node || node.parent === null) return;
  const peers = childrenOf(node.parent);
  const at = peers.findIndex((node) => node.id === id);
  if (key === "ArrowUp" && at > 0) move(id, node.parent, peers[at - 1].id);
  if (key === "ArrowDown" && at < peers.length - 1) move(id, node.parent, peers[at + 2]?.id);
  if (key === "ArrowRight" && at > 0) move(id, peers[at - 1].id);
  if (key === "ArrowLeft" && nodeOf(node.parent).parent !== null) move(id, nodeOf(node.parent).parent);
}

function dragging(item, node) {
  const handle = item.firstChild;
  handle.draggable = true;
  handle.ondragstart = (event) => { event.dataTransfer.setData("text/plain", node.id); event.dataTransfer.effectAllowed = "move"; };
}

root.addEventListener("dragover", (event) => {
  const over = event.target.closest("li");
  root.querySelectorAll(".drop").forEach((target) => target.classList.remove("drop"));
  if (over) { event.preventDefault(); over.classList.add("drop"); }
});
root.addEventListener("dragleave", () => root.querySelectorAll(".drop").forEach((target) => target.classList.remove("drop")));
root.addEventListener("drop", (event) => {
  event.preventDefault();
  const over = event.target.closest("li");
  if (over?.dataset.id) move(event.dataTransfer.getData("text/plain"), over.dataset.id);
  render();
});

root.addEventListener("keydown", (event) => {
  const item = event.target.closest("li");
  if (!item?.dataset.id || event.target.tagName === "INPUT") return;
  const id = item.dataset.id;
  const items = [...root.querySelectorAll("li[data-id]")];
  const at = items.indexOf(item);
  if (event.altKey && event.key.startsWith("Arrow")) nudge(id, event.key);
  else if (event.key === "ArrowDown") items[Math.min(at + 1, items.length - 1)].focus();
  else if (event.key === "ArrowUp") items[Math.max(at - 1, 0)].focus();
  else if (event.key === "ArrowRight") item.querySelector("ul > li")?.focus();
  else if (event.key === "ArrowLeft") item.parentElement.closest("li")?.focus();
  else if (event.key === "Home") items[0].focus();
  else if (event.key === "End") items.at(-1).focus();
  else if (event.key === "Enter" || event.key === "F2") rename(id);
  else if (event.key === "Insert" || event.key === "+") add(id);
  else if (event.key === "Delete") remove(id);
  else if (event.key === " ") { focused = id; choose(id, event.ctrlKey || event.shiftKey); }
  else return;
  event.preventDefault();
});
