"""Sweeps over many words, and the map."""

from __future__ import annotations

import base64
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from t2ibench.apps.explorer.discovery import sweep
from t2ibench.apps.explorer.map import fit_axes
from t2ibench.apps.explorer.queries import Anchors
from t2ibench.apps.explorer.reference import Reference, filled, phrases
from t2ibench.methods.core.reference import beyond_words, effects, nearness
from tests.apps.explorer.api import (
    HEADERS,
    Client,
    explore,
    opened,
    pictures,
    with_empty_run,
)

# A model whose women are old; nothing in the anchors' words says so.
SHOWN = {
    "a woman": ["an old woman"] * 20,
    "a man": ["a man"] * 20,
    "a person": ["a person"] * 60,
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = pictures(tmp_path_factory.mktemp("planted"), SHOWN)
    with explore(with_empty_run(opened(folder)), folder / "session.json") as found:
        yield found


@pytest.fixture(scope="module")
def found(client: Client) -> Any:
    return client.post("/api/discover", anchors=["a woman", "a man"])


def test_a_thousand_words_are_ranked(found: Any) -> None:
    assert len(found["rows"]) == found["tested"] > 800
    assert len({row["text"].casefold() for row in found["rows"]}) == len(found["rows"])
    assert found["anchors"] == [20, 20] and found["reference"] > 2000
    keys = [(row["q"], -abs(row["beyond_words"])) for row in found["rows"]]
    assert keys == sorted(keys)
    # What is planted comes first.
    first = found["rows"][0]
    assert (first["text"], first["side"], first["verdict"]) == (
        "grandmother",
        0,
        "leans",
    )
    assert (
        first["beyond_low"] > 0 and first["q"] <= 0.05 and first["percentile"] == 100.0
    )
    assert found["found"] == sum(row["verdict"] == "leans" for row in found["rows"]) > 0
    # As many words have to lie beyond the reference as the adjustment asks for.
    assert found["together"] == math.ceil(
        found["tested"] / (found["reference"] + 1) / 0.05
    )
    # What the word itself says is no finding.
    (she,) = (row for row in found["rows"] if row["text"] == "she")
    assert abs(she["beyond_words"]) < 0.1 and she["verdict"] == "inconclusive"


def test_numbers_are_those_of_the_method(client: Client, found: Any) -> None:
    texts = client.collection.texts
    women, men = (
        client.collection.gallery.rows[
            [one.prompt == name for one in client.collection.gallery.pictures]
        ].astype(np.float64)
        for name in ("a woman", "a man")
    )
    images = beyond_words(
        np.concatenate([women, men]), texts(["a woman", "a man"]).astype(float)
    )
    everyday = Reference(client.collection).lists["everyday_words"]
    reference = texts(filled("{a word}", everyday)).astype(float)
    words = nearness(
        images, np.repeat([0, 1], 20), 2, texts(["a nurse"]).astype(float), reference
    )
    (row,) = (row for row in found["rows"] if row["text"] == "nurse")
    assert row["beyond_words"] == pytest.approx(effects(words)[0], abs=1e-6)


def test_discover_takes_own_words_and_reports_a_single_finding(client: Client) -> None:
    words = ["grandmother", "teapot", "grandmother"]
    body: Any = {"anchors": ["a woman", "a man"], "words": words}
    found = client.post("/api/discover", **body)
    assert found["tested"] == 2 and found["together"] == 1
    assert [row["text"] for row in found["rows"]] == ["grandmother", "teapot"]
    assert [row["verdict"] for row in found["rows"]] == ["leans", "no_lean"]
    # Three anchors have a range.
    found = client.post(
        "/api/discover", **{**body, "anchors": [*body["anchors"], "a person"]}
    )
    (grandmother,) = (row for row in found["rows"] if row["text"] == "grandmother")
    assert grandmother["side"] == 0 and grandmother["beyond_words"] > 0


@pytest.mark.slow
def test_halves_of_one_prompts_images_rarely_differ_clearly(client: Client) -> None:
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
            hit = (
                sweep(client.collection, anchors, asked, "{word}", everyday)["found"]
                > 0
            )
            shipped, few = shipped + (hit and number == 0), few + (hit and number == 1)
    # 5 % of 40 are 2; more than 6 would come in half a percent of such tests.
    assert shipped <= 6 and few <= 6


def test_other_requests_are_answered_during_a_long_sweep(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert client.get("/api/map")["x"]
    answered.set()
    asked.join()
    assert waited and all(waited)


BOTH = ["a woman", "a man"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"anchors": []}, "Choose two anchors first"),
        ({"anchors": ["a woman", "a nurse"]}, "'a nurse' has no image in this run"),
        ({"anchors": ["a woman"] * 2}, "Two anchors share an image."),
        ({"anchors": ["a woman"] * 13}, "anchors"),
        ({"anchors": BOTH, "words": []}, "words"),
        ({"anchors": BOTH, "words": ["a"] * 5001}, "words"),
        ({"anchors": BOTH, "words": "all"}, "words"),
        ({"anchors": BOTH, "words": [""]}, "words"),
        ({"anchors": BOTH, "fdr": 2}, "fdr"),
        ({"anchors": BOTH, "run": 2}, "no run 2"),
    ],
)
def test_wrong_questions_are_one_line(client: Client, body: Any, message: str) -> None:
    assert message in client.post("/api/discover", 400, **body)["error"]


def test_deep_nesting_is_one_line(client: Client) -> None:
    body = '{"anchors": ' + "[" * 100_000
    reply = client.http.post("/api/discover", content=body, headers=HEADERS)
    assert reply.status_code == 400 and reply.json()["error"]


def test_the_map_has_every_image_on_two_axes(client: Client) -> None:
    found = client.get("/api/map?run=0")
    ids, x, y = (
        np.frombuffer(base64.b64decode(found[name]), kind)
        for name, kind in (("ids", "<i4"), ("x", "<f4"), ("y", "<f4"))
    )
    assert ids.tolist() == list(range(100)) and len(x) == len(y) == 100
    rows = client.collection.gallery.rows.astype(np.float64)
    sizes = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    assert found["explained"] == pytest.approx(
        (sizes**2 / (sizes**2).sum())[:2].tolist(), abs=1e-3
    )
    assert np.linalg.norm(x) == pytest.approx(sizes[0], rel=1e-3)
    assert client.get("/api/map?run=0") == found
    empty = client.get("/api/map?run=1")
    assert (empty["x"], empty["explained"]) == ("", [0.0, 0.0])
    for run in ("2", "-1", "x", "99999999999", "%00"):
        assert "error" in client.get(f"/api/map?run={run}", 400)


def test_images_that_are_all_alike_have_no_axes() -> None:
    _, _, shares = fit_axes(np.ones((5, 3), np.float32))
    assert shares == [0.0, 0.0]
