// How a typed word hangs on its parent: "female" gives "picture that shows a female person".

export const PROPERTY = "has property";
export const RELATIONS = [PROPERTY, "that shows a", "that shows", "that shows a person", "wearing a", "with", "taken in", "in", "of"];

const PLACES = /^(in|at|on|near|under|inside|outside|during|after|before|from)\s+/i;
const OF_PEOPLE = new Set((
  "female male old young elderly middle-aged adult happy sad angry afraid calm rich poor wealthy homeless beautiful ugly "
  + "pretty attractive handsome smart intelligent clever strong weak tall short fat thin overweight pregnant blond blonde "
  + "bald black white asian african american european latino hispanic indian arab native brown disabled blind deaf healthy "
  + "sick tired kind friendly cruel honest lazy polite rude shy proud brave modest evil nice warm cold competent lonely "
  + "married single divorced gay straight queer transgender trans religious muslim christian jewish hindu buddhist educated "
  + "successful unemployed employed criminal violent aggressive innocent guilty").split(" "));

const adjective = (word) => OF_PEOPLE.has(word.toLowerCase()) || /(ful|ous|less)$/.test(word.toLowerCase());
const plural = (word) => /[^su]s$/i.test(word) && !/(ss|us|is|lens|news)$/i.test(word);

// What a concept typed below the root becomes. `stem` are the root's own words before the article.
export function phrase(words, stem = "that shows") {
  const text = words.trim().replace(/\s+/g, " ");
  const parts = text.split(" ");
  if (!stem) return { relation: PROPERTY, label: text };
  if (/^with\s/i.test(text)) return { relation: "with", label: text.replace(/^with\s+/i, "") };
  const place = PLACES.exec(text);
  if (place) return { relation: `taken ${place[1].toLowerCase()}`, label: text.slice(place[0].length) };
  if (/^(a|an|the|some|one|two|three|many|no)\s/i.test(text)) return { relation: stem, label: text };
  if (/ing$/i.test(parts[0]) && parts.length > 1) return { relation: `${stem} a person`, label: text };
  if (parts.every(adjective)) return { relation: `${stem} a`, label: `${text} person` };
  if (plural(parts[parts.length - 1])) return { relation: stem, label: text };
  return { relation: `${stem} a`, label: text };
}

// The root's words before the article of its children, as its anchors have them: "that shows".
export function stemOf(nodes) {
  const [root, ...others] = nodes;
  const below = others.find((node) => node.parent === root.id && /\san?$/.test(node.relation));
  if (below) return below.relation.replace(/\s+an?$/, "");
  const plain = others.find((node) => node.parent === root.id);
  if (plain) return plain.relation === PROPERTY ? "" : plain.relation;
  return root.label ? "that shows" : "";
}
