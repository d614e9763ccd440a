"""The wall: every image of a run, what was answered about it, and the way from a number to it."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
from starlette.testclient import TestClient

from t2ibench import evaluate
from t2ibench.apps.explorer.album import open_album
from t2ibench.apps.explorer.app import Explorer, create_app
from t2ibench.apps.explorer.collection import evidence_of
from t2ibench.apps.explorer.preparation import Preparation
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.wall import (
    OTHER,
    _most_frequent,
    common_question,
    free_topics,
    topics_of,
)
from t2ibench.apps.explorer.wrong_answers import WrongAnswers
from t2ibench.models.encoders import DEFAULT_ENCODER, create_encoder
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.samples import read_samples
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import Label, LabelStore
from tests.apps.explorer.api import HEADERS, HOME, pictures
from tests.conftest import Cli, copied

# The shared run takes seconds.
pytestmark = pytest.mark.slow

WOMAN = "picture that shows a woman"


class Wall:
    """Requests to an explorer whose images need not be embedded."""

    def __init__(self, client: TestClient, preparation: Preparation) -> None:
        self.http = client
        self.preparation = preparation

    def get(self, path: str, status: int = 200) -> Any:
        """The JSON of a reply."""
        reply = self.http.get(path)
        assert reply.status_code == status, reply.text
        return reply.json()

    def post(self, status: int = 200, **body: Any) -> Any:
        """The JSON of a reply about a wrong answer."""
        reply = self.http.post("/api/wall/wrong", json=body, headers=HEADERS)
        assert reply.status_code == status, reply.text
        return reply.json()


def opened(*paths: Path) -> Wall:
    """A wall without an encoder."""
    album = open_album(paths, SilentReporter())
    preparation = Preparation(album)
    preparation.refuse("No encoder is here.")
    explorer = Explorer(album, preparation, paths[0] / "session.json")
    return Wall(TestClient(create_app(explorer, 1234), base_url=HOME), preparation)


@pytest.fixture
def run(shared_run: Path, tmp_path: Path) -> Path:
    return copied(shared_run, tmp_path)


@pytest.fixture
def wall(run: Path) -> Iterator[Wall]:
    yield opened(run)


def test_the_wall_has_every_image_with_its_status(run: Path) -> None:
    (fingerprint,) = {
        row[0]
        for row in Database(run).read(
            "SELECT fingerprint FROM models WHERE role = 'generator'"
        )
    }
    store = ImageStore(Database(run), fingerprint)
    attempts = store.attempts()
    store.path(attempts[0]).unlink()
    found = opened(run).get("/api/wall")
    statuses = Counter(found["statuses"][status] for _, _, status in found["images"])
    assert statuses == {"no file": 1, "ok": len(attempts) - 1}
    prompt, index, _ = found["images"][5]
    assert (found["prompts"][prompt], index) == (attempts[5].prompt, attempts[5].index)


def test_a_wall_needs_no_encoder_and_words_say_why_there_are_none(wall: Wall) -> None:
    state = wall.get("/api/state")
    assert (state["stage"], state["words"]) == ("none", "No encoder is here.")
    assert wall.http.get("/").status_code == wall.http.get("/words").status_code == 200
    assert wall.get("/api/images", 400) == {"error": "No encoder is here."}
    assert wall.get("/image/0", 400) == {"error": "No encoder is here."}
    for kind in ("image", "thumb"):
        reply = wall.http.get(f"/wall/0/{kind}/0")
        assert reply.headers["content-type"].startswith("image/")
    for path in ("/wall/0/image/99999999", "/wall/1/image/0", "/wall/0/thumb/../0"):
        assert wall.http.get(path).status_code in {400, 404}


def test_answers_of_judges_and_people_and_whether_they_agree(
    run: Path, wall: Wall
) -> None:
    questions = wall.get("/api/wall/questions")
    assert questions["reason"] == "" and questions["repeated"] == []
    number = next(
        place
        for place, topic in enumerate(questions["topics"])
        if {"male", "female"} <= set(topic["options"])
    )
    options = questions["topics"][number]["options"]
    answers = wall.get(f"/api/wall/answers/{number}")
    assert set(answers["people"]) == {-1} and set(answers["agree"]) == {-1}
    judged = [place for place, answer in enumerate(answers["judge"]) if answer >= 0]
    about = [
        (place, asked)
        for place in judged[:2]
        for asked in wall.get(f"/api/wall/image/{place}")["questions"]
        if len(asked["classes"]) == questions["topics"][number]["classes"]
    ]
    same, other = about
    labels = []
    for (place, asked), answer in (
        (same, asked_answer(same[1])),
        (other, "not in the picture"),
    ):
        image = wall.get(f"/api/wall/image/{place}")["sha256"]
        labels.append(
            Label(asked["question"], tuple(asked["classes"]), image, "anna", answer)
        )
    LabelStore(Database(run)).add(labels)
    answers = opened(run).get(f"/api/wall/answers/{number}")
    assert [answers["agree"][place] for place, _ in about] == [1, 0]
    assert options[answers["people"][other[0]]] == "not in the picture"
    assert answers["people"].count(-1) == len(answers["people"]) - 2


def asked_answer(asked: Any) -> str:
    """The answer of a question's only judge."""
    (answer,) = asked["judges"].values()
    return str(answer)


