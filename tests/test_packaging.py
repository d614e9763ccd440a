"""What a release contains: everything that is needed, and nothing that lies about."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from t2ibench.version import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
STEM = f"t2ibench-{__version__}"
CACHES = {"__pycache__", ".DS_Store"}
KEPT = (
    *(".gitignore", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("SECURITY.md", "CITATION.cff", "LICENSE"),
)
# What a checkout collects and a release must not have.
STRAY = (
    *(
        ".git/config",
        ".env",
        ".venv/pyvenv.cfg",
        "runs/toy/run.db",
        "dist/old.whl",
        "notes.txt",
    ),
    *("tests/test_api.py", "tools/docs.py", ".ci/run", ".github/workflows/ci.yml"),
    *("tests/runs/toy/images/a.png", "t2ibench/__pycache__/api.cpython-310.pyc"),
    *(
        "t2ibench/runs/toy/results.json",
        "tasks/runs/toy/run.db",
        ".hypothesis/examples/a",
    ),
    *(".ruff_cache/a", ".mypy_cache/a.json", "docs/runs/toy/report.html"),
)


def build(source: Path, target: str, output: Path) -> Path:
    """Build with the backend that pyproject.toml names; nothing is downloaded."""
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        target,
        "-d",
        str(output),
    ]
    done = subprocess.run(
        command, cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = output.iterdir()
    return built


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not CACHES & set(path.parts)
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this checkout in which work has left its traces."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in KEPT:
        shutil.copy(ROOT / path, copy)
    leave = shutil.ignore_patterns("__pycache__", "runs")
    for folder in ("t2ibench", "tasks", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=leave)
    for name in STRAY:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("left behind")
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "sdist", tmp_path_factory.mktemp("sdist"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_is_the_package_with_its_tasks(checkout: Path, wheel: Path) -> None:
    package = {f"t2ibench/{name}" for name in files(checkout / "t2ibench")}
    tasks = {f"t2ibench/bundled/tasks/{name}" for name in files(checkout / "tasks")}
    stray = {name for name in package | tasks if "/runs/" in name}
    assert stray  # they are there to be left out
    info = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    described = {f"{STEM}.dist-info/{name}" for name in info}
    assert set(contents(wheel)) == (package | tasks) - stray | described


def description(metadata: bytes) -> str:
    """The page that a package index shows."""
    parsed = message_from_bytes(metadata)
    assert parsed["Description-Content-Type"] == "text/markdown"
    payload = parsed.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode("utf-8")


def test_the_description_of_the_package_links_to_nothing_that_is_not_there(
    wheel: Path,
) -> None:
    """A package index has no folder beside the page: relative links and pictures are dead."""
    page = description(contents(wheel)[f"{STEM}.dist-info/METADATA"])
    html = MarkdownIt("commonmark").enable("table").render(page)
    targets = re.findall(r'<(?:a|img)\b[^>]*?(?:href|src)="([^"]*)"', html)
    assert targets  # absolute ones are kept
    assert [target for target in targets if not target.startswith("https://")] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"(?<!!)\[[^\]]+\]\((?!https?:|#)([^)#]+)", readme)
    assert len(linked) > 20
    for file in linked:
        assert (ROOT / file).exists(), file
        assert f"`{file}`" in page
    # Nothing but links was changed: all code of README stands on the page.
    for block in re.findall(r"^```.*?^```", readme, re.MULTILINE | re.DOTALL):
        assert block in page


def test_the_sdist_is_the_source_without_traces_of_work(
    checkout: Path, sdist: Path
) -> None:
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
        links = [member.name for member in archive.getmembers() if member.issym()]
    assert not links
    kept = {f"{STEM}/{name}" for name in (*KEPT, "PKG-INFO")}
    for folder in ("t2ibench", "tasks", "docs"):
        kept |= {
            f"{STEM}/{folder}/{name}"
            for name in files(checkout / folder)
            if "runs/" not in name
        }
    assert names == kept


@pytest.mark.nightly
def test_the_sdist_builds_the_same_wheel(
    wheel: Path, sdist: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        # Python 3.10.0 has no filter.
        archive.extraction_filter = getattr(
            tarfile, "data_filter", lambda member, _: member
        )
        archive.extractall(tmp_path)
    again = build(tmp_path / STEM, "wheel", tmp_path / "dist")
    assert contents(again) == contents(wheel)
