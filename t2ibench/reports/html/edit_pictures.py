"""The pictures of a test about edits: source images and the edits made from them.

None is picked by hand: they follow from the answers, the samples and the task's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.methods.core.edit_report import EditReport
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.reports.html.evidence import (
    Rows,
    Thumbnails,
    Tile,
    beginning_of_file,
    drawn_rows,
)

PAIRS = 4  # of each strip
# The names of the two pictures of a pair.
NAMES = ("before", "after")
_BUDGET = 900_000  # characters of data URIs
_SIDE = 160  # pixels of a picture
_QUALITY = 55
# The columns of the files of a pair.
_FILES = ("source_file", "file")


@dataclass(frozen=True, slots=True)
class EditedPair:
    """A source image and an edit of it, with what was answered about both."""

    before: Tile
    after: Tile
    caption: str


@dataclass(frozen=True, slots=True)
class EditedPairs:
    """A strip of pairs of one group.

    Attributes:
        title: Whose images they are.
        rule: How they were chosen.
        pairs: The pairs.
    """

    title: str
    rule: str
    pairs: tuple[EditedPair, ...]


def pair_thumbnails(like: Thumbnails) -> Thumbnails:
    """Return where thumbnails of pairs are made, from the same folder as others of the page."""
    return Thumbnails(like.folder, _BUDGET, _SIDE, _QUALITY)


def edited_pairs(
    task: str, report: EditReport, samples: Rows, thumbnails: Thumbnails
) -> tuple[EditedPairs, ...]:
    """Return strips of pairs, for each group those that changed and some at random.

    Args:
        task: The id of the task.
        report: Its counts.
        samples: Its rows, one for each edited image and question.
        thumbnails: Where small versions of the images are made, up to a limit of total size.

    Returns:
        At most two strips a group: pairs of which the answer to the headline's question is another
        after the edit, and pairs drawn among all.
    """
    strips: list[EditedPairs] = []
    for group in report.groups:
        rows = [row for row in samples if _is_shown(row, group, report)]
        changed = [row for row in rows if _is_changed(row)]
        seed = f"{task}\0{group}"
        chosen = drawn_rows(f"{seed}\0changed", changed, most=PAIRS, files=_FILES)
        if chosen:
            number = f"{len(chosen)} of {len(changed):,} among {len(rows):,}"
            rule = f"{number} edits after which the answer is another"
            title = f"{group}: {_without_subject(report.headline)} changed"
            strips.append(_strip(title, rule, chosen, thumbnails))
        drawn = drawn_rows(seed, rows, most=PAIRS, files=_FILES)
        if drawn:
            rule = f"{len(drawn)} of {len(rows):,} edits, drawn by the task’s id"
            strips.append(_strip(f"{group}: at random", rule, drawn, thumbnails))
    return () if thumbnails.full else tuple(strips)


def _is_shown(row: Mapping[str, Any], group: str, report: EditReport) -> bool:
    """Return whether a sample is of a group's edit, about the headline, and has both files."""
    has_files = isinstance(row.get("file"), str) and isinstance(
        row.get("source_file"), str
    )
    return (
        has_files
        and row.get("group") == group
        and row.get("attribute") == report.headline
        and row.get("edit") in report.edits
    )


def _is_changed(row: Mapping[str, Any]) -> bool:
    """Return whether a class was answered before and another after."""
    before, after = row.get("before"), row.get("answer")
    return {before, after}.isdisjoint({None, UNKNOWN}) and before != after


def _strip(
    title: str,
    rule: str,
    rows: Sequence[Mapping[str, Any]],
    thumbnails: Thumbnails,
) -> EditedPairs:
    return EditedPairs(title, rule, tuple(_pair(row, thumbnails) for row in rows))


def _pair(row: Mapping[str, Any], thumbnails: Thumbnails) -> EditedPair:
    """Return the pictures of a sample; their texts are prompt and edit, never a guess."""
    source = {"file": row["source_file"], "sha256": row.get("source_sha256")}
    number = int(row.get("source_index", 0)) + 1
    what = f"{row.get('source_prompt', '')}, number {number}"
    before = Tile(
        source=thumbnails.of(source),
        alt=f"{what}, before the edit",
        caption=_answer(row.get("before")),
        file=beginning_of_file(source),
    )
    after = Tile(
        source=thumbnails.of(row),
        alt=f"{what}, after the edit “{row.get('edit', '')}”",
        caption=_answer(row.get("answer")),
        file=beginning_of_file(row),
    )
    return EditedPair(before, after, str(row.get("edit", "")))


def _answer(answer: object) -> str:
    return answer if isinstance(answer, str) else "no answer"


def _without_subject(attribute: str) -> str:
    """Return an attribute's name without its subject: 'age' of 'person age'."""
    return attribute.rpartition(" ")[2]
