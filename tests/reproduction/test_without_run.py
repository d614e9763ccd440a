"""Exhibits of files and of the paper alone: no run, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

import t2ibench
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.reproduction.call import without_run
from t2ibench.reproduction.registry import PAPERS


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_study_is_counted_from_its_file(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nowhere / "trees.csv").write_text(
        "participant,code,outlier\na,correct,no\na,relation problem,no\nb,concept problem,yes\n"
    )
    assert main(["reproduce", "vibex", "--table", "pilot", "--with", "trees=trees.csv"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ViBEx (Eschner et al. 2025), without a run" in said
    assert "Pilot study. Do texts of prompting trees make sense?" in said
    assert "| problems | 44 | 2 | -42 |" in said
    assert "Model:" not in said and "Pages:" not in said
    assert [path.name for path in nowhere.iterdir()] == ["trees.csv"]


def test_prompts_and_axes_are_those_of_the_shipped_task(nowhere: Path) -> None:
    found = t2ibench.reproduce("tibet", tables=5, figures=1)
    assert found.page is None and found.complete
    rows = found["Table 5"].rows
    assert len(rows) == 98 and all(row["ours"] for row in rows)
    assert len(found["Figure 1"].rows) == 3
    assert list(nowhere.iterdir()) == []


@pytest.mark.parametrize(
    ("paper", "tables"), [("t2iat", "3"), ("tibet", "study-3"), ("vibex", "1"), ("vibex", "4")]
)
def test_words_studies_and_scenarios_need_none(paper: str, tables: str) -> None:
    (one,) = t2ibench.reproduce(paper, tables=tables).exhibits
    assert one.rows


def test_a_figure_of_images_needs_one() -> None:
    paper = PAPERS.get("vibex")
    assert without_run(paper, ["table-1", "figure-4"], {}) is None
    assert without_run(paper, None, {}) is None
    with pytest.raises(T2IBenchError, match="no setting of one"):
        t2ibench.reproduce("vibex", tables=1, model="toyland")
