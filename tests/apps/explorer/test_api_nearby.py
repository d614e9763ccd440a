"""Ranks, the map and what a selection shares."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from t2ibench.apps.explorer.nearby import fit_axes
from tests.apps.explorer.api import Client, explore, opened, pictures, with_empty_run

CAPTIONS = {"a woman": ["a woman"] * 5, "a man": ["a man"] * 5}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = pictures(tmp_path_factory.mktemp("ten"), CAPTIONS)
    with explore(with_empty_run(opened(folder)), folder / "session.json") as found:
        yield found


def decoded(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), kind)


def test_more_like_this_leaves_the_picture_itself_out(client: Client) -> None:
    found = client.post("/api/rank", image=0)
    assert len(found["ids"]) == 9 and 0 not in found["ids"]
    rows = client.collection.gallery.rows
    expected = (rows[found["ids"]] @ rows[0] + 1) / 2
    assert found["values"] == pytest.approx(expected.tolist(), abs=1e-4)
    assert found["values"] == sorted(found["values"], reverse=True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/rank", {}),
        ("/api/rank", {"image": 10}),
        ("/api/rank", {"image": -1}),
        ("/api/rank", {"image": 10**30}),
        ("/api/rank", {"image": 1, "run": 2}),
        ("/api/rank", {"image": 1, "more": 1}),
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
    body = '{"image": ' + "[" * 100_000
    headers = {"Origin": "http://127.0.0.1:1234", "Content-Type": "application/json"}
    reply = client.http.post("/api/rank", content=body, headers=headers)
    assert reply.status_code == 400 and reply.json()["error"]


def test_the_map_has_every_picture_on_two_axes(client: Client) -> None:
    found = client.get("/api/map?run=0")
    ids, x, y = decoded(found["ids"], "<i4"), decoded(found["x"], "<f4"), decoded(found["y"], "<f4")
    assert ids.tolist() == list(range(10)) and len(x) == len(y) == 10
    rows = client.collection.gallery.rows.astype(np.float64)
    centred = rows - rows.mean(axis=0)
    sizes = np.linalg.svd(centred, compute_uv=False)
    assert found["explained"] == pytest.approx((sizes**2 / (sizes**2).sum())[:2].tolist(), abs=1e-3)
    assert np.linalg.norm(x) == pytest.approx(sizes[0], rel=1e-3)
    women = np.array([one.prompt == "a woman" for one in client.collection.gallery.pictures])
    assert (x[women] > 0).all() != (x[~women] > 0).all()
    assert client.get("/api/map?run=0") == found


def test_the_map_of_an_empty_run(client: Client) -> None:
    found = client.get("/api/map?run=1")
    assert (found["x"], found["explained"]) == ("", [0.0, 0.0])
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


def test_a_selection_is_told_by_what_it_shows(client: Client) -> None:
    women = [
        k for k, one in enumerate(client.collection.gallery.pictures) if one.prompt == "a woman"
    ]
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