def test_every_number_of_a_test_leads_to_all_of_its_images(
    run: Path, wall: Wall
) -> None:
    lengths = Counter[str]()
    for task in wall.get("/api/wall/tests")["tasks"]:
        if task["text_only"]:
            continue
        samples = read_samples(run, task["id"])
        images = {(sample["prompt"], sample["index"]) for sample in samples}
        whole = wall.get(f"/api/wall/tests/{task['id']}")
        assert len(whole["ids"]) == len(set(whole["ids"])) == len(images)
        rows = wall.get(f"/api/wall/rows/{task['id']}")["rows"]
        for row in rows if task["id"] != "vibex_gender" else []:
            assert row["images"], (task["id"], row["item"])
            asked = {"row": row["item"], "group": row["group"] or ""}
            found = wall.http.get(f"/api/wall/tests/{task['id']}", params=asked).json()
            assert found["ids"] and set(found["ids"]) <= set(whole["ids"])
            assert len(found["ids"]) == len(set(found["ids"]))
            lengths[task["id"]] += 1
    assert len(lengths) >= 4
    assert wall.get("/api/wall/tests/nothing", 404)
    assert wall.get("/api/wall/rows/nothing", 404)


def question_about(wall: Wall) -> tuple[int, Any]:
    """An image's number and the first question about it."""
    for number in range(2000):
        asked = wall.get(f"/api/wall/image/{number}")["questions"]
        if asked:
            return number, asked[0]
    raise AssertionError("no image is asked about")


def test_a_wrong_answer_is_kept_beside_the_run_and_can_be_imported(
    run: Path, wall: Wall, cli: Cli
) -> None:
    number, asked = question_about(wall)
    body = {
        "image": number,
        "question": asked["question"],
        "classes": asked["classes"],
        "labeller": "anna",
    }
    for answer in (asked["classes"][0], asked["classes"][1]):  # the later one counts
        stored = wall.post(answer=answer, **body)
    assert stored["count"] == 1
    assert wall.post(answer="unknown", **{**body, "labeller": "=ben"})["count"] == 2
    first = asked["classes"][1]
    for name, mark, others in (
        ("anna", first, {"=ben": "unknown"}),
        ("=ben", "unknown", {"anna": first}),
        ("cem", None, {"anna": first, "=ben": "unknown"}),
    ):
        found = wall.http.get(f"/api/wall/image/{number}", params={"labeller": name})
        question = found.json()["questions"][0]
        assert (question["marked"], question["others"]) == (mark, others)
    # No random sample: it corrects nothing by itself.
    assert len(LabelStore(Database(run))) == 0
    sheet = pandas.read_csv(stored["file"], dtype=str)
    assert list(sheet.labeller) == ["anna", "'=ben"]
    status, out, error = cli(*stored["command"].split()[1:])
    assert status == 0, error
    assert "2 answers of" in out
    labels = {label.labeller: label.answer for label in LabelStore(Database(run)).all()}
    assert labels["anna"] == asked["classes"][1] and "unknown" in labels.values()
    assert wall.post(answer=None, **body)["count"] == 1
    (left,) = WrongAnswers(run).all()
    assert left.labeller == "=ben" and left.question == asked["question"]


