"""`t2ibench ls TASK --card`: a card says what the task's file says, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from t2ibench.methods import needs
from t2ibench.reports.exchange.benchmark_card import benchmark_card
from t2ibench.settings import Settings
from t2ibench.tasks.index import build_index, load_tasks
from tests.conftest import Cli

ROOT = Path(__file__).parents[3]
SECTIONS = [
    "Purpose",
    "Method",
    "Data",
    "Groups and words",
    "Published values",
    "Limits",
    "Licence",
    "Citation",
    "Identity",
]
TASKS = build_index()[0].tasks


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_has_a_card_with_all_sections(name: str) -> None:
    task = TASKS[name]
    card = benchmark_card(task)
    headings = [line[3:] for line in card.splitlines() if line.startswith("## ")]
    assert headings == SECTIONS and card.endswith("\n")
    assert task.hash in card and "part of t2ibench (Apache-2.0)" in card
    if task.spec.awaits is None:
        asked = needs(task.spec, Settings())
        counted = asked.n_images or len(asked.texts)
        assert f"{counted:,}" in card
    for note in task.spec.notes:
        assert note.split()[0].strip("`") in card


def test_the_licence_is_that_of_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^license = \"Apache-2.0\"$", project, re.MULTILINE)


def test_the_card_of_a_task_of_ones_own_states_no_licence(tmp_path: Path) -> None:
    source = TASKS["openbias_examples"].path.read_text(encoding="utf-8")
    hostile = "<b>| Whose&#8203; `fault`?"
    changed = source.replace("id: openbias_examples", "id: mine", 1)
    lines = [
        f'title: "{hostile}"' if line.startswith("title:") else line
        for line in changed.splitlines()
    ]
    (tmp_path / "mine.yaml").write_text("\n".join(lines), encoding="utf-8")
    (task,) = load_tasks("mine", [tmp_path])
    card = benchmark_card(task)
    assert "## Licence\n\nNot stated in the task's file." in card
    assert "Apache" not in card and "<b>" not in card and "&lt;b>" in card


def test_ls_prints_cards(cli: Cli) -> None:
    status, printed, _ = cli("ls", "core", "--card")
    assert status == 0
    assert printed.count("## Purpose") == len(load_tasks("core"))
    status, one, _ = cli("ls", "core_occupations_gender", "--card")
    assert status == 0 and one == benchmark_card(TASKS["core_occupations_gender"])


@pytest.mark.parametrize("words", [("writers", "--card"), ("core", "--card", "--json")])
def test_cards_are_of_tasks_alone(words: tuple[str, ...], cli: Cli) -> None:
    status, printed, errors = cli("ls", *words)
    assert (status, printed) == (1, "") and "--card is about tasks" in errors
