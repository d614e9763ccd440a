"""Damaged and removed files: what is lost is named and made again, and no number changes unsaid."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from t2ibench.cli import main
from t2ibench.identity import content_id
from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.results.files import BrokenResultsError, read_results
from t2ibench.results.paired import read_paired
from t2ibench.store.database import Database
from t2ibench.store.images import PERCEPTUAL_HASH
from t2ibench.store.labels import COPY, Label, LabelStore
from tests import hand
from tests.conftest import Cli

pytestmark = pytest.mark.networks

TASKS = "t2iat_flowers_insects,openbias_examples"
FLAGS = [
    *(
        "--model",
        "toyland",
        "--tasks",
        TASKS,
        "--limit",
        "1",
        "--images-per-prompt",
        "2",
    ),
    *("--permutations", "200", "--bootstrap", "50"),
]
RUN = Path("runs/toyland")

FILES = ("run.db", "results.json", "results.md", "images/*/*.png")
# A row of each table, as a bad disk would change it.
ROWS = {
    "record": "UPDATE run SET value = '{' WHERE key = 'generator'",
    "prompt": "UPDATE texts SET text = 'x' WHERE id = (SELECT max(id) FROM texts)",
    "question": "UPDATE questions SET question = 'x'",
    "model": "DELETE FROM models",
    "attempt": "UPDATE attempts SET status = 'refused' WHERE number = 1",
    "attempt of another image": "UPDATE attempts SET number = 99 WHERE number = 1",
    "image embedding": "UPDATE embeddings SET rows = zeroblob(9) WHERE kind = 'images'",
    "text embedding": "UPDATE embeddings SET keys = zeroblob(length(keys)) WHERE kind = 'texts'",
    "answer": "UPDATE answers SET answer = 'x' WHERE image = (SELECT max(image) FROM answers)",
    "score": "UPDATE scores SET result = replace(result, '0.', '9.')",
    "influences": "UPDATE scores SET influences = zeroblob(length(influences))",
    "influences of another task": "UPDATE scores SET influences = (SELECT influences FROM scores "
    "WHERE task = 'openbias_examples')",
    "samples cut short": "UPDATE scores SET samples = substr(samples, 20)",
    "scores that are gone": "DELETE FROM scores",
    "look": "UPDATE embeddings SET rows = zeroblob(length(rows)) "
    f"WHERE model = {content_id('encoder', *PERCEPTUAL_HASH)}",
}
# What is there twice, or costs nothing to make again: nothing is said.
MENDED = {"question", "model", *(kind for kind in ROWS if " scores" in ROWS[kind])}


# Others, at random: tests/chaos/test_damages.py.
DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda _: None,
    "half zeros": lambda data: (
        data[: len(data) // 2] + bytes(len(data) - len(data) // 2)
    ),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in a folder 'runs', as the command line makes it."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(FLAGS) == 0
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it, in the working folder."""
    shutil.copytree(whole / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return RUN


def said(errors: str) -> list[str]:
    return [
        line
        for line in errors.splitlines()
        if line.startswith(("warning:", "t2ibench:"))
    ]


# One number of the first three rows of a part.
THREE_NUMBERS = """UPDATE embeddings SET rows = CAST(
    substr(rows, 1, 4) || x'99' || substr(rows, 6, 4 * width - 1) || x'99' ||
    substr(rows, 6 + 4 * width, 4 * width - 1) || x'99' || substr(rows, 6 + 8 * width) AS BLOB)
    WHERE part = (SELECT min(part) FROM embeddings JOIN models ON models.id = model
        WHERE kind = 'images' AND name <> 'look')"""


def recovers(run: Path, before: dict[str, bytes], cli: Cli) -> list[str]:
    """`score` changes nothing that is right; the original command makes the rest again; lines."""
    file, results = run / "results.json", before["results.json"]
    status, _, errors = cli("score", run)
    assert "Traceback" not in errors
    assert status == 0 or (status in {1, 3} and said(errors))
    assert file.read_bytes() == results if file.exists() else status
    again, _, more = cli(*FLAGS)
    if again == 3 and "the same command again regenerates it" in more:
        again, _, _ = cli(*FLAGS)
    assert again == 0, more
    assert hand.outputs(run) == before
    status, _, none = cli("score", run)
    assert (status, said(none)) == (0, [])
    assert hand.outputs(run) == before
    assert read_paired(run).keys() == set(TASKS.split(","))
    return said(errors + more)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", FILES)
def test_damage_to_a_file_is_harmless_or_reported(
    kind: str, damage: str, run: Path, cli: Cli
) -> None:
    before = hand.outputs(run)
    file = sorted(run.glob(kind))[0]
    data = DAMAGE[damage](file.read_bytes())
    file.unlink() if data is None else file.write_bytes(data)
    if (kind, damage) == ("run.db", "half zeros"):
        for command in (("score", run), FLAGS):
            status, _, errors = cli(*command)
            assert status == 1 and "run.db is damaged: " in errors
        assert "rows of it are kept" in errors and (run / "run.db.broken").is_file()
    if kind == "results.json":
        status, _, errors = cli("score", run)
        assert status == 0, errors
    recovers(run, before, cli)


# Of each table, one change in each way that is found: the others of a kind are tried at night.
AT_NIGHT = {"attempt of another image", "text embedding", "look", "samples cut short"}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.nightly] if kind in AT_NIGHT else [])
        for kind in ROWS
    ],
)
def test_damage_to_a_row_is_harmless_or_reported(
    kind: str, run: Path, cli: Cli
) -> None:
    before = hand.outputs(run)
    hand.damage(run, ROWS[kind])
    assert bool(recovers(run, before, cli)) == (kind not in MENDED)


