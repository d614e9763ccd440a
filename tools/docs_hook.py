"""Makes the pages of the docs site that come from the package itself; mkdocs.yml names this file.

`mkdocs build --strict` writes the site into site/. Pages of tasks, schemas, the command line and
the API are made from the installed t2ibench, parts of other files are put in where a page says
`<!-- include: FILE#Heading -->`, and the notebook is run. Nothing of it is committed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docsite import access, api, commands, formulas, include, looks, notebook, schemas, tasks
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from the package."""
    made: dict[str, str | bytes] = {
        **tasks.pages(),
        **schemas.pages(),
        **commands.pages(),
        **api.pages(),
        **looks.files(ROOT),
        **notebook.pages(ROOT / "docs" / "notebooks" / "quickstart.ipynb"),
    }
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put in the parts of other files that a page names, and formulas."""
    pages = {file.src_uri for file in files if file.is_documentation_page()}
    return formulas.typeset(include.put_in(markdown, page.file.src_uri, ROOT, pages))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put in figures and outputs, which are HTML already."""
    return looks.put_in(html, ROOT, notebook.OUTPUTS)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Mend what the theme leaves without a name."""
    return access.named(output)


def on_nav(nav: Any, config: MkDocsConfig, files: Files) -> Any:
    """List the pages of tasks under the page of all of them, family by family."""
    return tasks.into_nav(nav, config, files)
