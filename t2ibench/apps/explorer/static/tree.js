// The prompting tree: add, rename, relate, move and delete, by mouse and by keyboard.
import { S, commit, say, changed } from "./store.js";
import { byId, el, signed, term } from "./dom.js";
import { PROPERTY, RELATIONS, phrase, stemOf } from "./grammar.js";
import { rail, scale } from "./rail.js";
import { markOf, pct, sentence, spanOf } from "./words.js";

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

export function render() {
  if (editing && document.activeElement?.closest?.("#tree form")) return; // somebody is typing
  const inside = root.contains(document.activeElement);
  const held = focused ?? document.activeElement?.closest?.("#tree li")?.dataset.id;
  const concepts = S.state.tree.nodes.slice(1).map((node) => S.nodes.get(node.id)).filter((known) => known && !isAnchor(known));
  S.span = spanOf(concepts.flatMap((known) => known.scores ?? []).filter(Boolean));
  byId("tree-scale").replaceChildren(scale(S.span, [-S.span, 0, S.span], S.span < 0.1 ? 3 : 2));
  root.replaceChildren(...S.state.tree.nodes.filter((node) => node.parent === null).map((node) => branch(node, 1)));
  const items = [...root.querySelectorAll("li")];
  const current = items.find((item) => item.dataset.id === held) ?? items[0];
  if (current) current.tabIndex = 0;
  const field = root.querySelector("form input.label");
  if (field) { field.focus(); field.select(); } else if (focused || inside) current?.focus();
  focused = null;
  const chosen = root.querySelector("li[aria-selected=true] > .node");
  if (!chosen || root.scrollHeight <= root.clientHeight) return;
  root.scrollTop += chosen.getBoundingClientRect().top - root.getBoundingClientRect().top - 60;
}

function branch(node, level) {
  const item = document.createElement("li");
  item.dataset.id = node.id;
  item.setAttribute("role", "treeitem");
  item.setAttribute("aria-level", level);
  item.setAttribute("aria-selected", S.state.chosen.includes(node.id));
  item.tabIndex = -1;
  item.append(editing?.id === node.id ? form(node) : row(node, level));
  const inside = childrenOf(node.id);
  if (inside.length || editing?.parent === node.id) {
    item.setAttribute("aria-expanded", "true");
    const list = document.createElement("ul");
    list.setAttribute("role", "group");
    list.append(...inside.map((child) => branch(child, level + 1)));
    if (editing?.parent === node.id) {
      const fresh = document.createElement("li");
      const stem = node.parent === null && stemOf(S.state.tree.nodes);
      fresh.append(form({ label: "", relation: stem ? `${stem} a` : PROPERTY }));
      list.append(fresh);
    }
    item.append(list);
  }
  if (node.parent !== null) dragging(item, node);
  return item;
}

const isAnchor = (known) => S.state.anchors.some((one) => one.prompt === known.text);

function row(node, level) {
  const known = S.nodes.get(node.id);
  const anchor = known && isAnchor(known);
  const peers = childrenOf(node.parent), before = peers[peers.indexOf(node) - 1];
  const relation = node.parent !== null && node.relation !== PROPERTY && before?.relation !== node.relation;
  const label = el("span", { class: "tn", vars: { d: level - 1 } },
    relation && el("span", { class: "relation", text: node.relation }),
    el("span", { class: "label", text: node.label || "(root)" }),
    anchor && el("span", { class: "tag", text: "anchor" }));
  const element = el("div", { class: "node" }, label);
  if (known?.scores && !anchor && node.parent !== null) element.append(...numbers(known));
  if (known) element.title = known.text;
  element.append(acts(node));
  element.onclick = (event) => choose(node.id, event.ctrlKey || event.metaKey || event.shiftKey);
  element.onmouseenter = () => { S.lit = known?.text ?? null; changed("lit"); };
  element.onmouseleave = () => { S.lit = null; changed("lit"); };
  return element;
}

// A rail for every run, one below the other, and the lean of the first that has one.
function numbers(known) {
  const several = S.sources.length > 1;
  const rails = el("span", { class: "rails" }, known.scores.map((score, at) =>
    rail(markOf(score), sentence(several ? `${known.text}, ${S.sources[at].name}` : known.text, score),
      { span: S.span, height: several ? 16 : 26, dot: 8 })));
  const first = known.scores.find(Boolean);
  if (!first) return [rails];
  const mark = markOf(first);
  const value = el("span", { class: `num tv ${mark.state === "clear" ? `t-${mark.side}` : "muted"}`, text: signed(mark.value, 2) },
    el("small", { text: pct(first) }));
  value.classList.add("scores");
  return [rails, value];
}

