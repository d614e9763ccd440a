"""Damaged and removed files: what is lost is named and made again, and no number changes unsaid."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from t2ibench import evaluate, score
from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.results.files import BrokenResultsError, read_results
from t2ibench.results.paired import read_paired
from t2ibench.store.labels import Label, LabelStore

Cli = Callable[..., tuple[int, str, str]]
TASKS = "t2iat_flowers_insects,openbias_examples"
SMALL: dict[str, Any] = {
    "limit": 1, "images_per_prompt": 2, "n_permutations": 200, "n_bootstrap": 50,
}  # fmt: skip
FLAGS = [
    *("--model", "toyland", "--tasks", TASKS, "--limit", "1", "--images-per-prompt", "2"),
    *("--permutations", "200", "--bootstrap", "50"),
]
RUN = Path("runs/toyland")

FILES = {
    "record": "run.json",
    "results": "results.json",
    "report": "results.md",
    "influences": "influences.safetensors",
    "sample": "samples/*.jsonl",
    "attempts": "images/*.jsonl",
    "image": "images/*/*.png",
    "image embeddings": "evidence/toyland-*/images-*.safetensors",
    "text embeddings": "evidence/toyland-*/texts-*.safetensors",
    "answers": "evidence/answers-*/*.jsonl",
}


def flipped(data: bytes, at: float) -> bytes:
    where = int(len(data) * at)
    return data[:where] + bytes([data[where] ^ 4]) + data[where + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda _: None,
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "half zeros": lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "flip in front": lambda data: flipped(data, 0.02),
    "flip in the middle": lambda data: flipped(data, 0.5),
    "flip near the end": lambda data: flipped(data, 0.9),
    "garbage": lambda data: b"\xff\xfe\x00garbage\n" * 20,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in a folder 'runs', as the command line makes it."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        evaluate("toyland", TASKS, **SMALL)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it, in the working folder."""
    shutil.copytree(whole / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return RUN


def one(run: Path, kind: str) -> Path:
    return sorted(run.glob(FILES[kind]))[0]


def said(errors: str) -> list[str]:
    return [line for line in errors.splitlines() if line.startswith(("warning:", "t2ibench:"))]


QUICK = {"flip in the middle"}


@pytest.mark.parametrize(
    "damage",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in DAMAGE],
)
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_file_costs_nothing_or_is_said(
    kind: str, damage: str, run: Path, cli: Cli
) -> None:
    results = (run / "results.json").read_bytes()
    file = one(run, kind)
    data = DAMAGE[damage](file.read_bytes())
    file.unlink() if data is None else file.write_bytes(data)
    status, _, errors = cli("score", run)
    assert "Traceback" not in errors
    if status == 0:
        assert (run / "results.json").read_bytes() == results
    else:
        assert status == (1 if kind == "record" else 3) and said(errors)
        if kind != "results":  # what is there stays
            assert (run / "results.json").read_bytes() == results
    status, _, errors = cli(*FLAGS)
    assert status == 0, errors
    assert (run / "results.json").read_bytes() == results
    status, _, errors = cli("score", run)
    assert (status, said(errors)) == (0, [])
    assert (run / "results.json").read_bytes() == results
    assert read_paired(run / "influences.safetensors").keys() == set(TASKS.split(","))


