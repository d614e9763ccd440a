"""Writer of the labelling sheet, a CSV file, and of the web page that fills it in."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.labelling.pairs import LabelledRun
from t2ibench.apps.labelling.sample import Item, ShownBeside
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.reports.csv import cell
from t2ibench.reports.html.templating import font_faces, static
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageFile
from t2ibench.store.pixels import thumbnail

SHEET = "sheet.csv"
PAGE = "label.html"
# what is asked about; 'unknown' is there, but cannot be told
NOT_SHOWN = "not in the picture"
NO_CLASS = (UNKNOWN, NOT_SHOWN)  # answers to every question
COLUMNS = ("id", "file", "question", "classes", "answer")
_SIDE = 1024  # pixels of the longest side: as much as a person needs to answer
_IMAGE = re.compile(r"images/[0-9a-f]{16}\.jpg")  # as _file_of names them
STATIC = Path(__file__).parent / "static"


def write_sheet(folder: Path, items: Sequence[Item], run: LabelledRun) -> None:
    """Write the labelling sheet, the labelling page and the sampled images to a folder.

    Nothing in them says what an image was generated for or what a judge answered. Neither are pairs
    marked, but a source image of several edits comes back beside each of them, so that people can
    know it from its second pair on.
    """
    shown_files: set[str] = set()
    buffer = io.StringIO()
    rows = []
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for item in items:
        for shown in (item, item.beside):
            if shown is None or _file_of(shown) in shown_files:
                continue
            shown_files.add(_file_of(shown))
            write_bytes(folder / _file_of(shown), _small(shown, run))
        rows.append(row_of(item, _file_of))
        choices = cell(" | ".join([*item.classes, *NO_CLASS]))
        writer.writerow([item.id, _file_of(item), cell(item.question), choices, ""])
    write_text(folder / SHEET, buffer.getvalue())
    write_text(folder / PAGE, page(rows))
    _remove_earlier(folder, shown_files)


def _remove_earlier(folder: Path, shown_files: Collection[str]) -> None:
    """Remove the images of an earlier sheet; all other files, such as a run's own, stay."""
    for path in (folder / "images").glob("*.jpg"):
        name = path.relative_to(folder).as_posix()
        if _IMAGE.fullmatch(name) and name not in shown_files:
            path.unlink()


def row_of(item: Item, place_of: Callable[[Item | ShownBeside], str]) -> dict[str, Any]:
    """Return an image to label as the page reads it, with the image beside it if there is one.

    Args:
        item: The image and its question.
        place_of: Where the page finds an image.
    """
    row: dict[str, Any] = {
        "id": item.id,
        "file": place_of(item),
        "question": item.question,
        "classes": list(item.classes),
    }
    if item.beside is not None:
        row |= {"beside": place_of(item.beside), "left": item.is_left}
    return row


def _file_of(item: Item | ShownBeside) -> str:
    return f"images/{item.image[:16]}.jpg"


def _small(item: Item | ShownBeside, run: LabelledRun) -> bytes:
    images = run.images_with(of_source=item.of_source)
    image = ImageFile(images.root / item.file, item.image)
    try:
        return thumbnail(image.data(), _SIDE, quality=92)
    except UnreadableImageError as error:
        raise T2IBenchError(
            f"{image.path} cannot be shown: {error}.",
            "The run's own command with --generate-only makes files again that are gone.",
        ) from None


def page(rows: Sequence[Mapping[str, object]]) -> str:
    """Return the HTML page on which a person labels the images of `rows`, one at a time.

    It is one file: answers stay in the browser until the sheet is saved.
    """
    script = _static("label.js")
    style = "\n".join([font_faces(), static("tokens.css"), _static("label.css")])
    policy = (
        f"default-src 'none'; img-src 'self' file:; script-src {_hash(script)}; "
        f"style-src {_hash(style)}; font-src data:; base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<style>{style}</style>"
    )
    return _filled(head, f"<script>{script}</script>", rows, is_served=False)


def served_page(rows: Sequence[Mapping[str, object]]) -> str:
    """Return the same page as a server shows it, which stores each answer at once."""
    sheets = ("shared/fonts.css", "shared/tokens.css", "label.css")
    head = "\n".join(
        f'<link rel="stylesheet" href="/static/{name}">' for name in sheets
    )
    script = '<script src="/static/label.js"></script>'
    return _filled(head, script, rows, is_served=True)


def _filled(
    head: str, script: str, rows: Sequence[Mapping[str, object]], *, is_served: bool
) -> str:
    """Return the page with its head, script and data."""
    identifiers = "\n".join(str(row["id"]) for row in rows)
    content = {
        "sheet": hashlib.sha256(identifiers.encode()).hexdigest()[:16],
        "unknown": UNKNOWN,
        "notShown": NOT_SHOWN,
        "served": is_served,
        "rows": rows,
    }
    data = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")
    template = _static("label.html")
    for name, text in (("head", head), ("data", data), ("script", script)):
        template = template.replace(f"@@{name}@@", text, 1)
    return template


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
