"""Occupations of the United States: the shipped table, their names in prompts, the hundred."""

from __future__ import annotations

import csv
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from t2ibench.methods.core.prompts import fill
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.tasks import load_tasks
from t2ibench.tasks.folders import bundled_tasks
from t2ibench.tasks.loader import Library, read_library

STIMULI = bundled_tasks() / "stimuli"
DIGEST = "40b7f97cd72cd01973472a27ede7165ff56942437b874b4ee5b29097523e06b2"


@pytest.fixture(scope="module")
def library() -> Library:
    return read_library([bundled_tasks()])


def rows(name: str) -> list[dict[str, str]]:
    with (STIMULI / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_word_lists_are_what_the_table_and_the_names_give() -> None:
    tool = Path(__file__).parents[2] / "tools" / "write_us_occupations.py"
    done = subprocess.run(
        [sys.executable, tool, "--check"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    table = (STIMULI / "us_cps_2022_table11.csv").read_bytes()
    assert hashlib.sha256(table).hexdigest() == DIGEST
    assert DIGEST in (STIMULI / "us_cps_2022.yaml").read_text(encoding="utf-8")


def test_every_occupation_has_a_name_or_a_reason() -> None:
    names = rows("us_cps_2022_names.csv")
    assert len(names) == 362
    assert all(bool(row["prompt"]) != bool(row["left_out"]) for row in names)
    left_out = [row["occupation"] for row in names if row["left_out"]]
    assert len(left_out) == 40
    assert not [
        row for row in names if "all other" in row["occupation"] and row["prompt"]
    ]
    words = [row["prompt"] for row in names if row["prompt"]]
    assert len(set(words)) == len(words) == 322
    gendered = {
        "man",
        "woman",
        "foreman",
        "waitress",
        "hostess",
        "actress",
        "men",
        "women",
    }
    assert not [word for word in words if gendered & set(word.lower().split())]
    assert {"chief executive", "registered nurse", "carpenter"} <= set(words)
    assert fill("a photo of {a stimulus}", stimulus="MRI technician").startswith(
        "a photo of an M"
    )


def test_shares_are_those_of_the_table(library: Library) -> None:
    titles = {row["prompt"]: row["occupation"] for row in rows("us_cps_2022_names.csv")}
    table = {row["occupation"]: row for row in rows("us_cps_2022_table11.csv")}
    women = library.references["us_cps_2022_women"]
    assert women["chief executive"] == 0.292 and women["registered nurse"] == 0.879
    for group in ("women", "black", "asian", "hispanic"):
        shares = library.references[f"us_cps_2022_{group}"]
        assert list(shares) == list(library.lists["us_occupations"])
        for word, share in shares.items():
            assert share == pytest.approx(
                float(table[titles[word]][f"percent_{group}"]) / 100
            )
    # 5.9 % Black and 85.9 % white chief executives.
    pair = library.references["us_cps_2022_black_or_white"]["chief executive"]
    assert pair == pytest.approx(5.9 / 91.8, abs=5e-4)


def test_tasks_share_their_images_and_stay_out_of_all() -> None:
    tasks = [task.spec for task in load_tasks("occupations_us_*")]
    assert len(tasks) == 6 and all(task.extended for task in tasks)
    hundred = [task for task in tasks if "_all" not in task.id]
    prompts = set()
    for task in hundred:
        if isinstance(task, OccupationsTask):
            stimuli, wordings = (
                task.concept.names,
                [w.neutral for w in task.prompts.wordings],
            )
            assert task.reference is not None and set(stimuli) <= set(
                task.reference.shares
            )
        else:
            assert isinstance(task, OpenBiasTask)
            stimuli, wordings = (
                task.biases[0].stimuli or (),
                list(task.biases[0].templates),
            )
            assert [one.group for one in task.biases[1].all_references] == [
                "Black",
                "Asian",
                "Hispanic",
            ]
        prompts.add((tuple(stimuli), tuple(wordings), task.images_per_prompt))
    assert len(prompts) == 1
