"""Saving as one works, anchors without pictures, and further pictures of a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apps.explorer.api import HEADERS, Client, opened

NEW = "picture that shows a chemist"


def indices(client: Client, text: str) -> list[int]:
    return sorted(one.index for one in client.collection.gallery.pictures if one.prompt == text)


def saved(client: Client, colour: str, query: str = "") -> Any:
    session = client.get("/api/session")
    session.pop("saved")
    session["state"]["anchors"][0]["colour"] = colour
    reply = client.http.post(f"/api/session{query}", json=session, headers=HEADERS)
    assert reply.status_code == 200, reply.text
    return reply.json()["saved"]


def colour(client: Client) -> str:
    return str(client.get("/api/session")["state"]["anchors"][0]["colour"])


def test_a_save_that_arrives_late_is_ignored(client: Client) -> None:
    assert client.get("/api/session")["saved"] is False
    assert saved(client, "#000001", "?page=a&turn=1") and client.get("/api/session")["saved"]
    assert saved(client, "#000003", "?page=a&turn=3")
    assert not saved(client, "#000002", "?page=a&turn=2")
    assert colour(client) == "#000003"
    assert saved(client, "#000009", "?page=b&turn=1")  # another page begins anew
    assert saved(client, "#00000a") and colour(client) == "#00000a"


@pytest.mark.parametrize("turn", ["-1", "x", "1.5", "9" * 16, "²"])
def test_a_wrong_turn_is_one_line(client: Client, turn: str) -> None:
    client.post(f"/api/session?turn={turn}", 400)


def test_a_session_that_does_not_fit_keeps_the_old_one(client: Client) -> None:
    assert saved(client, "#000001", "?page=a&turn=1")
    client.post("/api/session?page=a&turn=2", 400, version=1)
    assert saved(client, "#000002", "?page=a&turn=2") and colour(client) == "#000002"


def test_further_pictures_are_further_ones(client: Client) -> None:
    job = client.draw(NEW, 5)
    assert (job["first"], job["done"]) == (0, 5) and indices(client, NEW) == list(range(5))
    job = client.draw(NEW, 5)
    assert (job["first"], job["done"]) == (5, 5) and indices(client, NEW) == list(range(10))
    # They are in the run, whoever opens it.
    run = client.collection.sources[0].run
    assert run is not None
    again = opened(run.path, encoder=None)
    assert sum(one.prompt == NEW for one in again.gallery.pictures) == 10
    # Those of the run itself are continued.
    anchor = client.get("/api/session")["state"]["anchors"][0]["prompt"]
    before = indices(client, anchor)
    assert before == list(range(3))
    job = client.draw(anchor, 2)
    assert job["first"] == 3 and indices(client, anchor) == list(range(5))


def test_an_anchor_may_be_a_prompt_that_the_run_does_not_have_yet(client: Client) -> None:
    new = "picture that shows a dentist"
    session = client.get("/api/session")
    session.pop("saved")
    first = session["state"]["anchors"][0]["prompt"]
    session["state"]["anchors"][1].update(name="dentists", prompt=new)
    assert client.http.post("/api/session", json=session, headers=HEADERS).status_code == 200
    tree = session["state"]["tree"]
    tree["nodes"].append({"id": "x", "label": "nurse", "parent": "root", "relation": "of a"})
    body = {"tree": tree, "anchors": [first, new]}
    assert client.post("/api/evaluate", **body)["nodes"][-1]["scores"] == [None]
    client.draw(new, 3)
    assert client.post("/api/evaluate", **body)["nodes"][-1]["scores"][0]["n"][1] == 3


def test_new_pictures_are_found_at_once(client: Client) -> None:
    text = "picture that shows a violinist"
    before = len(client.post("/api/rank", image=0)["ids"])
    client.draw(text, 2)
    assert len(client.post("/api/rank", image=0)["ids"]) == before + 2
    (number, *_) = client.collection.gallery.of_run(0, [text]).tolist()
    told = client.get(f"/api/image/{number}/scores")
    assert told["prompt"] == text and told["tasks"] == [] and told["seed"] is not None
