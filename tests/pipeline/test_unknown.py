"""Encoders of other people: no text vectors, images that they cannot embed, and who fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

CODE = '''
import hashlib

import numpy as np

from t2ibench.models.encoders import create_encoder


class Plain:
    embeds_images = True

    def __init__(self):
        self._inner = create_encoder("toyland")
        self.name = f"encoders_of_others:{type(self).__name__}"
        self.batch_size = self._inner.batch_size
        self.fingerprint = hashlib.sha256(self.name.encode()).hexdigest()

    def prepare(self, image):
        return self._inner.prepare(image)

    def encode_images(self, prepared):
        return self._inner.encode_images(prepared)

    def encode_texts(self, texts):
        return self._inner.encode_texts(texts)


class NoTexts(Plain):
    def encode_texts(self, texts):
        rows = self._inner.encode_texts(texts)
        return np.full(rows.shape, np.nan, np.float32)


class SomeImages(Plain):
    def encode_images(self, prepared):
        rows = self._inner.encode_images(prepared).copy()
        for number, pixels in enumerate(prepared):
            if hashlib.sha256(np.asarray(pixels).tobytes()).digest()[0] % 8 == 0:
                rows[number] = np.nan
        return rows


class Blind(Plain):
    """Sees the size of an image alone."""

    def encode_images(self, prepared):
        rows = self._inner.encode_images(prepared)
        return np.repeat(np.eye(1, rows.shape[1], dtype=np.float32), len(rows), axis=0)


class Raises(SomeImages):
    def prepare(self, image):
        if hashlib.sha256(np.asarray(image).tobytes()).digest()[0] % 8 == 0:
            raise ValueError("no face is seen")
        return self._inner.prepare(image)

    def encode_images(self, prepared):
        return self._inner.encode_images(prepared)


class Words(Plain):
    embeds_images = False


class Broken(Plain):
    def encode_images(self, prepared):
        raise RuntimeError("the network is broken")
'''


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "encoders_of_others.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)


def command(encoders: str, tmp_path: Path) -> tuple[str, ...]:
    return (
        *(
            "--model",
            "toyland",
            "--tasks",
            "t2iat_flowers_insects,t2iat_light_dark_skin",
        ),
        *("--limit", "3", "--images-per-prompt", "3", "--encoder", encoders),
        *("--permutations", "500", "--bootstrap", "100"),
        *("--output-dir", str(tmp_path / "runs")),
    )


@pytest.mark.usefixtures("others")
def test_without_text_vectors_obedience_is_unknown_rather_than_0(
    tmp_path: Path, cli: Cli
) -> None:
    status, _, errors = cli(*command("encoders_of_others:NoTexts", tmp_path))
    assert status == 0, errors
    page = (tmp_path / "runs" / "toyland" / "results.md").read_text()
    assert "What the guided images show is unknown" in page
    assert " 0 of " not in page


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("name", ["SomeImages", "Raises"])
def test_an_image_without_an_embedding_is_unknown(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    status, _, errors = cli(*command(f"encoders_of_others:{name}", tmp_path))
    assert "images have no embedding and count as unknown" in errors
    assert ("no face is seen" in errors) == (name == "Raises")
    results = json.loads((tmp_path / "runs" / "toyland" / "results.json").read_text())
    unknown = 0
    for task in results["tasks"].values():
        assert task["excluded"].get("missing", 0) == 0
        reasons = task["excluded_because"].get("unknown", {})
        assert sum(reasons.values()) == task["excluded"]["unknown"]
        assert all("cannot embed it" in reason for reason in reasons)
        unknown += task["excluded"]["unknown"]
    assert unknown > 0
    # The same command again has nothing left to embed.
    again, _, errors = cli(*command(f"encoders_of_others:{name}", tmp_path))
    assert "no embedding" not in errors
    assert again == status


@pytest.mark.usefixtures("others")
def test_an_encoder_that_is_broken_still_ends_the_run(tmp_path: Path, cli: Cli) -> None:
    status, _, errors = cli(*command("encoders_of_others:Broken", tmp_path))
    assert status == 1
    assert "the network is broken" in errors


@pytest.mark.usefixtures("others")
def test_of_several_encoders_the_page_names_the_one_that_fails(
    tmp_path: Path, cli: Cli
) -> None:
    status, _, errors = cli(*command("toyland,encoders_of_others:Blind", tmp_path))
    assert status in {0, 3}, errors
    run = tmp_path / "runs" / "toyland"
    task = json.loads((run / "results.json").read_text())["tasks"][
        "t2iat_flowers_insects"
    ]
    assert task["inconclusive"].startswith("encoders_of_others:Blind: ")
    assert task["inconclusive"].endswith("by toyland it is not inconclusive")
    page = (run / "results.md").read_text()
    assert "`t2iat_flowers_insects` (toyland): All " in page
    assert "  - encoders_of_others:Blind: " in page
    assert "encoders_of_others:Blind: " in (run / "report.html").read_text()


@pytest.mark.usefixtures("others")
def test_without_one_of_two_encoders_the_other_one_is_scored(
    tmp_path: Path, cli: Cli
) -> None:
    broken = "encoders_of_others:Broken"
    status, _, errors = cli(*command(f"toyland,{broken}", tmp_path))
    run = tmp_path / "runs" / "toyland"
    assert status == 3 and f"{broken} was stopped" in errors
    task = json.loads((run / "results.json").read_text())["tasks"][
        "t2iat_flowers_insects"
    ]
    alone = task["by_encoder"]["toyland"]
    assert task["headline"]["value"] == alone["headline"]["value"] is not None
    assert list(task["settings"]["encoders"]) == ["toyland"]
    assert task["by_encoder"][broken]["reason"] == (
        f"{broken} lacks embeddings of this task"
    )
    assert task["excluded"]["missing"] > 0 and task["reason"] is None
    line = f"{broken} lacks embeddings of this task: this is the score by toyland alone"
    assert line in (run / "results.md").read_text()
    # Scoring again says the same, and is not complete either.
    assert cli("score", str(run))[0] == 3
    assert line in (run / "results.md").read_text()


JUDGE = """
import hashlib


