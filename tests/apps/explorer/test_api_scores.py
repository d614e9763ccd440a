"""From any score of a run to its pictures and back; cards; two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from t2ibench import evaluate
from t2ibench.apps.explorer import card
from t2ibench.apps.explorer.card import CAVEAT
from t2ibench.results.samples import read_samples
from t2ibench.store.images import image_seed
from tests.apps.explorer.api import HEADERS, Client, explore, opened, pictures
from tests.conftest import SHARED_TASKS

# Its runs take seconds.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_words")]

WOMAN, MAN = "picture that shows a woman", "picture that shows a man"
WORDS_ALONE = "weat_6_gender_career_family"  # of SHARED_TASKS
# As many images as the shared run has.
QUICK: dict[str, Any] = {
    "n_permutations": 200,
    "n_bootstrap": 100,
    "images_per_prompt": 3,
    "guided_images_per_prompt": 2,
    "control_encoder": "none",
}


@pytest.fixture(scope="module")
def runs(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The shared run, and one of a model that draws nurses as men."""
    folder = tmp_path_factory.mktemp("second")
    args = {"nurse.gender.female": 0.0, "science.gender.female": 1.0}
    tasks = ["vibex_gender", "t2iat_science_arts"]
    evaluate("toyland", tasks, model_args=args, output_dir=folder, **QUICK)
    (second,) = folder.iterdir()
    return run, second


@pytest.fixture(scope="module")
def client(
    runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    folder = pictures(tmp_path_factory.mktemp("folder"), {WOMAN: ["a woman"] * 3})
    with explore(opened(*runs, folder, encoder=None), folder / "session.json") as found:
        yield found


@pytest.fixture(scope="module")
def stored(runs: tuple[Path, Path]) -> Any:
    return json.loads((runs[0] / "results.json").read_text(encoding="utf-8"))["tasks"]


def test_the_api_lists_every_task_as_the_report_shows_it(
    client: Client, stored: Any
) -> None:
    found = client.get("/api/scores?run=0")
    tasks = {task["id"]: task for task in found["tasks"]}
    assert set(tasks) == set(SHARED_TASKS) and found["reason"] == ""
    assert [name for name, task in tasks.items() if task["text_only"]] == [WORDS_ALONE]
    science, headline = (
        tasks["t2iat_science_arts"],
        stored["t2iat_science_arts"]["headline"],
    )
    for name, key in (("value", "value"), ("low", "ci_low"), ("high", "ci_high")):
        assert science[name] == headline[key]
    assert (science["end"], science["unit"], science["ends"]) == (1.0, "", "")
    assert (
        science["poles"] == ["arts as men", "science as men"]
        and science["family"] == "T2IAT"
    )
    assert (
        science["state"] in {"clear", "not_clear", "cannot_tell"}
        and science["sentence"]
    )
    names = [source["name"] for source in client.get("/api/images")["sources"]]
    assert names[:2] == ["toyland", "toyland (2)"]


def test_a_score_leads_to_its_pictures(client: Client, runs: tuple[Path, Path]) -> None:
    found = client.get("/api/scores/t2iat_science_arts")
    samples = read_samples(runs[0], "t2iat_science_arts")
    leans = {
        (one["prompt"], one["index"]): one
        for one in samples
        if one.get("lean") is not None
    }
    assert len(found["ids"]) == len(leans) > 0
    for number, value, label in zip(
        found["ids"], found["values"], found["labels"], strict=True
    ):
        picture = client.collection.gallery.pictures[number]
        sample = leans[picture.prompt, picture.index]
        assert (value, label) == (sample["lean"], sample["stimulus"])
        assert picture.sha256 == sample["sha256"]
    assert (
        found["poles"] == ["female", "male"]
        and found["rows"] == []
        and found["row"] is None
    )


def test_answers_and_queries_have_rows(client: Client) -> None:
    found = client.get("/api/scores/openbias_examples")
    assert found["row"] == found["rows"][0] and set(map(type, found["values"])) == {str}
    other = client.get(f"/api/scores/openbias_examples?row={found['rows'][-1]}")
    assert other["row"] == found["rows"][-1] != found["row"]
    queries = client.get("/api/scores/vibex_gender?row=boss")
    assert len(queries["ids"]) == 6 and set(queries["labels"]) == {"women", "men"}
    assert all(0 <= value <= 1 for value in queries["values"])


def test_a_word_lists_every_test_that_uses_the_word(
    client: Client, stored: Any
) -> None:
    (row,) = client.get("/api/tested?run=0&words=Geology")["rows"]
    by = stored["t2iat_science_arts"]["by"]
    scores = next(one["scores"] for one in by if one["name"] == "geology")
    assert (row["task"], row["item"]) == ("t2iat_science_arts", "geology")
    assert row["value"] == scores["lean"]["value"] and row["poles"] == [
        "female",
        "male",
    ]
    images = client.get(f"/api/scores/{row['task']}?run=0")
    assert row["item"] in images["labels"] and row["row"] is None
    # whole words, and not their letters
    for words in ("", "geo", "no such word", "%20%20"):
        assert client.get(f"/api/tested?run=0&words={words}") == {"rows": []}
    assert client.get("/api/tested?run=2&words=geology") == {"rows": []}  # a folder


def test_an_images_details_have_its_seed_rewriting_and_hash(client: Client) -> None:
    told = client.get("/api/image/7")
    picture = client.collection.gallery.pictures[7]
    run = client.collection.sources[0].run
    assert run is not None
    seed = image_seed(run.record.measurement.seed, picture.prompt, picture.index)
    assert told == {"seed": seed, "rewritten": None, "sha256": picture.sha256}


def test_folders_have_no_scores(client: Client) -> None:
    found = client.get("/api/scores?run=2")
    assert found["tasks"] == [] and "folder" in found["reason"]
    last = len(client.collection.gallery.pictures) - 1
    assert client.get(f"/api/image/{last}")["seed"] is None


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("scores/unheard", 404), ("image/99999", 404), ("scores/..%2Frun", 404)),
        *(
            ("scores/vibex_gender?run=2", 404),
            ("scores?run=3", 400),
            ("scores?run=-1", 400),
        ),
        ("scores/vibex_gender?row=unheard", 400),
    ],
)
def test_unknown_scores_and_images_get_an_error_status(
    path: str, status: int, client: Client
) -> None:
    assert client.http.get(f"/api/{path}").status_code == status


