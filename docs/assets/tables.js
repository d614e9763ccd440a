// A table that is wider than the page scrolls, also by keyboard.
addEventListener("load", () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .doc-contents .md-typeset__table")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