class Down:
    name = "judge_of_others:Down"
    batch_size = 8
    fingerprint = hashlib.sha256(b"down").hexdigest()

    def answer(self, queries):
        raise RuntimeError("it is down")
"""


def test_without_one_of_two_judges_the_other_one_is_scored(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judge_of_others.py").write_text(JUDGE)
    monkeypatch.syspath_prepend(tmp_path)
    status, _, errors = cli(
        *("--model", "toyland", "--tasks", "openbias_examples", "--limit", "2"),
        *("--judge", "toyland,judge_of_others:Down", "--images-per-prompt", "4"),
        *("--output-dir", str(tmp_path / "runs")),
    )
    run = tmp_path / "runs" / "toyland"
    assert status == 3 and "judge_of_others:Down was stopped" in errors
    task = json.loads((run / "results.json").read_text())["tasks"]["openbias_examples"]
    assert task["headline"]["value"] is not None and task["excluded"]["missing"] > 0
    assert list(task["settings"]["judges"]) == ["toyland"]
    assert task["warnings"][0] == (
        "judge_of_others:Down has no answers about this task: this is the score by "
        "toyland alone"
    )


@pytest.mark.usefixtures("others")
def test_an_image_that_one_of_two_encoders_cannot_embed_is_excluded(
    tmp_path: Path, cli: Cli
) -> None:
    name = "encoders_of_others:SomeImages"
    cli(*command(f"toyland,{name}", tmp_path))
    results = json.loads((tmp_path / "runs" / "toyland" / "results.json").read_text())
    unknown = 0
    for task in results["tasks"].values():
        reasons = task["excluded_because"].get("unknown", {})
        assert task["excluded"]["unknown"] == sum(reasons.values())
        unknown += task["excluded"]["unknown"]
    assert unknown > 0


@pytest.mark.usefixtures("others")
def test_a_run_without_an_image_encoder_is_refused_before_the_first_image(
    tmp_path: Path, cli: Cli
) -> None:
    status, _, errors = cli(*command("encoders_of_others:Words", tmp_path))
    assert status == 1 and "encoders_of_others:Words embeds no images" in errors
    assert "Add an encoder of images" in errors
    assert not list((tmp_path / "runs").glob("**/*.png"))