def test_pairs_are_of_the_same_prompt_and_seed(client: Client) -> None:
    body: Any = {
        "runs": [0, 1],
        "prompts": ["a person studying science"],
        "anchors": [WOMAN, MAN],
    }
    found = client.post("/api/pairs", **body)
    assert found["same_seeds"] is True
    assert found["basis"].startswith("Same prompts, same seeds. ")
    assert [pair["index"] for pair in found["pairs"]] == list(range(3))
    for pair in found["pairs"]:
        first, second = (
            client.collection.gallery.pictures[number] for number in pair["ids"]
        )
        assert (second.source, second.prompt, second.index) == (
            1,
            first.prompt,
            first.index,
        )
    assert sum(b - a for a, b in (pair["values"] for pair in found["pairs"])) > 0


def test_pairs_without_a_question_and_without_pictures(client: Client) -> None:
    found = client.post("/api/pairs", runs=[0, 1], prompts=[WOMAN])
    assert len(found["pairs"]) == 3
    assert {pair["values"] for pair in found["pairs"]} == {None}
    none = client.post(
        "/api/pairs", runs=[0, 1], prompts=["unheard"], anchors=[WOMAN, MAN]
    )
    assert none["pairs"] == []
    folder = client.post("/api/pairs", runs=[0, 2], prompts=[WOMAN])
    assert folder["same_seeds"] is None and len(folder["pairs"]) == 3
    assert "seeds not known (a folder without records: folder" in folder["basis"]


