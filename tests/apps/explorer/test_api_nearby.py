"""Ranks, the map and what a selection shares."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.apps.explorer.gallery import Gallery
from t2ibench.apps.explorer.nearby import Maps, fit_axes
from tests.apps.explorer.api import Client, explore, opened, pictures, with_empty_run

CAPTIONS = {"a woman": ["a woman"] * 5, "a man": ["a man"] * 5}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = pictures(tmp_path_factory.mktemp("ten"), CAPTIONS)
    with explore(with_empty_run(opened(folder)), folder / "session.json") as found:
        yield found


def decoded(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), kind)


def test_texts_rank_the_pictures_that_show_them_first(client: Client) -> None:
    found = client.post("/api/rank", text="a photo of a woman")
    assert len(found["ids"]) == 10 and found["values"] == sorted(found["values"], reverse=True)
    prompts = [client.collection.pictures[number].prompt for number in found["ids"]]
    assert prompts == ["a woman"] * 5 + ["a man"] * 5
    rows, text = client.collection.embeddings(), client.collection.texts(["a photo of a woman"])
    expected = (rows[found["ids"]] @ text[0] + 1) / 2
    assert found["values"] == pytest.approx(expected.tolist(), abs=1e-4)


def test_more_like_this_leaves_the_picture_itself_out(client: Client) -> None:
    found = client.post("/api/rank", image=0)
    assert len(found["ids"]) == 9 and 0 not in found["ids"]
    rows = client.collection.embeddings()
    expected = (rows[found["ids"]] @ rows[0] + 1) / 2
    assert found["values"] == pytest.approx(expected.tolist(), abs=1e-4)
    assert found["values"] == sorted(found["values"], reverse=True)


def test_some_prompts_and_none(client: Client) -> None:
    found = client.post("/api/rank", text="a man", prompts=["a woman", "unheard of"])
    assert len(found["ids"]) == 5
    assert client.post("/api/rank", text="a man", prompts=["unheard of"])["ids"] == []
    assert client.post("/api/rank", text="a man", run=1) == {"ids": [], "values": []}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/rank", {}),
        ("/api/rank", {"text": "a", "image": 1}),
        ("/api/rank", {"text": ""}),
        ("/api/rank", {"text": "a" * 2001}),
        ("/api/rank", {"image": 10}),
        ("/api/rank", {"image": -1}),
        ("/api/rank", {"image": 10**30}),
        ("/api/rank", {"text": "a", "run": 2}),
        ("/api/rank", {"text": "a", "prompts": ["a"] * 1001}),
        ("/api/rank", {"text": "a", "more": 1}),
        ("/api/suggest", {"ids": []}),
        ("/api/suggest", {"ids": [10]}),
        ("/api/suggest", {"ids": [0], "run": 1}),
        ("/api/suggest", {"ids": [0] * 200_001}),
        ("/api/suggest", {"ids": ["a"]}),
    ],
)
def test_wrong_questions_are_one_line(client: Client, path: str, body: Any) -> None:
    client.post(path, 400, **body)


def test_deep_nesting_is_one_line(client: Client) -> None:
    body = '{"text": ' + "[" * 100_000
    headers = {"Origin": "http://127.0.0.1:1234", "Content-Type": "application/json"}
    reply = client.http.post("/api/rank", content=body, headers=headers)
    assert reply.status_code == 400 and reply.json()["error"]


def test_the_map_has_every_picture_on_two_axes(client: Client) -> None:
    found = client.get("/api/map?run=0")
    assert (found["n"], found["method"]) == (10, "pca")
    ids, x, y = decoded(found["ids"], "<i4"), decoded(found["x"], "<f4"), decoded(found["y"], "<f4")
    assert ids.tolist() == list(range(10)) and len(x) == len(y) == 10
    rows = client.collection.embeddings().astype(np.float64)
    centred = rows - rows.mean(axis=0)
    sizes = np.linalg.svd(centred, compute_uv=False)
    assert found["explained"] == pytest.approx((sizes**2 / (sizes**2).sum())[:2].tolist(), abs=1e-3)
    assert np.linalg.norm(x) == pytest.approx(sizes[0], rel=1e-3)
    women = np.array([one.prompt == "a woman" for one in client.collection.pictures])
    assert (x[women] > 0).all() != (x[~women] > 0).all()
    assert client.get("/api/map?run=0") == found


def test_the_map_of_an_empty_run(client: Client) -> None:
    found = client.get("/api/map?run=1")
    assert (found["n"], found["x"], found["explained"]) == (0, "", [0.0, 0.0])
    for run in ("2", "-1", "x", "99999999999", "%00"):
        assert "error" in client.get(f"/api/map?run={run}", 400)


def test_axes_are_those_of_an_svd_and_do_not_move() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]).astype(np.float32)
    axes = fit_axes(rows, np.arange(len(rows)))
    assert abs(axes.directions[0, 0]) > 0.99 and abs(axes.directions[1, 1]) > 0.99
    assert all(row[np.abs(row).argmax()] > 0 for row in axes.directions)
    assert axes.explained == pytest.approx((25 / 38, 9 / 38), abs=0.02)
    same = fit_axes(np.ones((5, 3), np.float32), np.arange(5))
    assert same.explained == (0.0, 0.0) and not same.directions.any()


def test_pictures_that_come_later_are_put_on_the_same_axes(client: Client) -> None:
    known = client.collection.pictures
    rows = client.collection.embeddings()
    maps = Maps()
    before = maps.of(Gallery(known[:8], rows[:8]), 0)
    after = maps.of(Gallery(known, rows), 0)
    assert after["n"] == 10
    first = decoded(after["x"], "<f4")[:8]
    assert first.tolist() == pytest.approx(decoded(before["x"], "<f4").tolist(), abs=1e-6)


def test_a_selection_is_told_by_what_it_shows(client: Client) -> None:
    women = [k for k, one in enumerate(client.collection.pictures) if one.prompt == "a woman"]
    found = client.post("/api/suggest", ids=[*women, women[0]])
    assert found["prompts"] == [{"prompt": "a woman", "count": 5}]
    assert (found["n"], found["rest"]) == (5, 5)
    assert len(found["words"]) == 12
    scores = [word["score"] for word in found["words"]]
    assert scores == sorted(scores, reverse=True) and scores[-1] > 0
    female = {"woman", "women", "female", "girl", "she", "her", "mother", "daughter", "wife",
              "sister", "aunt", "grandmother", "hers"}  # fmt: skip
    text = {word["text"].casefold() for word in found["words"]}
    assert text & female and not text & {"man", "male", "he", "father", "husband"}


def test_all_pictures_have_no_rest_to_be_told_from(client: Client) -> None:
    found = client.post("/api/suggest", ids=list(range(10)))
    assert found["words"] == [] and found["rest"] == 0
    assert {row["count"] for row in found["prompts"]} == {5}


def test_two_hundred_pictures(tmp_path: Path) -> None:
    folder = pictures(
        tmp_path / "many", {"a rose": ["a rose"] * 100, "a spider": ["a spider"] * 100}
    )
    with explore(opened(folder), tmp_path / "session.json") as client:
        found = client.post("/api/rank", text="a spider")
        assert len(found["ids"]) == 200
        first = {client.collection.pictures[number].prompt for number in found["ids"][:100]}
        assert first == {"a spider"}
        assert client.get("/api/map")["n"] == 200
        assert client.post("/api/suggest", ids=found["ids"][:50])["rest"] == 150
