"""Builds the docs site: `pip install -e ".[docs]" && python tools/docs.py` writes it into site/.

Pages of tasks, schemas, the command line and the API are made from the installed t2ibench, parts of
other files are put in where a page says `<!-- include: FILE#Heading -->`, and the notebook is run.
Nothing of it is committed. Zensical then builds the site from docs.yml and stops at a broken link.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from docsite import (
    access,
    api,
    commands,
    formulas,
    include,
    looks,
    notebook,
    schemas,
    tasks,
)

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "docs.yml"


def main() -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split(":", maxsplit=1)[0]
    )
    parser.add_argument(
        "--site-dir", type=Path, default=ROOT / "site", help="by default site/"
    )
    site = parser.parse_args().site_dir.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_pages(folder / "docs")
        shutil.copytree(ROOT / "docs" / "overrides", folder / "overrides")
        config: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
        config["nav"] = tasks.in_nav(config["nav"])
        # Where the package is read from, wherever the site is built.
        config["plugins"][-1]["mkdocstrings"]["handlers"]["python"]["paths"] = [
            str(ROOT)
        ]
        file = folder / CONFIG.name
        file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        words = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(file)]
        done = subprocess.run(words, check=False, cwd=folder)
        if done.returncode:
            return done.returncode
        for page in (folder / "site").rglob("*.html"):
            html = looks.put_in(
                page.read_text(encoding="utf-8"), ROOT, notebook.OUTPUTS
            )
            page.write_text(access.wrapped(access.named(html)), encoding="utf-8")
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(folder / "site", site)
    print(site / "index.html")
    return 0


def write_pages(folder: Path) -> None:
    """Every page: those of docs/, and those that come from the package itself."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("overrides"))
    made: dict[str, str | bytes] = {
        **tasks.pages(),
        **schemas.pages(),
        **commands.pages(),
        **api.pages(),
        **looks.files(ROOT),
        **notebook.pages(ROOT / "docs" / "notebooks" / "quickstart.ipynb"),
    }
    for name, content in made.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    pages = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.md")}
    for name, file in pages.items():
        text = include.put_in(file.read_text(encoding="utf-8"), name, ROOT, set(pages))
        file.write_text(formulas.typeset(text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
