"""A run that --max-cost ended is scored as it is: nothing is generated, and nothing paid, again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from t2ibench.models.generators import create_generator
from t2ibench.results.run import open_run
from tests import hand
from tests.conftest import Cli
from tests.models.images_api import images_server, running

pytestmark = pytest.mark.networks

WORDS = (
    *(
        "run",
        "--tasks",
        "t2iat_flowers_insects",
        "--limit",
        "2",
        "--images-per-prompt",
        "3",
    ),
    *(
        "--model",
        "openai:m",
        "--encoder",
        "toyland",
        "--judge",
        "toyland",
        "--name",
        "paid",
    ),
    *("--permutations", "99", "--bootstrap", "50"),
)
RUN = Path("runs/paid")


@pytest.fixture
def address() -> Iterator[str]:
    """An images API that draws toyland."""
    with running(images_server().images_app("m", create_generator("toyland"))) as url:
        yield url


@pytest.fixture
def stopped(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command of a run whose images cost a quarter each."""
    monkeypatch.chdir(tmp_path)
    return [*WORDS, "--model-args", f"base_url={address},price_per_image=0.25"]


def images() -> list[dict[str, Any]]:
    return hand.stored(RUN, "attempts")


def by_prompt() -> Counter[str]:
    return Counter(row["prompt"] for row in images())


def prompts_of(out: str) -> int:
    """The number of prompts that a dry run tells."""
    return int(" ".join(out.split()).partition(" prompts,")[0].rpartition(" ")[2])


def test_every_prompt_has_an_image_before_any_has_two(
    stopped: list[str], cli: Cli
) -> None:
    prompts = prompts_of(cli(*stopped, "--dry-run")[1])
    status, _, err = cli(*stopped, "--max-cost", str(0.25 * (prompts + 2)))
    assert status == 1 and sorted(by_prompt().values()) == [1] * (prompts - 2) + [2, 2]
    some = (
        f"{prompts + 2} of {3 * prompts} images are there, at least one of every prompt"
    )
    assert some in err and "embeds and scores them: t2ibench score runs/paid" in err


@pytest.mark.parametrize("generate_only", [(), ("--generate-only",)])
def test_score_embeds_and_scores_images_of_a_stopped_run(
    generate_only: tuple[str, ...], stopped: list[str], cli: Cli
) -> None:
    prompts = prompts_of(cli(*stopped, "--dry-run")[1])
    limit = ("--max-cost", str(0.25 * prompts))
    assert cli(*stopped, *generate_only, *limit)[0] == 1
    before, cost = images(), open_run(RUN).record.generator
    status, out, err = cli("score", RUN)
    assert status == 3 and "t2iat_flowers_insects" in out, err
    assert images() == before and open_run(RUN).record.generator == cost
    task = json.loads((RUN / "results.json").read_text())["tasks"][
        "t2iat_flowers_insects"
    ]
    assert task["reason"] is None and task["excluded"]["missing"] == 2 * prompts
    first = (RUN / "results.json").read_bytes()
    assert cli("score", RUN)[0] == 3  # from now on what is stored is enough
    assert (RUN / "results.json").read_bytes() == first
    # and the run goes on where it was
    assert cli(*stopped, "--max-cost", "1000")[0] == 0
    assert set(by_prompt().values()) == {3}
    task = json.loads((RUN / "results.json").read_text())["tasks"][
        "t2iat_flowers_insects"
    ]
    assert "missing" not in task["excluded"]


def test_prompts_without_an_image_are_left_out_only_where_that_is_asked_for(
    stopped: list[str], cli: Cli
) -> None:
    prompts = prompts_of(cli(*stopped, "--dry-run")[1])
    status, _, err = cli(*stopped, "--max-cost", str(0.25 * (prompts - 2)))
    assert status == 1 and f"2 of {prompts} prompts have none" in err
    assert "t2ibench score runs/paid --allow-missing" in err
    status, _, err = cli("score", RUN)
    assert (
        status == 1 and "runs/paid has no image of 2 prompts that its tasks need" in err
    )
    assert "t2ibench score runs/paid --allow-missing" in err
    assert not (RUN / "results.json").exists()
    status, out, _ = cli("score", RUN, "--allow-missing")
    assert (
        status in {0, 3}
        and "Some prompts have no image; not a result to report." in out
    )
    task = json.loads((RUN / "results.json").read_text())["tasks"][
        "t2iat_flowers_insects"
    ]
    assert len(task["missing_prompts"]) == 2


def test_a_part_is_not_scored_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ("--model", "toyland", "--tasks", "t2iat_flowers_insects", "--limit", "2")
    for number in (1, 2):
        words = (*flags, "--generate-only", "--shard", f"{number}/2")
        assert cli(*words)[0] == 0
    parts = sorted(Path("runs").glob("shard-*/toyland"))
    status, _, err = cli("score", parts[0])
    assert status == 1 and "is part 1 of 2 of a run, and is not scored alone" in err
    status, out, _ = cli("merge", *parts)  # of images alone: they are embedded first
    assert status == 0 and "t2iat_flowers_insects" in out
