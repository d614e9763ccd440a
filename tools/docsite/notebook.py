"""The example notebook, run while the site is built."""

from __future__ import annotations

import html
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

OUTPUTS: dict[str, str] = {}  # name of an output to its HTML
_SECONDS = 900
# Wide tables scroll, also by keyboard.
_BOX = '<div class="output" role="region" aria-label="Output {}" tabindex="0">{}</div>'


def pages(file: Path) -> dict[str, str | bytes]:
    """The notebook as a page with its pictures, and the report that its run wrote."""
    with tempfile.TemporaryDirectory() as folder:
        made = _pages(run(file, Path(folder)), file.stem)
        report = (Path(folder) / "runs" / "toyland" / "report.html").read_text(
            encoding="utf-8"
        )
        # The site has no images of the run, which the report's small ones lead to.
        made["notebooks/report.html"] = re.sub(
            r'<a href="images/[^"]*">(.*?)</a>', r"\1", report
        )
    return made


def run(file: Path, folder: Path) -> Any:
    """The notebook with its outputs; an error in a cell is an error here."""
    book = nbformat.read(file, as_version=4)
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "MPLBACKEND": ""}
    saved = os.environ | offline
    client = NotebookClient(
        book,
        timeout=_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={name: value for name, value in saved.items() if value})
    return book


def _pages(book: Any, stem: str) -> dict[str, str | bytes]:
    # Without a table of contents, so that results have the width of the page.
    parts = ["---\nhide: [toc]\n---"]
    for number, cell in enumerate(book.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            name = f"{stem}-{number}-{place}"
            shown = _shown(output, cell.metadata.get("alt", ""))
            if shown:
                OUTPUTS[name] = _BOX.format(len(OUTPUTS) + 1, shown)
                parts.append(f"<!-- output: {name} -->")
    parts.append(
        f"---\n\n[The report of this very run](report.html) · "
        f"[This page as a notebook]({stem}.ipynb)"
    )
    return {f"notebooks/{stem}.md": "\n\n".join(parts) + "\n"}


def _shown(output: Any, alt: str) -> str:
    """An output as HTML: the richest form that it has."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>"
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return str(data["image/svg+xml"])
    if "text/html" in data:
        return str(data["text/html"]).replace("<th></th>", "<td></td>")
    if "image/png" in data:
        source = f"data:image/png;base64,{data['image/png'].strip()}"
        return f'<img alt="{html.escape(alt)}" src="{source}">'
    return f"<pre>{html.escape(data.get('text/plain', ''))}</pre>"