function acts(node) {
  const made = el("span", { class: "acts" });
  const all = [["+", "Add below", () => add(node.id)], ["✎", "Rename", () => rename(node.id)], ["✕", "Delete", () => remove(node.id)]];
  for (const [sign, title, act] of all) {
    if (sign === "✕" && node.parent === null) continue;
    made.append(el("button", {
      text: sign, title, "aria-label": `${title}: ${node.label || "root"}`, tabindex: -1,
      on: { click: (event) => { event.stopPropagation(); act(); } },
    }));
  }
  return made;
}

function form(node) {
  const label = input("label", node.label, "concept");
  const relation = input("relation", node.relation, "relation");
  const list = el("datalist", { id: "relations" }, RELATIONS.map((text) => new Option(text, text)));
  relation.setAttribute("list", "relations");
  const fields = el("form", {}, ...(node.parent === null ? [label] : [relation, label]), el("button", { text: "OK" }), list);
  fields.onsubmit = (event) => { event.preventDefault(); finish(label.value.trim(), relation.value.trim()); };
  // A relation that nobody touched follows the grammar of what is typed.
  let touched = node.id !== undefined || node.parent === null;
  relation.oninput = () => { touched = true; };
  label.onchange = () => {
    if (touched || !editing?.guess || !label.value.trim()) return;
    const found = phrase(label.value, stemOf(S.state.tree.nodes));
    [relation.value, label.value] = [found.relation, found.label];
  };
  fields.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && event.target === label) label.onchange();
    if (event.key === "Escape") { focused = editing.id ?? editing.parent; editing = null; render(); }
  };
  return el("div", { class: "node" }, fields);
}

const input = (kind, value, name) =>
  el("input", { class: kind, value, placeholder: name, "aria-label": name, maxlength: 200, autocomplete: "off" });

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
  } else focused = put(label, relation || PROPERTY, parent);
  render();
}

function put(label, relation, parent) {
  const fresh = `n${Date.now().toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`;
  commit((state) => {
    state.tree.nodes = sorted([...state.tree.nodes, { id: fresh, label, parent, relation }]);
    state.chosen = [fresh];
  });
  return fresh;
}

// A word or phrase below the root, with the relation that its grammar asks for.
export function addWord(words) {
  const { nodes } = S.state.tree;
  const { relation, label } = phrase(words, stemOf(nodes));
  const there = nodes.find((node) => node.parent === nodes[0].id && node.label === label && node.relation === relation);
  if (there) { commit((state) => { state.chosen = [there.id]; }); return there.id; }
  return put(label.slice(0, 200), relation, nodes[0].id);
}

// A whole text, as a link has it: below the root where it begins like it, else as a word.
export function addText(text) {
  const { nodes } = S.state.tree, before = `${nodes[0].label} ${stemOf(nodes)} `;
  if (!stemOf(nodes) || !text.startsWith(before)) { addWord(text); return; }
  const rest = text.slice(before.length), found = /^an?\s+(.+)$/.exec(rest);
  put(found ? found[1] : rest, `${stemOf(nodes)}${found ? " a" : ""}`, nodes[0].id);
}

// A word in just the text that a template gives it: "picture that shows a person with {a word}".
export function addExactly(word, template) {
  const { nodes } = S.state.tree, before = template.replace(/\s*\{[^}]*\}\s*$/, "");
  const root = nodes[0].label;
  const fits = before !== template && root && before.startsWith(`${root} `);
  if (!fits) { addWord(word); return; }
  const stem = before.slice(root.length + 1), relation = /\{an? /.test(template) ? `${stem} a` : stem;
  const there = nodes.find((node) => node.label === word && node.relation === relation);
  if (there) commit((state) => { state.chosen = [there.id]; });
  else put(word, relation, nodes[0].id);
}

// The tree as it would be with a word, and the id it would have: for a look before it is added.
export function withWord(words) {
  const { nodes } = S.state.tree;
  return { tree: { nodes: [...nodes, { id: "preview", parent: nodes[0].id, ...phrase(words, stemOf(nodes)) }] }, nodes: ["preview"] };
}

export function head() {
  byId("tree-head").replaceChildren(term("lean"), ", ", term("95 %"), " · ", term("pct.", "percentile"), " · ", term("grey", "band"));
}

export function add(parent) {
  const above = parent ?? S.state.tree.nodes[0].id;
  editing = { parent: above, guess: above === S.state.tree.nodes[0].id };
  render();
}
function rename(id) { editing = { id }; render(); }

export function remove(id) {
  const node = nodeOf(id);
  if (!node || node.parent === null) return;
  focused = node.parent;
  commit((state) => {
    state.tree.nodes = state.tree.nodes.filter((node) => !isInside(node.id, id));
    const left = new Set(state.tree.nodes.map((node) => node.id));
    state.chosen = state.chosen.filter((chosen) => left.has(chosen));
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
