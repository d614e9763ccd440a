"""What a command imports before it shows something: time at the start is time of imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from t2ibench.cli import VERBS

CODE = """
import sys
from t2ibench.cli import main
for words in sys.argv[1:]:
    try:
        main(words.split())
    except SystemExit:
        pass
print("MODULES", *sys.modules)
"""
# What computes, reads task files or loads models.
COMPUTING = {"numpy", "scipy", "torch", "transformers", "diffusers", "open_clip"}
# scipy itself imports its parts when one of them is first used.
SCIPY = {
    f"scipy.{part}" for part in ("special", "stats", "optimize", "linalg", "sparse")
}
READING = {"yaml", "pydantic", "PIL", "datasets", "huggingface_hub"}


def imported(*commands: str) -> set[str]:
    """The modules of a new process after these commands."""
    argv = [sys.executable, "-c", CODE, *commands]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return set(done.stdout.rsplit("MODULES", 1)[1].split())


def test_help_and_the_version_import_no_command() -> None:
    modules = imported("--help", "--version", "")
    assert not (COMPUTING | READING | {"rich", "multiprocessing"}) & modules
    assert not {f"t2ibench.cli.{verb}" for verb in VERBS} & modules


def test_a_list_of_tasks_imports_neither_what_reads_them_nor_what_scores_them() -> None:
    modules = imported("ls", "ls groups", "ls core,tag:age --json", "ls *_gender")
    assert not (COMPUTING | READING) & modules
    assert not any(name.startswith("t2ibench.methods") for name in modules)


@pytest.mark.slow
def test_help_of_run_and_lists_of_adapters_import_no_model() -> None:
    modules = imported("run --help", "ls models", "ls rewriters", "ls proposers")
    assert not (COMPUTING | {"PIL", "datasets"}) & modules
    modules = imported("ls encoders", "ls judges", "ls methods")
    assert not (COMPUTING - {"numpy"} | {"PIL", "datasets"}) & modules


@pytest.mark.slow
def test_lists_of_runs_writers_and_papers_and_a_task_s_page_compute_nothing(
    shared_run: Path,
) -> None:
    lists = [f"ls {kind}" for kind in ("writers", "papers", "destinations")]
    pages = ("ls core_science_arts", "ls core_science_arts --card")
    modules = imported(f"ls runs {shared_run.parent}", *lists, *pages)
    heavy = COMPUTING - {"numpy", "scipy"} | SCIPY | {"PIL", "datasets"}
    assert not heavy & modules


def test_a_run_says_that_it_has_begun_before_it_imports_what_works() -> None:
    code = (
        "import sys, t2ibench.cli.run, t2ibench.pipeline.progress; print(*sys.modules)"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert not (COMPUTING | {"yaml", "PIL"}) & set(done.stdout.split())
