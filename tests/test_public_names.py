"""The names a program can rely on."""

from __future__ import annotations

import subprocess
import sys

import pytest

import t2ibench


def test_every_public_name_is_there() -> None:
    for name in t2ibench.__all__:
        assert getattr(t2ibench, name) is not None
    assert dir(t2ibench) == sorted(t2ibench.__all__)
    with pytest.raises(AttributeError):
        t2ibench.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, t2ibench; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("t2ibench")} <= {
        "t2ibench",
        "t2ibench.version",
    }
    assert not {"numpy", "pydantic", "torch"} & loaded


@pytest.mark.nightly
def test_all_tasks_are_read_and_checked_without_numpy() -> None:
    """Words and prompts take no arrays, and lists of tasks are printed at once."""
    code = (
        "import sys; from t2ibench.tasks.index import load_tasks; "
        "load_tasks(['all', 'extended']); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"t2ibench.methods.edits.checks", "t2ibench.methods.vibex.schema"} <= loaded
    assert not {"numpy", "scipy"} & loaded
