// What is looked at, in the address: a link opens the same view.
import { ranges, unranged } from "./geometry.js";

export const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

const MOST = 4000; // characters of a selection; a longer one is not a link

export function write(values) {
  const params = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "") params.delete(name); else params.set(name, value);
  }
  const hash = params.toString();
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

export const selection = (numbers) => {
  const text = numbers ? ranges(numbers) : "";
  return text.length > MOST ? null : text;
};
export const selected = (text, most) => (text ? unranged(text, most) : null);
