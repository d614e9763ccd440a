"""Parts of other files of the repository, put into pages so that they cannot drift.

`<!-- include: CONTRIBUTING.md#A method -->` stands for that section, without its heading;
without `#`, for the whole file without its title.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

_INCLUDE = re.compile(
    r"^<!-- include: (?P<file>[^#\s]+)(?:#(?P<heading>.+?))? -->$", re.M
)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
# Files of the repository that are a page of the site under another name.
_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "extend/contributing.md",
    "CHANGELOG.md": "changelog.md",
    "leaderboard/README.md": "leaderboard.md",
    "examples/plugin/README.md": "extend/plugin.md",
    "t2ibench/bundled/models/MODEL_CARD.md": "models/toy.md",
    "t2ibench/toyland/MODEL_CARD.md": "models/toyland.md",
}


def put_in(markdown: str, page: str, root: Path, pages: set[str]) -> str:
    """A page with the parts that it names."""

    def part(found: re.Match[str]) -> str:
        file = found["file"]
        text = (root / file).read_text(encoding="utf-8")
        section = _section(text, found["heading"], file)
        return _relinked(section, posixpath.dirname(file), page, pages)

    return _INCLUDE.sub(part, markdown)


def _section(text: str, heading: str | None, file: str) -> str:
    lines = text.splitlines()
    starts, fenced = [], False
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        found = None if fenced else re.match(r"(#+) (.*)", line)
        if found:
            starts.append((number, len(found[1]), found[2].strip()))
    if heading is None:
        return "\n".join(lines[starts[0][0] + 1 :]) if starts else text
    at = [k for k, (_, _, title) in enumerate(starts) if title == heading]
    if not at:
        raise ValueError(f"{file} has no heading '{heading}'")
    first, level, _ = starts[at[0]]
    ends = [number for number, depth, _ in starts[at[0] + 1 :] if depth <= level]
    until = ends[0] if ends else len(lines)
    for number, depth, title in starts[at[0] + 1 :]:  # below the page's own title
        lines[number] = f"{'#' * (depth - level + 1)} {title}"
    return "\n".join(lines[first + 1 : until]).strip()


def _relinked(text: str, folder: str, page: str, pages: set[str]) -> str:
    """Links of a file as links of a page; one to a file that is no page becomes its text."""

    def link(found: re.Match[str]) -> str:
        image, words, to, anchor = found.groups()
        target = posixpath.normpath(posixpath.join(folder, to))
        inside = _PAGES.get(target, target.removeprefix("docs/"))
        if inside in pages or (image and target.startswith("docs/")):
            near = posixpath.relpath(inside, posixpath.dirname(page) or ".")
            return f"{image}[{words}]({near}{anchor or ''})"
        return f"{words} (`{target}`)" if words != target else f"`{target}`"

    return _LINK.sub(link, text)