def in_excel(text: str) -> bytes:
    """The file as a spreadsheet of a country with decimal commas saves it."""
    return ("\ufeff" + text.replace(",", ";")).encode()


@pytest.mark.parametrize(
    "save",
    [
        in_excel,
        lambda text: text.replace("anna", "anné").encode("cp1252"),
        lambda text: (text.rstrip() + "\r\nq1,short row\r\n").encode(),
        lambda text: text.replace("labeller", "labeller,note").encode(),
    ],
)
def test_notes_that_another_program_saved_are_not_lost(
    save: Callable[[str], bytes], run: Path, wall: Wall
) -> None:
    number, asked = question_about(wall)
    body = {key: asked[key] for key in ("question", "classes")}
    body |= {"image": number, "labeller": "anna", "answer": asked["classes"][0]}
    wall.post(**body)
    path = WrongAnswers(run).path
    path.write_bytes(path.read_bytes().replace(b"id,", b"\xef\xbb\xbfid,", 1))
    # A byte order mark does no harm.
    assert wall.post(**{**body, "labeller": "ben"})["count"] == 2
    path.write_bytes(save(path.read_text()))
    before = path.read_bytes()
    assert "changed the form" in wall.post(400, **body)["error"]
    assert path.read_bytes() == before
    found = wall.get(f"/api/wall/image/{number}")
    assert "label import" in found["problem"] and found["questions"]


def test_an_image_is_asked_for_again_and_sent_only_where_it_is_another(
    wall: Wall,
) -> None:
    for kind in ("image", "thumb"):
        reply = wall.http.get(f"/wall/0/{kind}/0")
        assert reply.headers["cache-control"] == "private, no-cache"
        same = {"If-None-Match": reply.headers["etag"]}
        again = wall.http.get(f"/wall/0/{kind}/0", headers=same)
        assert (again.status_code, again.content) == (304, b"")
        other = wall.http.get(f"/wall/0/{kind}/1", headers=same)
        assert other.status_code == 200 and other.content


def test_answers_in_own_words_are_a_facet(run: Path, wall: Wall) -> None:
    """TIBET asks without classes: the answers that were given are the options."""
    topics = wall.get("/api/wall/questions")["topics"]
    free = [place for place, topic in enumerate(topics) if not topic["classes"]]
    assert free and free[0] == len(topics) - len(free)
    assert all(topics[place]["title"].endswith("(own words)") for place in free)
    answers = wall.get(f"/api/wall/answers/{free[0]}")
    given = Counter(
        answers["options"][place] for place in answers["judge"] if place >= 0
    )
    assert given and set(given) == set(answers["options"])
    assert given[answers["options"][0]] == max(given.values())
    number = next(place for place, given in enumerate(answers["judge"]) if given >= 0)
    listed = wall.get(f"/api/wall/image/{number}?run=0&labeller=anna")["questions"]
    own_words = [asked for asked in listed if not asked["classes"]]
    title = topics[free[0]]["title"].removesuffix(" (own words)")
    asked = next(asked for asked in own_words if asked["question"] == title)
    answer = answers["options"][answers["judge"][number]]
    assert list(asked["judges"].values()) == [answer] and asked["marked"] is None
    # No class says what would be right, so none can be noted.
    body = {"run": 0, "image": number, "question": title, "classes": []}
    wall.post(400, **body, answer="a hat", labeller="anna")


def test_rare_answers_in_own_words_are_one_option() -> None:
    answers = [f"answer {number:03}" for number in range(80)] + ["a hat", "a hat", None]
    options = _most_frequent(answers)
    assert options[0] == "a hat" and options[-1] == OTHER and len(options) == 61
    assert _most_frequent(["a", None, "b", "b"]) == ["b", "a"]
    topics = list(
        free_topics({"a nurse": ["What?"], "a chef": ["What?", "Who?"]}, {"a chef": 2})
    )
    assert [topic.title for topic in topics] == [
        "What? (own words)",
        "Who? (own words)",
    ]
    assert topics[0].by_prompt == {"a nurse": "What?", "a chef": "What?"}


