"""Which leans are held beside each other, with which sign, noise and images."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from t2ibench.cli import main
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.results.files import read_results
from t2ibench.results.method_agreement import agreements, measures
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import (
    EncoderScores,
    Headline,
    Results,
    Row,
    Score,
    TaskResult,
)
from t2ibench.tasks.index import build_index
from tests import hand
from tests.conftest import Cli

pytestmark = pytest.mark.networks

SPECS = {name: task.spec for name, task in build_index([])[0].tasks.items()}
NAMES = (
    "chef",
    "nurse",
    "cook",
    "clerk",
    "guard",
    "baker",
    "judge",
    "tailor",
    "writer",
)
LEANS = np.array([-0.9, 0.8, -0.5, 0.3, -0.7, 0.1, -0.2, 0.6, 0.4])


def rows(
    leans: Sequence[float], group: str = "occupations", template: str = "{}"
) -> list[Row]:
    return [
        Row(
            name=template.format(name),
            group=group,
            scores={"lean": Score(value=float(lean))},
        )
        for name, lean in zip(NAMES, leans, strict=True)
    ]


def task(
    method: str, by: list[Row], readers: Mapping[str, list[Row]] | None = None
) -> TaskResult:
    each = {
        k: EncoderScores(headline=Headline(), by=own)
        for k, own in (readers or {}).items()
    }
    return hand.task(method, by=by, by_encoder=each)


def of_two(second: Sequence[float], **further: TaskResult) -> Results:
    """Occupations whose images two encoders read."""
    gender = task("occupations", rows(LEANS), {"a": rows(LEANS), "b": rows(second)})
    return hand.results(core_occupations_gender=gender, **further)


def influences(
    leans: Sequence[float], noise: float, seed: int
) -> dict[tuple[str, str], Part]:
    """Ten images of each item, whose mean has some noise."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, lean in zip(NAMES, leans, strict=True):
        images = rng.standard_normal(10)
        scaled = noise * np.sqrt(10) * (images - images.mean()) / images.std(ddof=1)
        influence = Influence.of_mean(f"A photo of a {name}", np.arange(10), scaled)
        found[name, "lean"] = Part(name, float(lean), influence)
    return found


def paired(
    own: Mapping[tuple[str, str], Part],
    readers: Mapping[str, Mapping[tuple[str, str], Part]] | None = None,
) -> PairedTask:
    return PairedTask("mean_square", "fixed_prompts", (), own, readers=readers or {})


def test_two_encoders_of_one_run_share_the_noise_of_their_images() -> None:
    """The same influences: what both saw of the images' chance is taken out of the covariance."""
    run = of_two(LEANS)
    own = influences(LEANS, 0.2, 1)
    known = {"core_occupations_gender": paired(own, {"a": own, "b": own})}
    (pair,) = agreements(measures(run, SPECS, known))
    assert (pair.first.reader, pair.second.reader) == ("a", "b")
    assert pair.first.attribute == ("female", "male") and pair.agreement.n == len(NAMES)
    assert pair.agreement.true.value == pytest.approx(1.0)
    assert pair.agreement.reliability == pytest.approx(
        [1 - 0.04 / LEANS.var(ddof=1)] * 2
    )
    # Tasks name male as the pole above 0; here the first pole of the alphabet is.
    assert pair.first.leans["chef"].value == pytest.approx(0.9)


def test_two_tasks_of_one_method_are_no_pair_and_of_two_families_are() -> None:
    gender = task("occupations", rows(LEANS))
    same = {"core_occupations_gender": gender, "occupations_tibet": gender}
    assert agreements(measures(hand.results(**same), SPECS, {})) == []
    other = task("tibet", rows(-LEANS, "gender", "A photo of a {} | gender"))
    run = hand.results(occupations_tibet=gender, tibet_occupations=other)
    assert agreements(measures(run, SPECS, {})) == []  # no item has the other's name
    known = {"occupations_tibet": paired(influences(LEANS, 0.1, 2))}
    (pair,) = agreements(measures(run, SPECS, known))
    assert pair.agreement.n == len(
        NAMES
    ) and pair.agreement.linear.value == pytest.approx(-1.0)
    assert "not known" in str(pair.agreement.reason)


def test_another_attribute_is_listed_for_contrast_and_does_not_count() -> None:
    rng = np.random.default_rng(3)
    skin = task("occupations", rows(rng.normal(size=9)))
    run = of_two(LEANS + 0.01, core_occupations_skin=skin)
    (pair,) = agreements(measures(run, SPECS, {}))
    assert [one.second.attribute for one in pair.others] == [("dark", "light")] * 2
    assert pair.nearest_other is not None
    assert abs(pair.nearest_other.agreement.linear.value) < pair.agreement.linear.value


def test_items_on_which_two_methods_disagree_are_named() -> None:
    moved = LEANS.copy()
    moved[3] = -0.8  # the clerk
    (pair,) = agreements(measures(of_two(moved), SPECS, {}))
    one, other = pair.disagreements[0]
    assert one.name == "clerk" and (one.value, other.value) == pytest.approx(
        (-0.3, 0.8)
    )


@pytest.fixture(scope="module")
def two_encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of toyland, its images read by two encoders."""
    folder = tmp_path_factory.mktemp("runs")
    words = [
        "--model",
        "toyland",
        "--tasks",
        "occupations_t2iat",
        "--control-encoder",
        "none",
    ]
    words += ["--encoder", "toyland,toy-clip", "--images-per-prompt", "4"]
    words += [
        "--guided-images-per-prompt",
        "2",
        "--permutations",
        "300",
        "--bootstrap",
        "100",
    ]
    assert main([*words, "--output-dir", str(folder)]) == 0
    return folder / "toyland"


@pytest.mark.slow
def test_agreement_of_a_runs_encoders_is_reported(two_encoders: Path, cli: Cli) -> None:
    """What is planted in the images, both see: with the noise gone, nothing is between them."""
    status, out, _ = cli("check", "agreement", two_encoders)
    assert (
        status == 0 and "occupations_t2iat, toy-clip" in out and "female / male" in out
    )
    status, out, _ = cli("check", "agreement", two_encoders, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert status == 0 and (row["kind"], row["items"]) == ("convergent", "8")
    assert (
        float(row["without_noise_low"]) > 0.7 and float(row["without_noise_high"]) == 1
    )
    assert min(float(row["reliability"]), float(row["other_reliability"])) > 0.7
    page = (two_encoders / "report.html").read_text(encoding="utf-8")
    assert page.count("Do the methods agree?") == 1 and "Seen most differently" in page


@pytest.mark.slow
def test_methods_that_cannot_be_compared_are_reported_in_a_line(
    two_encoders: Path, cli: Cli, tmp_path: Path
) -> None:
    found = read_results(two_encoders)
    model = found.model.model_copy(update={"fingerprint": "0" * 64})
    other, alone = tmp_path / "other.json", tmp_path / "alone.json"
    other.write_text(
        found.model_copy(update={"model": model}).to_json(), encoding="utf-8"
    )
    status, _, error = cli("check", "agreement", two_encoders, other)
    assert status == 1 and "have different images" in error
    one = {
        name: task.model_copy(update={"by_encoder": {}})
        for name, task in found.tasks.items()
    }
    alone.write_text(
        found.model_copy(update={"tasks": one}).to_json(), encoding="utf-8"
    )
    status, out, _ = cli("check", "agreement", alone)
    assert status == 0 and out.startswith("No attribute is seen by two methods.")
    assert out.count("\n") == 1