@pytest.mark.parametrize(
    ("statement", "count", "table", "model", "method"),
    [
        # of one part
        (THREE_NUMBERS, 8, "embeddings", ToylandEncoder, "encode_images"),
        (ROWS["answer"], 1, "answers", ToylandJudge, "answer"),
    ],
)
def test_a_damaged_row_affects_only_that_row(
    statement: str, count: int, table: str, model: Any, method: str, run: Path, cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    hand.damage(run, statement)
    line = f"warning: {run}/run.db has damaged rows ({table} 1), which count as missing. The "
    status, _, errors = cli("score", run)
    assert status == 3 and said(errors)[0].startswith(line)
    assert "The earlier result of" in errors
    observed, whole = [], getattr(model, method)

    def counting(own: object, items: Sequence[Any]) -> Any:
        observed.extend(items)
        return whole(own, items)

    monkeypatch.setattr(model, method, counting)
    status, _, errors = cli(*FLAGS)
    assert status == 0 and len(observed) == count
    assert said(errors) == [f"{line}original command makes again what scores need."]


def test_damaged_results_are_never_read_in_silence(run: Path, cli: Cli) -> None:
    file = run / "results.json"
    text = file.read_text()
    digit = re.search(r'"value": -?0\.(\d)', text)
    at = digit.start(1)
    file.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
    line = f"{file} is damaged: its content does not match its checksum. `t2ibench score {run}`"
    with pytest.raises(BrokenResultsError, match=re.escape(line)):
        read_results(run)
    for command in (("report", run), ("compare", run, run)):
        status, _, errors = cli(*command)
        assert status == 1 and line in errors and len(errors.splitlines()) == 1
    status, _, errors = cli("score", run)
    assert (
        status == 0
        and "kept as results.json.broken, and a new one is written" in errors
    )
    assert file.read_text() == text


def remove_images(run: Path) -> int:
    paths = list((run / "images").rglob("*.png"))
    for path in paths:
        path.unlink()
    return len(paths)


def test_scores_need_no_image_files(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hand.outputs(run)
    removed = remove_images(run)
    for path in (run, run / "results.json", run / "run.db"):
        status, _, errors = cli("score", path)
        assert (status, said(errors)) == (0, [])
        assert hand.outputs(run) == before
    monkeypatch.setattr(ToylandGenerator, "generate", Mock(side_effect=AssertionError))
    status, out, _ = cli(*FLAGS, "--dry-run")
    assert status == 0
    out = " ".join(out.split())
    assert f"{removed} of the stored images have no file any more" in out
    assert "0 have to be generated" in out and "Nothing has to be generated." in out
    status, _, errors = cli(*FLAGS)
    assert status == 0 and hand.outputs(run) == before
    assert "Nothing to do" in errors
    status, out, _ = cli(*FLAGS, "--dry-run", "--generate-only")
    assert f"{removed} have to be generated" in " ".join(out.split())


def images_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "images").rglob("*.png")}