def test_two_questions_with_the_same_classes_are_two_topics() -> None:
    yes = ("yes", "no")
    asked = {
        f"a {name} and a cat": [
            (f"Is a {name} old?", yes),
            (f"Is the {name}'s cat?", yes),
        ]
        for name in ("nurse", "chef")
    }
    topics = list(topics_of(asked, dict.fromkeys(asked, 3)))
    assert [topic.title for topic in topics] == ["Is a …?", "Is the …?"]
    for place, topic in enumerate(topics):
        assert topic.by_prompt == {
            prompt: questions[place][0] for prompt, questions in asked.items()
        }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "<b>purple</b>"}, "no answer to this question"),
        ({"question": "Is it raining?"}, "asks no such question"),
        ({"classes": ["a", "b"]}, "asks no such question"),
        ({"image": 99_999_999}, "asks no such question"),
        ({"labeller": "an\nna"}, "no name of 1 to 80"),
        ({"run": 3}, "There is no run 3"),
        ({"file": "/etc/passwd"}, "file"),
    ],
)
def test_what_no_page_sends_stores_nothing(
    change: dict[str, Any], message: str, run: Path, wall: Wall
) -> None:
    number, asked = question_about(wall)
    body = {
        "image": number,
        "question": asked["question"],
        "classes": asked["classes"],
        "answer": asked["classes"][0],
        "labeller": "anna",
    }
    assert message in wall.post(400, **{**body, **change})["error"]
    for headers in ({}, {**HEADERS, "Origin": "http://evil.example"}):
        reply = wall.http.post("/api/wall/wrong", json=body, headers=headers)
        assert reply.status_code == 403
    reply = wall.http.get("/api/wall", headers={"Host": "evil.example"})
    assert reply.status_code == 403
    assert not WrongAnswers(run).path.exists()


def test_images_are_embedded_while_the_wall_is_open(tmp_path: Path) -> None:
    pictures(tmp_path / "images", {name: [name] * 3 for name in ("a man", "a woman")})
    album = open_album([tmp_path / "images"], SilentReporter())
    preparation = Preparation(album, ["a man", "a woman"])
    go_on = threading.Event()

    def encoder() -> Any:
        go_on.wait(60)
        return create_encoder("toyland")

    preparation.begin(encoder, SilentReporter())
    explorer = Explorer(album, preparation, tmp_path / "session.json")
    found = Wall(TestClient(create_app(explorer, 1234), base_url=HOME), preparation)
    assert found.get("/api/state")["stage"] == "working"
    assert len(found.get("/api/wall")["images"]) == 6
    assert found.get("/api/wall/tests")["reason"] == "A folder of images has no scores."
    assert "Loading the encoder" in found.get("/api/images", 400)["error"]
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "embedding":
            thread.join(60)
    assert found.get("/api/state")["stage"] == "ready"
    assert len(found.get("/api/images")["images"]) == 6


def test_embedding_ends_with_the_server_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.pipeline.embedding.PART", 2)
    pictures(tmp_path / "images", {"a man": ["a man"] * 6})
    album = open_album([tmp_path / "images"], SilentReporter())
    preparation = Preparation(album)
    encoder = create_encoder("toyland")
    encode = encoder.encode_images
    begun = threading.Event()
    go_on = threading.Event()

    def slow(prepared: Any) -> Any:
        begun.set()
        go_on.wait(60)
        return encode(prepared)

    monkeypatch.setattr(encoder, "encode_images", slow)
    reporter = SilentReporter()
    preparation.begin(lambda: encoder, reporter)
    assert begun.wait(60)
    threading.Timer(0.2, go_on.set).start()
    preparation.end()
    assert not any(thread.name == "embedding" for thread in threading.enumerate())
    assert preparation.stage == "working" and not reporter.warnings
    store = evidence_of(album.sources[0], encoder)
    assert 0 < len(list(store.keys("images"))) < 6


def test_an_encoder_that_fails_leaves_the_wall_open(tmp_path: Path) -> None:
    pictures(tmp_path / "images", {"a man": ["a man"] * 2})
    album = open_album([tmp_path / "images"], SilentReporter())
    preparation = Preparation(album)
    reporter = SilentReporter()

    def encoder() -> Any:
        raise RuntimeError("no memory")

    preparation.begin(encoder, reporter)
    for thread in threading.enumerate():
        if thread.name == "embedding":
            thread.join(60)
    state = preparation.state()
    assert (state["stage"], state["words"]) == ("failed", "RuntimeError: no memory")
    assert "no memory" in reporter.warnings[0]


