"""A small run and its submission, made once; a test that changes something copies it first."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.board import Board, read_board
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.regenerate import Verdict
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.apps.leaderboard.verdicts import Verifier
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.paired import read_paired
from t2ibench.results.schema import Results, TaskResult
from t2ibench.tasks.index import build_index
from tests import hand
from tests.few_words import all_everyday_words, few_everyday_words

# One task for each kind of evidence: images, answers and texts.
SUBMISSIONS = Path(__file__).parents[3] / "leaderboard" / "submissions"
TASKS = "occupations_t2iat,openbias_examples,weat_7_math_arts"
FEW: dict[str, Any] = {"images_per_prompt": 3, "guided_images_per_prompt": 1}


@pytest.fixture(scope="module", autouse=True)
def _few_everyday_words() -> Iterator[None]:
    with few_everyday_words():
        yield


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    with few_everyday_words():
        evaluate("toyland", TASKS, output_dir=folder, **FEW)
    return folder / "toyland"


@pytest.fixture(scope="session")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submissions")
    with few_everyday_words():
        return pack(run, folder, SilentReporter())


@pytest.fixture
def submission(packed: Path, tmp_path: Path) -> Path:
    """A copy of the honest submission."""
    return Path(shutil.copytree(packed, tmp_path / packed.name))


# Share of +1 images in each of three models: one that leans, and two that do not.
SHARES = {
    "toy": (0.95, 0.1, 0.9),
    "toy-fair": (0.5,) * 3,
    "toyland-fair": (0.45, 0.5, 0.55),
}

PROMPT = "A photo of a computer programmer"  # of occupations_t2iat
MODELS = {"toyland-fair": "toyland"}


def model_results(
    seed: int, shares: tuple[float, ...], n: int = 30
) -> dict[str, MethodResult]:
    """Results of one task of several families; images of all models come from the same noise."""
    noise = np.random.default_rng(seed).random((3, n))
    images = {
        prompt: np.where(row < share, 1.0, -1.0)
        for prompt, row, share in zip(("x", "y", "z"), noise, shares, strict=True)
    }
    return {
        "t2iat_flowers_insects": hand.mean_lean({"x": images["x"], "z": images["z"]}),
        "t2iat_science_arts": hand.mean_lean({"z": images["z"]}),
        "occupations_t2iat": hand.mean_square(images),
        "openbias_examples": hand.mean_square({"x": images["x"], "y": images["y"]}),
        "tibet_occupations": hand.mean_square(images),
        "weat_7_math_arts": hand.mean_lean({"words": np.array([0.1, 0.4, 0.2, 0.3])}),
    }


def task_records(
    found: Mapping[str, MethodResult],
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, TaskResult]:
    """Results as results.json has them, of the tasks that are shipped, so that pages find words."""
    records = {}
    for name, result in found.items():
        family, shipped = name.partition("_")[0], build_index()[0].tasks[name]
        given = {
            "task_hash": shipped.hash,
            "title": shipped.spec.title,
            "notes": ["A note."],
        }
        given |= {"method": family, "family": family}
        given |= {"n_images": 0} if family == "weat" else {}
        record = hand.record(result, **given)
        record.headline.direction = f"{name} in words."
        records[name] = record.model_copy(update=dict((changes or {}).get(name, {})))
    return records


def write_submission(
    root: Path,
    name: str,
    found: Mapping[str, MethodResult],
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """A submission without its evidence, and what recomputing it would give: what pages show."""
    fingerprint = f"{len(name):064x}"
    folder = root / f"{name}-{fingerprint[-8:]}"
    folder.mkdir(parents=True)
    results: Results = hand.results(name, **task_records(found, changes))
    model = results.model.model_copy(update={"fingerprint": fingerprint})
    (folder / "results.json").write_text(
        results.model_copy(update={"model": model}).to_json()
    )
    hand.store_pairs(folder, hand.pairs(found))
    manifest = Manifest(
        t2ibench="0", name=name, model=MODELS.get(name, name), fingerprint=fingerprint,
        encoders=hand.ENCODERS, files={},
    )  # fmt: skip
    (folder / "submission.json").write_text(manifest.model_dump_json())
    return folder


def said(level: str = "recomputed", **others: str) -> Callable[[Path], Verdict]:
    """A verdict on every submission, without looking; another one on those of a name."""

    def judge(folder: Path) -> Verdict:
        name = folder.name.rpartition("-")[0].replace("-", "_")
        found = others.get(name, level)
        return Verdict(found, paired=read_paired(folder) if found != "refused" else {})

    return judge


def board_of(root: Path, level: str = "recomputed", **others: str) -> Board:
    return read_board(root, said(level, **others))


@pytest.fixture(scope="session")
def verified() -> Board:
    """The submissions of this repository, verified: some 40 seconds of a processor."""
    # They were scored with all everyday words.
    with all_everyday_words():
        return read_board(SUBMISSIONS, Verifier([SUBMISSIONS]))


@pytest.fixture
def shipped(verified: Board) -> Board:
    return Board(list(verified.entries))


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three submissions without evidence, for what is shown of those that were verified."""
    root = tmp_path_factory.mktemp("board")
    for name, shares in SHARES.items():
        write_submission(root, name, model_results(0, shares))
    return root


@pytest.fixture
def uncompared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models of a site are not compared, which takes most of the time to build a small one."""
    monkeypatch.setattr("t2ibench.apps.leaderboard.compared._pair", lambda *_: {})


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A page from disk, on which nothing goes wrong."""
    found = browser.new_page(viewport={"width": 1280, "height": 900})
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield found
    found.close()
    assert wrong == []
