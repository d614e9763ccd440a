"""`run --until-precise`: rounds resume, stop for the width alone, and say what they cannot do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import t2ibench
from t2ibench.methods import METHODS
from t2ibench.pipeline import rounds
from t2ibench.results.display import displayed
from t2ibench.results.files import read_results
from t2ibench.results.run import open_run
from t2ibench.results.schema import TaskResult
from t2ibench.tasks import load_tasks
from tests import hand
from tests.conftest import Cli
from tests.pipeline.tasks import write_bias
from tools.calibration.cells import SETTINGS
from tools.calibration.worlds import Judging, Query

QUICK = (
    "--permutations",
    "200",
    "--bootstrap",
    "50",
    "--limit",
    "4",
    "--images-per-prompt",
    "5",
)
TASK = "openbias_winobias"


def images_of(run: Path) -> Counter[str]:
    """Prompt to the images that were generated, each attempt once."""
    return Counter(row["prompt"] for row in hand.stored(run, "attempts"))


def width_of(task: TaskResult) -> float:
    shown = displayed(task.headline)
    return shown.high - shown.low


def test_images_grow_until_the_interval_is_narrow(cli: Cli, tmp_path: Path) -> None:
    words = (
        "run",
        "--model",
        "toyland",
        "--tasks",
        TASK,
        *QUICK,
        "--output-dir",
        tmp_path,
    )
    assert cli(*words)[0] == 0
    run = tmp_path / "toyland"
    wanted = round(width_of(read_results(run).tasks[TASK]) * 0.6, 2)
    status, _, err = cli(*words, "--until-precise", str(wanted))
    assert status == 0, err
    after = read_results(run)
    assert width_of(after.tasks[TASK]) <= wanted and "fewer than the" in err
    # Every image was generated once, and the first round's are part of the last.
    counts = images_of(run)
    assert len(set(counts.values())) == 1
    assert sum(counts.values()) == after.tasks[TASK].n_images > 1.2 * 5 * len(counts)
    # The command in the results gives the same results at once, in another folder.
    other = tmp_path / "again"
    command = [
        str(other) if word == str(tmp_path) else word for word in after.command[1:]
    ]
    assert "--times" in command and cli(*command)[0] == 0
    assert read_results(other / "toyland").tasks[TASK] == after.tasks[TASK]
    # What is stored is enough for `score`, and for a second call that has nothing to do.
    assert cli("score", run)[0] == 0
    assert read_results(run).tasks[TASK] == after.tasks[TASK]
    status, _, err = cli(*words, "--until-precise", str(wanted))
    assert status == 0 and "Nothing to do" in err and images_of(run) == counts


def test_the_most_images_are_never_passed(cli: Cli, tmp_path: Path) -> None:
    words = (
        "run",
        "--model",
        "toyland",
        "--tasks",
        TASK,
        *QUICK,
        "--output-dir",
        tmp_path,
    )
    limits = ("--until-precise", ".01", "--max-images-per-prompt", "7")
    status, _, err = cli(*words, *limits)
    assert status == 0 and set(images_of(tmp_path / "toyland").values()) == {7}
    assert "with 7 images a prompt, the most that it may have" in err
    assert "warning: not every interval is as narrow as you want" in err
    # A number that no float holds is no limit.
    limits = ("--until-precise", ".9", "--max-images-per-prompt", f"1{400 * '0'}")
    status, _, err = cli(*words, *limits)
    assert status == 0 and "with 5 images a prompt" in err


def test_rounds_have_the_model_that_the_seed_is_derived_from(
    cli: Cli, tmp_path: Path
) -> None:
    """Its fingerprint depends on the seed that it is made with, before that is derived."""
    words = ("--model", "toyland", "--tasks", TASK, *QUICK, "--output-dir", tmp_path)
    limits = ("--until-precise", ".01", "--max-images-per-prompt", "7")
    status, _, err = cli("run", *words, *limits, "--seed", "derived")
    assert status == 0, err
    (run,) = tmp_path.iterdir()
    assert set(images_of(run).values()) == {7}


def test_tasks_that_are_precise_do_not_grow(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "output_dir": tmp_path, "limit": 4, "images_per_prompt": 5, "n_permutations": 200,
        "n_bootstrap": 50,
    }  # fmt: skip
    tasks = [TASK, "t2iat_flowers_insects"]
    plain = t2ibench.evaluate("toyland", tasks, **settings)
    width = {name: width_of(plain.tasks[name]) for name in tasks}
    wide, narrow = sorted(tasks, key=lambda name: -width[name])
    limit = (width[wide] + width[narrow]) / 2
    grown = t2ibench.evaluate("toyland", tasks, until_precise=limit, **settings)
    assert grown.tasks[narrow] == plain.tasks[narrow]
    assert grown.tasks[wide].n_images > plain.tasks[wide].n_images
    assert open_run(tmp_path / "toyland").record.measurement.times > 1


def test_a_precision_that_more_images_cannot_reach_is_reported(
    cli: Cli, tmp_path: Path
) -> None:
    """About prompts like these, what differs between stimuli stays at any number of images."""
    words = ("run", "--model", "toyland", "--tasks", "t2iat_flowers_insects", *QUICK)
    status, _, err = cli(*words, "--output-dir", tmp_path, "--until-precise", ".02")
    assert status == 0 and "more images alone do not make it narrow enough" in err
    assert set(images_of(tmp_path / "toyland").values()) == {5}
    assert cli(*words, "--until-precise", ".1", "--generate-only")[0] == 1
    assert cli(*words, "--until-precise", "3")[0] == 2


@pytest.mark.nightly
def test_rounds_keep_the_coverage_of_a_fixed_size(tmp_path: Path) -> None:
    """100 simulated runs, through the same rule: coverage and rejections as at a fixed size."""
    from t2ibench.power.forecasters import forecaster, least

    assert (rounds._MARGIN, rounds._LEAST_GROWTH) == (0.95, 1.25)
    captions, width, most = [f"caption {k}" for k in range(8)], 0.5, 8
    write_bias(tmp_path, 8, ["p", "q"], captions=captions)
    (task,) = (one.spec for one in load_tasks("hand", [tmp_path]))
    method, lean = METHODS.get("openbias"), 0.4
    covered, sizes = [], []
    for seed in range(100):
        queries = [
            Query(
                caption,
                8 * most,
                "Which?",
                ("p", "q"),
                ((1 + lean) / 2, (1 - lean) / 2),
            )
            for caption in captions
        ]
        evidence = Judging().evidence(np.random.default_rng(seed), queries)
        times = 1.0
        while True:
            settings = SETTINGS.model_copy(update={"times": times, "seed": seed})
            headline = method.score(task, evidence, settings).headline
            found = headline.inference["fixed_prompts"]
            shown = np.sqrt(max(found.ci_high, 0)) - np.sqrt(max(found.ci_low, 0))
            if shown <= width or times >= most:
                break
            known = forecaster(headline, "fixed_prompts", captions, 0.95)
            effect = np.sqrt(max(headline.value, 0.0))
            grown = least(
                lambda t, known=known, effect=effect: (
                    known.width(effect, t, 1.0) <= 0.95 * width
                )
            )
            times = min(float(most), times * max(1.25, grown or most))
        covered.append(found.ci_low <= lean**2 <= found.ci_high)
        sizes.append(times)
    assert np.mean(covered) >= 0.89  # .95 less 2.7 Monte Carlo errors
    assert 1.0 < np.mean(sizes) < most
