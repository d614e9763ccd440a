"""The mutation score counts what was tried, and is never of nothing."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

import pytest

from tools import mutants
from tools.mutants import Mutant, exit_statuses, formula_change, report, wilson

DRAWN = [Mutant(name=name, change=f"- {name}\n  + {name}'") for name in "abcde"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a * b", "x = a / b"),
        ("x = a * 2", "x = a * 3"),
        ("x = a < b", "x = a <= b"),
        ("x = a and b", "x = a or b"),
        ("x = f(a, True)", "x = f(a, False)"),
        ("x += a", "x -= a"),
    ],
)
def test_another_operator_or_number_changes_a_formula(before: str, after: str) -> None:
    assert formula_change([before], [after]) == f"- {before}\n  + {after}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a * b", "x = None"),
        ("x = f(a, 'mean')", "x = f(a, 'MEAN')"),
        ("x = f(a, 0.0)", "x = f(a)"),
        ("x = f(a, b)", "x = f(None, b)"),
        ("x = a", "x = a"),
    ],
)
def test_words_and_missing_arguments_are_no_formula(before: str, after: str) -> None:
    assert not formula_change([before], [after])


def test_a_score_counts_what_was_tried_and_names_what_was_missed() -> None:
    """Killed, survives, without a test, endless, and one for which there was no time."""
    statuses = {"a": 1, "b": 0, "c": 33, "d": -24, "e": None}
    first, *missed = report("stats", 9, DRAWN, statuses).splitlines()
    assert first.startswith("stats: 50.0% of 4 mutants noticed")
    assert "1 of them because the tests did not end" in first
    assert first.endswith("9 mutants of formulas, 5 drawn, 1 not tried")
    assert missed[0] == "b: survives"
    assert missed[3] == "c: not called by a test"
    assert len(missed) == 6


def test_the_interval_of_a_score_is_wilsons() -> None:
    """Of 53 of 100: Wilson's roots of (p - .53)² = z² p (1 - p) / 100."""
    for end in wilson(53, 100):
        deviation = abs(end - 0.53) / (end * (1 - end) / 100) ** 0.5
        assert deviation == pytest.approx(1.959964)


def test_a_damaged_record_counts_as_not_tried(tmp_path: Path) -> None:
    folder = tmp_path / "mutants"
    folder.mkdir()
    (folder / "whole.py.meta").write_text('{"exit_code_by_key": {"a": 1, "b": null}}')
    (folder / "cut.py.meta").write_text('{"exit_code_by_key": {"c": 1')
    assert exit_statuses(tmp_path) == {"a": 1, "b": None}


def test_without_mutmut_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["mutants.py", "stats"])
    with pytest.raises(SystemExit) as ended:
        mutants.main()
    assert ended.value.code == 'mutmut is not installed: pip install "mutmut>=3.8,<4"'


# A process that has begun and ends neither by itself nor by SIGINT, with a child that writes.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
WORKER = "import time\\nwhile True: print('alive', flush=True); time.sleep(0.05)"
with open("worker.log", "w") as log:
    subprocess.Popen([sys.executable, "-c", WORKER], stdout=log)
print("Running mutation testing", flush=True)
time.sleep(600)
"""


def test_the_time_limit_ends_mutmut_and_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "GRACE", 0.5)
    package = tmp_path / "mutmut"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STUBBORN)
    begun = time.monotonic()
    printed = mutants.run_mutmut(tmp_path, [], minutes=0.01)
    assert time.monotonic() - begun < 60
    assert printed == "Running mutation testing\n"
    written = (tmp_path / "worker.log").read_text()
    time.sleep(0.3)
    assert (tmp_path / "worker.log").read_text() == written
