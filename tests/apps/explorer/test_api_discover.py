"""The sweep over many words: it finds what is planted, and seldom what is not."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from t2ibench.apps.explorer.discovery import Sweep, filled, sweep
from t2ibench.apps.explorer.queries import Anchors
from t2ibench.apps.explorer.reference import Reference, phrases
from t2ibench.methods.core.reference import beyond_words, effects, nearness
from tests.apps.explorer.api import Client, explore, opened, pictures

# A model whose women are old; nothing in the anchors' words says so.
SHOWN = {"a woman": ["an old woman"] * 20, "a man": ["a man"] * 20, "a person": ["a person"] * 60}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = pictures(tmp_path_factory.mktemp("planted"), SHOWN)
    with explore(opened(folder), folder / "session.json") as found:
        yield found


@pytest.fixture(scope="module")
def found(client: Client) -> Any:
    return client.post("/api/discover", anchors=["a woman", "a man"])


def test_a_thousand_words_are_ranked(found: Any) -> None:
    assert len(found["rows"]) == found["tested"] > 900
    assert len({row["text"].casefold() for row in found["rows"]}) == len(found["rows"])
    assert found["anchors"] == [20, 20] and found["reference"] > 2000
    keys = [(row["q"], -abs(row["effect"])) for row in found["rows"]]
    assert keys == sorted(keys)


def test_what_is_planted_comes_first(found: Any) -> None:
    first = found["rows"][0]
    assert (first["text"], first["side"], first["verdict"]) == ("elderly", 0, "leans")
    assert first["low"] > 0 and first["q"] <= 0.05 and first["percentile"] == 100.0
    assert found["found"] == sum(row["verdict"] == "leans" for row in found["rows"]) > 0
    # As many words have to lie beyond the reference as the adjustment asks for, here five.
    assert found["together"] == math.ceil(found["tested"] / (found["reference"] + 1) / 0.05)


def test_what_the_word_itself_says_is_no_finding(found: Any) -> None:
    rows = {row["text"]: row for row in found["rows"]}
    assert abs(rows["she"]["effect"]) < 0.1 and rows["she"]["verdict"] == "inconclusive"


def test_numbers_are_those_of_the_method(client: Client, found: Any) -> None:
    texts = client.collection.texts
    women, men = (
        client.collection.gallery.rows[
            [one.prompt == name for one in client.collection.gallery.pictures]
        ].astype(np.float64)
        for name in ("a woman", "a man")
    )
    images = beyond_words(np.concatenate([women, men]), texts(["a woman", "a man"]).astype(float))
    everyday = Reference(client.collection).lists["everyday_words"]
    reference = texts(filled("{a word}", everyday)).astype(float)
    words = nearness(images, np.repeat([0, 1], 20), 2, texts(["a nurse"]).astype(float), reference)
    (row,) = (row for row in found["rows"] if row["text"] == "nurse")
    assert row["effect"] == pytest.approx(effects(words)[0], abs=1e-6)


def test_own_words_and_a_single_finding(client: Client) -> None:
    words = ["grandmother", "teapot", "grandmother"]
    body: Any = {"anchors": ["a woman", "a man"], "words": words}
    found = client.post("/api/discover", **body)
    assert found["tested"] == 2 and found["together"] == 1
    assert [row["text"] for row in found["rows"]] == ["grandmother", "teapot"]
    assert [row["verdict"] for row in found["rows"]] == ["leans", "no_lean"]


def test_three_anchors_have_a_range(client: Client) -> None:
    body: Any = {"anchors": ["a woman", "a man", "a person"], "words": ["grandmother", "teapot"]}
    found = client.post("/api/discover", **body)
    (grandmother,) = (row for row in found["rows"] if row["text"] == "grandmother")
    assert grandmother["side"] == 0 and grandmother["effect"] > 0


@pytest.mark.slow
def test_halves_of_one_prompt_are_seldom_told_apart(client: Client) -> None:
    gallery, reference = client.collection.gallery, Reference(client.collection)
    everyday = reference.lists["everyday_words"]
    words = phrases(reference.lists, everyday)
    people = gallery.of_run(0, ["a person"])
    rng = np.random.default_rng(0)
    shipped, few = 0, 0
    for _ in range(40):
        halves = np.repeat([0, 1], 30), np.arange(2)
        anchors = Anchors(rng.permutation(people), *halves, ["a person", "somebody"])
        for number, asked in enumerate((words, words[:40])):
            question = Sweep(asked, everyday, "{word}")
            hit = sweep(gallery, anchors, question, client.collection.texts)["found"] > 0
            shipped, few = shipped + (hit and number == 0), few + (hit and number == 1)
    # 5 % of 40 are 2; more than 6 would come in half a percent of such tests.
    assert shipped <= 6 and few <= 6


def test_a_long_sweep_holds_up_nobody(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answered, begun, waited = threading.Event(), threading.Event(), []
    encoder = client.collection.encoder
    encode = encoder.encode_texts

    def slow(texts: Sequence[str]) -> Any:
        begun.set()
        waited.append(answered.wait(30))
        return encode(texts)

    monkeypatch.setattr(encoder, "encode_texts", slow)
    body: Any = {"anchors": ["a woman", "a man"], "words": ["teapot of tin"]}
    asked = threading.Thread(target=client.post, args=("/api/discover",), kwargs=body)
    asked.start()
    assert begun.wait(30)
    assert len(client.get("/api/images")["images"]) == 100
    assert len(client.post("/api/rank", image=0)["ids"]) == 99
    assert client.get("/api/map")["x"]
    answered.set()
    asked.join()
    assert waited and all(waited)


@pytest.mark.parametrize(
    "body",
    [
        {"anchors": ["a woman"]},
        {"anchors": ["a woman", "a woman"]},
        {"anchors": ["a woman", "nobody"]},
        {"anchors": ["a woman", "a man"], "words": []},
        {"anchors": ["a woman", "a man"], "words": ["a"] * 5001},
        {"anchors": ["a woman", "a man"], "words": "all"},
        {"anchors": ["a woman", "a man"], "words": [""]},
        {"anchors": ["a woman", "a man"], "fdr": 2},
        {"anchors": ["a woman", "a man"], "run": 1},
        {"anchors": ["a woman"] * 13},
    ],
)
def test_wrong_questions_are_one_line(client: Client, body: Any) -> None:
    client.post("/api/discover", 400, **body)


def test_what_cannot_be_searched_is_said_in_a_sentence(client: Client) -> None:
    for anchors, message in (
        ([], "Choose two anchors first"),
        (["a woman", "a nurse"], "The anchor 'a nurse' has no image in this run"),
        (["a woman", "a woman"], "Two anchors share an image."),
    ):
        assert message in client.post("/api/discover", 400, anchors=anchors)["error"]