def test_files_are_made_again_where_pixels_are_needed(run: Path, cli: Cli) -> None:
    hashes, before = images_of(run), hand.outputs(run)
    remove_images(run)
    hand.damage(run, THREE_NUMBERS)
    assert cli(*FLAGS)[0] == 0 and hand.outputs(run) == before
    again = images_of(run)
    assert len(again) == 8 < len(hashes) and again.items() <= hashes.items()
    next((run / "images").rglob("*.png")).unlink()
    status, _, errors = cli(*FLAGS, "--generate-only")
    assert status == 0 and f"Generated now: {len(hashes) - 7} ok" in errors
    assert images_of(run) == hashes and hand.outputs(run) == before


def test_a_regenerated_image_that_differs_is_reported_and_counts(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (run / "images").rglob("*.png"):
        path.write_bytes(b"damaged")
    whole = ToylandGenerator.generate

    def otherwise(
        own: ToylandGenerator, batch: Sequence[ImageRequest]
    ) -> list[GeneratedImage]:
        return whole(own, [ImageRequest(r.prompt, r.index, r.seed + 1) for r in batch])

    monkeypatch.setattr(ToylandGenerator, "generate", otherwise)
    # Only a new encoder looks at the files again.
    status, _, errors = cli(*FLAGS, "--encoder", "toy-clip")
    assert status == 3 and "the same command again regenerates it" in errors
    assert cli(*FLAGS, "--encoder", "toy-clip")[0] == 0
    assert "Nothing to do" in cli(*FLAGS, "--encoder", "toy-clip")[2]
    remove_images(run)
    status, _, errors = cli(*FLAGS, "--generate-only")
    assert status == 0
    assert (
        "images were generated again and differ from the earlier ones. They replace them"
        in errors
    )
    status, _, errors = cli("score", run)
    assert status == 3 and "The earlier result" in errors
    assert cli(*FLAGS)[0] == 0
    assert (cli("score", run)[0], said(cli("score", run)[2])) == (0, [])


def test_results_of_an_earlier_version_that_stay_state_no_settings_of_this_call(
    run: Path, cli: Cli
) -> None:
    """What an earlier version measured them with is not known."""
    path = run / "results.json"
    results = json.loads(path.read_text())
    assert results.pop("further_settings") and results.pop("checksum")
    path.write_text(json.dumps(results))
    hand.damage(run, ROWS["answer"])
    status, _, errors = cli("score", run)
    assert status == 3 and "The earlier result of" in errors
    assert read_results(run).further_settings is None


def test_a_worse_result_does_not_replace_a_better_one(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hand.outputs(run)
    shutil.rmtree(run / "images")
    hand.damage(run, "DELETE FROM attempts")
    status, _, errors = cli("score", run)
    assert status == 3 and hand.outputs(run) == before
    (line,) = said(errors)
    assert (
        "The earlier results of openbias_examples, t2iat_flowers_insects are kept"
        in line
    )
    hand.damage(run, "DELETE FROM embeddings")
    error = RuntimeError("out of memory")
    monkeypatch.setattr(ToylandEncoder, "encode_images", Mock(side_effect=error))
    status, _, errors = cli(*FLAGS)
    assert status == 3 and hand.outputs(run) == before
    assert "The earlier result of t2iat_flowers_insects is kept" in errors
    assert "toyland was stopped" in errors
    monkeypatch.undo()
    monkeypatch.chdir(run.resolve().parents[1])
    assert cli(*FLAGS)[0] == 0 and hand.outputs(run) == before


def test_other_settings_replace_a_result_though_images_are_fewer(
    run: Path, cli: Cli
) -> None:
    assert cli(*FLAGS, "--images-per-prompt", "1")[0] == 0
    tasks = read_results(run).tasks
    assert all(task.settings.images_per_prompt == 1 for task in tasks.values())


def test_damaged_labels_are_reported(run: Path, cli: Cli) -> None:
    labels = [
        Label("Which?", ("a", "b"), f"{number:064x}", "me", "a") for number in range(4)
    ]
    store = LabelStore(Database(run))
    store.add(labels)
    store.database.close()
    hand.damage(run, "UPDATE labels SET answer = 'b' WHERE image LIKE '%3'")
    # With the copy beside it the label would come back.
    (run / COPY).unlink()
    for command in (("score", run), FLAGS):
        status, _, errors = cli(*command)
        assert status == 3 and "(labels 1), which count as missing" in errors
    LabelStore(Database(run)).add(labels)
    assert cli("score", run)[0] == 0 and len(LabelStore(Database(run))) == 4
