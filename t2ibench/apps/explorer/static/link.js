// What is looked at, in the address: a link opens the same view.
export const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

export function write(values) {
  const params = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "") params.delete(name); else params.set(name, value);
  }
  const hash = params.toString();
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}
