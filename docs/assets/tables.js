// A table that is wider than the page scrolls, also by keyboard.
addEventListener("load", () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .doc-contents .md-typeset__table")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  // The theme puts each button that copies code into a landmark of its own: a page has dozens of them.
  const unmark = () => {
    for (const box of document.querySelectorAll("nav.md-code__nav:not([role])")) box.setAttribute("role", "presentation");
  };
  new MutationObserver(unmark).observe(document.body, { childList: true, subtree: true });
  unmark();
});