def test_the_command_opens_without_an_encoder(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures(tmp_path, {"a man": ["a man"] * 2})
    where = "t2ibench.apps.explorer.collection"
    monkeypatch.setattr(f"{where}.is_downloaded", lambda *_: False)
    monkeypatch.setattr(f"{where}.create_encoder", None)  # nothing is loaded
    monkeypatch.setattr("t2ibench.local_server.serve", lambda *_: None)
    status, out, said = cli("explore", tmp_path)
    assert status == 0 and out.startswith("Exploring at http://127.0.0.1:")
    assert f"--encoder {DEFAULT_ENCODER}" in said and "--encoder toy-clip" in said


def test_questions_are_named_by_what_they_have_in_common() -> None:
    assert common_question({"Is it a man?"}) == "Is it a man?"
    assert common_question({"Is a nurse old?", "Is a chef old?"}) == "Is a …?"


@pytest.fixture(scope="module")
def edited_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that edits 16 source images, and ages half of the women."""
    runs = tmp_path_factory.mktemp("edited")
    evaluate(
        "toyland",
        "edits_people",
        model_args={"edits.ages.female": 0.5},
        output_dir=runs,
        images_per_prompt=1,
    )
    (results,) = runs.glob("*/results.json")
    return results.parent


@pytest.fixture(scope="module")
def edited(edited_run: Path) -> Wall:
    return opened(edited_run)


def test_every_number_about_edits_leads_to_its_images(edited: Wall) -> None:
    whole = edited.get("/api/wall/tests/edits_people")
    assert len(whole["ids"]) == len(set(whole["ids"])) == 128
    assert whole["labels"].count("adult → old") > 4
    rows = edited.get("/api/wall/rows/edits_people")["rows"]
    of_edits = [row for row in rows if row["group"] != "outcome"]
    assert len(of_edits) == 3 * 4 and all(row["images"] for row in of_edits)
    for about, classes in (
        ("person age", {"child", "adult", "old"}),
        ("person gender", {"female", "male"}),
    ):
        asked = {"row": "in a suit", "group": about}
        reply = edited.http.get("/api/wall/tests/edits_people", params=asked)
        row = reply.json()
        assert len(row["ids"]) == 16 and set(row["ids"]) < set(whole["ids"])
        answers = {answer for label in row["labels"] for answer in label.split(" → ")}
        assert answers <= classes
    # What became of an edit is counted, and stored for no single image.
    assert not any(row["images"] for row in rows if row["group"] == "outcome")


def test_the_map_of_edits_has_rows_with_images_alone(edited_run: Path) -> None:
    scores = Scores(open_album([edited_run], SilentReporter()))
    reply = scores.of_images(0, "edits_people", "")
    assert reply is not None
    assert set(reply["rows"]) == {
        "as a doctor",
        "in a suit",
        "looking professional",
        "on a beach",
    }
    assert reply["row"] == reply["rows"][0] and len(reply["ids"]) == 16


def test_an_edit_has_its_source_image_beside_it(edited: Wall) -> None:
    wall = edited
    images = wall.get("/api/wall?run=0")["images"]
    # 16 source images, edited by six instructions, saved again and resized
    assert len(images) == 128
    sources = set()
    for number in (0, 17, 127):
        described = wall.get(f"/api/wall/image/{number}?run=0&labeller=")
        assert described["source"].startswith("A photo of a ")
        assert len(described["questions"]) >= 3
        picture = wall.http.get(f"/wall/0/source/{number}")
        assert picture.status_code == 200
        assert picture.headers["content-type"] == "image/png"
        sources.add(hashlib.sha256(picture.content).hexdigest())
        assert described["sha256"] not in sources
    assert wall.http.get("/wall/0/source/128").status_code == 404


def test_an_image_of_a_prompt_alone_has_no_source_image(wall: Wall) -> None:
    assert wall.get("/api/wall/image/0?run=0&labeller=")["source"] is None
    assert wall.http.get("/wall/0/source/0").status_code == 404