def test_a_damaged_embedding_costs_itself_alone(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = one(run, "image embeddings")
    tensors = load_file(file)
    rows = len(tensors["keys"])
    for row, value in ((0, 0.5), (1, np.nan), (2, np.inf)):
        tensors["embeddings"][row, 3] = value
    save_file(tensors, file)
    status, _, errors = cli("score", run)
    assert status == 3
    assert (
        "3 embeddings by toyland are damaged and left out. Run the original command again" in errors
    )
    assert "The earlier result of t2iat_flowers_insects is kept" in errors
    embedded: list[int] = []
    encode = ToylandEncoder.encode_images

    def counting(own: ToylandEncoder, prepared: Sequence[Any]) -> Any:
        embedded.append(len(prepared))
        return encode(own, prepared)

    monkeypatch.setattr(ToylandEncoder, "encode_images", counting)
    status, _, errors = cli(*FLAGS)
    assert status == 0 and sum(embedded) == 3
    assert said(errors) == ["warning: 3 embeddings by toyland were damaged and are made again."]
    assert len(load_file(file)["keys"]) == rows - 3


@pytest.mark.slow
def test_one_damaged_answer_is_asked_again(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = one(run, "answers")
    text = file.read_text()
    assert '"answer": "' in text
    file.write_text(re.sub('"answer": "(.)', '"answer": "X', text, count=1))
    status, _, errors = cli("score", run)
    assert status == 3 and "1 line of answers by toyland is damaged and left out" in errors
    asked: list[int] = []
    answer = ToylandJudge.answer

    def counting(own: ToylandJudge, queries: Sequence[Any]) -> Any:
        asked.append(len(queries))
        return answer(own, queries)

    monkeypatch.setattr(ToylandJudge, "answer", counting)
    status, _, errors = cli(*FLAGS)
    assert status == 0 and sum(asked) == 1
    assert said(errors) == ["warning: 1 line of answers by toyland was damaged and is made again."]


def test_damaged_results_are_never_read_in_silence(run: Path, cli: Cli) -> None:
    file = run / "results.json"
    text = file.read_text()
    digit = re.search(r'"value": -?0\.(\d)', text)
    assert digit is not None
    at = digit.start(1)
    file.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
    line = f"{file} is damaged: its content does not match its checksum. `t2ibench score {run}`"
    with pytest.raises(BrokenResultsError, match=re.escape(line)):
        read_results(run)
    for command in (
        ("report", run), ("compare", run, run), ("report", run, "--fail-on", "headline.value>0.99"),
    ):  # fmt: skip
        status, _, errors = cli(*command)
        assert status == 1 and line in errors and len(errors.splitlines()) == 1
    status, _, errors = cli("score", run)
    assert status == 0 and "kept as results.json.broken, and a new one is written" in errors
    assert file.read_text() == text


def test_results_without_a_checksum_are_read(run: Path) -> None:
    file = run / "results.json"
    data = json.loads(file.read_text())
    assert len(data.pop("checksum")) == 8
    file.write_text(json.dumps(data))
    assert read_results(file) == read_results(run)


def test_influences_that_were_changed_are_not_read(run: Path, cli: Cli) -> None:
    file = run / "influences.safetensors"
    data = bytearray(file.read_bytes())
    data[-9] ^= 1  # in the last number
    file.write_bytes(data)
    status, _, errors = cli("compare", run, run)
    assert status == 1 and "does not match its checksum" in errors


def remove_images(run: Path) -> int:
    paths = list((run / "images").rglob("*.png"))
    for path in paths:
        path.unlink()
    return len(paths)


def outputs(run: Path) -> dict[str, bytes]:
    names = ["results.json", "results.md", "influences.safetensors"]
    files = [*(run / name for name in names), *sorted((run / "samples").iterdir())]
    return {file.name: file.read_bytes() for file in files}


def never(*_: object) -> Any:
    raise AssertionError("nothing was to be made")


@pytest.mark.slow
def test_scores_need_no_image_files(run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    before = outputs(run)
    removed = remove_images(run)
    for path in (run, run / "results.json", run / "run.json"):
        status, _, errors = cli("score", path)
        assert (status, said(errors)) == (0, [])
        assert outputs(run) == before
    monkeypatch.setattr(ToylandGenerator, "generate", never)
    status, out, _ = cli(*FLAGS, "--dry-run")
    assert status == 0
    out = " ".join(out.split())
    assert f"{removed} of the stored images have no file any more" in out
    assert "0 have to be generated" in out and "Nothing has to be generated." in out
    status, _, errors = cli(*FLAGS)
    assert status == 0 and outputs(run) == before
    assert f"{removed} of them have no file any more; --generate-only" in errors
    status, out, _ = cli(*FLAGS, "--dry-run", "--generate-only")
    assert f"{removed} have to be generated" in " ".join(out.split())


def test_files_are_made_again_where_pixels_are_needed(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = {path.name: path.read_bytes() for path in (run / "images").rglob("*.png")}
    before = outputs(run)
    remove_images(run)
    file = one(run, "image embeddings")
    tensors = load_file(file)
    tensors["embeddings"][:3] = 0
    save_file(tensors, file)
    assert cli(*FLAGS)[0] == 0 and outputs(run) == before
    again = {path.name: path.read_bytes() for path in (run / "images").rglob("*.png")}
    assert len(again) == 3 and again.items() <= hashes.items()
    next((run / "images").rglob("*.png")).unlink()
    status, _, errors = cli(*FLAGS, "--generate-only")
    assert status == 0 and f"Generated now: {len(hashes) - 2} ok" in errors
    again = {path.name: path.read_bytes() for path in (run / "images").rglob("*.png")}
    assert again == hashes and outputs(run) == before


@pytest.mark.slow
def test_an_image_that_comes_out_otherwise_is_said(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_images(run)
    whole = ToylandGenerator.generate

    def otherwise(own: ToylandGenerator, batch: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return whole(own, [ImageRequest(r.prompt, r.index, r.seed + 1) for r in batch])

    monkeypatch.setattr(ToylandGenerator, "generate", otherwise)
    status, _, errors = cli(*FLAGS, "--generate-only")
    assert status == 0
    assert "images were generated again and differ from those before; they count now" in errors
    status, _, errors = cli("score", run)
    assert status == 3 and "The earlier results of" in errors
    assert cli(*FLAGS)[0] == 0
    assert (cli("score", run)[0], said(cli("score", run)[2])) == (0, [])


@pytest.mark.slow
def test_a_worse_result_does_not_replace_a_better_one(
    run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = outputs(run)
    shutil.rmtree(run / "images")
    status, _, errors = cli("score", run)
    assert status == 3 and outputs(run) == before
    (line,) = said(errors)
    assert "The earlier results of openbias_examples, t2iat_flowers_insects are kept" in line
    shutil.rmtree(next((run / "evidence").glob("toyland-*")))

    def fails(*_: object) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(ToylandEncoder, "encode_images", fails)
    status, _, errors = cli(*FLAGS)
    assert status == 3 and outputs(run) == before
    assert "The earlier result of t2iat_flowers_insects is kept" in errors
    assert "toyland was stopped" in errors
    monkeypatch.undo()
    monkeypatch.chdir(run.resolve().parents[1])
    assert cli(*FLAGS)[0] == 0 and outputs(run) == before


def test_other_settings_replace_a_result_though_images_are_fewer(run: Path) -> None:
    evaluate("toyland", TASKS, **(SMALL | {"images_per_prompt": 1}))
    tasks = read_results(run).tasks
    assert all(task.settings.images_per_prompt == 1 for task in tasks.values())


@pytest.mark.slow
def test_labels_that_are_lost_are_said(run: Path, cli: Cli) -> None:
    store = LabelStore(run / "evidence")
    store.add(Label("Which?", ("a", "b"), f"{number:064x}", "me", "a") for number in range(4))
    assert len(LabelStore(run / "evidence")) == 4 and not LabelStore(run / "evidence").damage
    data = store.file.read_bytes()
    line = "is damaged and left out. Import the filled sheets again with `t2ibench label import`."
    for damaged in (
        data[:-1].rpartition(b"\n")[0] + b"\n",
        data.replace(b'"a", "crc', b'"b", "crc', 1),
    ):
        store.file.write_bytes(damaged)
        for command in (("score", run), FLAGS):
            status, _, errors = cli(*command)
            assert status == 3 and f"1 label {line}" in errors
    again = LabelStore(run / "evidence")
    again.add(store.all())
    assert again.file.read_bytes() == data
    assert again.file.with_name("labels.jsonl.broken").read_bytes() == damaged
    assert cli("score", run)[0] == 0


def test_a_stored_row_that_is_not_of_unit_length_is_not_scored(run: Path, cli: Cli) -> None:
    for file in run.glob(FILES["image embeddings"]):  # as an older version wrote it
        tensors = load_file(file)
        del tensors["checksums"]
        save_file(tensors, file)
    assert cli("score", run)[0] == 0
    tensors["embeddings"][0] *= 3
    save_file(tensors, file)
    status, _, errors = cli("score", run)
    assert status == 3 and "1 embedding by toyland is damaged" in errors


def test_an_encoder_whose_rows_are_not_of_unit_length_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = ToylandEncoder.encode_images
    monkeypatch.setattr(ToylandEncoder, "encode_images", lambda *args: 2 * encode(*args))
    with pytest.raises(T2IBenchError, match=r"'toyland' gave .* not of unit length.*its norm"):
        evaluate("toyland", "t2iat_flowers_insects", output_dir=tmp_path, **SMALL)
    monkeypatch.undo()
    assert score(tmp_path / "toyland").tasks["t2iat_flowers_insects"].headline.value is None