def test_other_seeds_are_no_pairs(runs: tuple[Path, Path], tmp_path: Path) -> None:
    evaluate("toyland", "vibex_gender", seed=7, limit=1, output_dir=tmp_path, **QUICK)
    (other,) = tmp_path.iterdir()
    collection = opened(runs[0], other, encoder=None)
    with explore(collection, tmp_path / "session.json") as client:
        found = client.post("/api/pairs", runs=[0, 1])
    assert found["same_seeds"] is False and found["pairs"] == []
    assert found["basis"].startswith("Same prompts, other seeds")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("pairs", {"runs": [0]}),
        ("pairs", {"runs": [0, 9]}),
        ("pairs", {"runs": [0, 1], "anchors": [WOMAN]}),
        ("pairs", {"runs": [0, 1], "anchors": [WOMAN, WOMAN]}),
        ("pairs", {"runs": [0, 1], "anchors": [WOMAN, "nobody"]}),
        ("pairs", {"runs": [0, 1], "prompts": "a nurse"}),
        ("card", {}),
        ("card", {"text": "a nurse"}),
        ("card", {"text": "a nurse", "anchors": [WOMAN]}),
        ("card", {"text": "a nurse", "anchors": [WOMAN, "nobody"]}),
        ("card", {"text": "a nurse", "anchors": [WOMAN, WOMAN]}),
        ("card", {"text": "a nurse", "anchors": [WOMAN, MAN], "run": 9}),
        ("card", {"text": "a" * 2001, "anchors": [WOMAN, MAN]}),
    ],
)
def test_wrong_questions_are_one_line(path: str, body: Any, client: Client) -> None:
    client.post(f"/api/{path}", 400, **body)


SVG = "{http://www.w3.org/2000/svg}"


def drawn(client: Client, **body: Any) -> tuple[str, list[str], int]:
    """A card: its file, its lines of text, and how many images it holds."""
    reply = client.http.post("/api/card", json=body, headers=HEADERS)
    assert reply.status_code == 200, reply.text
    root = ElementTree.fromstring(reply.text)
    assert (root.get("width"), root.get("height")) == ("1000", "600")
    sources = [str(image.get("href")) for image in root.iter(f"{SVG}image")]
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    return (
        reply.text,
        [str(line.text or "") for line in root.iter(f"{SVG}text")],
        len(sources),
    )


def test_a_card_of_a_text_has_the_page_s_number(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card, "_SHOWN", 4)
    text = "picture that shows a nurse"
    body = {"text": text, "anchors": [WOMAN, MAN], "names": ["women", "men"]}
    drawing, lines, images = drawn(client, **body)
    state = client.get("/api/session")["state"]
    node = {"id": "new", "label": "nurse", "parent": "root", "relation": "that shows a"}
    state["tree"]["nodes"].append(node)
    asked = {"tree": state["tree"], "anchors": [WOMAN, MAN], "names": ["women", "men"]}
    nodes = client.post("/api/evaluate", **asked)["nodes"]
    (score,) = (one["scores"][0] for one in nodes if one["id"] == "new")
    digits = next(line for line in lines if line.startswith(("+", "−")) and "." in line)
    assert abs(float(digits.replace("−", "-")) - score["beyond_words"]) < 0.01
    # Of six: the half that is most like it, the other half, and a few at random.
    assert images == 3 + 3 + 4 and "3, 3 images" in " ".join(lines)
    assert f"most like “{text}”" in lines and "◂ men" in lines and "women ▸" in lines
    assert CAVEAT in lines and any(line.startswith("95 % interval") for line in lines)
    run = client.collection.sources[0].run
    assert run is not None and run.record.generator is not None
    fingerprint = run.record.generator.fingerprint[:16]
    assert any(fingerprint in line and "encoder toyland" in line for line in lines)
    assert "http" not in drawing.replace("http://www.w3.org/2000/svg", "")


def test_untrusted_text_stays_text(client: Client) -> None:
    evil = '<script>alert(1)</script>&"\x00\x1b\u202e'
    body = {"text": evil, "anchors": [WOMAN, MAN], "names": [evil, "men"]}
    text, lines, _ = drawn(client, **body)
    assert "<script" not in text and any("<script>" in line for line in lines)
