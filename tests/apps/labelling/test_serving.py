"""People label in the browser of this machine, and their answers go straight into the run."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from t2ibench import evaluate
from t2ibench.apps.labelling.pairs import LabelledRun
from t2ibench.apps.labelling.sample import asked_images
from t2ibench.apps.labelling.serving import LabelServer
from t2ibench.local_server import local_app
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.results.run import open_images
from t2ibench.store import database
from t2ibench.store.database import Database
from t2ibench.store.labels import LabelStore
from tests.apps.explorer.page import axe
from tests.apps.labelling.test_labelling import TASK
from tests.conftest import Cli

HOME = "http://127.0.0.1:1234"
HEADERS = {"Origin": HOME, "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of toyland with four images a prompt, judged by its own reader."""
    root = tmp_path_factory.mktemp("serve")
    (root / "tasks").mkdir()
    (root / "tasks" / "hand.yaml").write_text(TASK)
    evaluate(
        "toyland",
        "hand",
        include_path=[root / "tasks"],
        judge="toyland",
        images_per_prompt=4,
        n_permutations=200,
        n_bootstrap=100,
        output_dir=root / "runs",
    )
    return root / "runs" / "toyland"


def test_a_run_that_cannot_be_written_is_not_served(
    run: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """As one of another user; whoever runs tests as root may write every file."""
    connect = database.connect

    def read_only(path: Path, how: str) -> sqlite3.Connection:
        connection = connect(path, how)
        connection.execute("PRAGMA query_only = 1")
        return connection

    monkeypatch.setattr(database, "connect", read_only)
    status, output, errors = cli("label", "serve", run)
    assert status == 1 and not output and errors.count("\n") == 1
    assert "run.db cannot be written" in errors


@pytest.fixture
def server(run: Path) -> Iterator[LabelServer]:
    folder, images = open_images(run)
    items = [item for item, _ in asked_images(stored_plan(folder), images)][:3]
    yield LabelServer(LabelledRun.of(folder, images), items)
    folder.database.execute("DELETE FROM labels")


@pytest.fixture
def client(server: LabelServer) -> TestClient:
    return TestClient(local_app(server.routes(), 1234), base_url=HOME)


def post(client: TestClient, **body: str) -> Any:
    return client.post("/api/answer", json=body, headers=HEADERS)


def test_answers_go_into_the_run_and_come_back(
    run: Path, server: LabelServer, client: TestClient
) -> None:
    names = list(server._items)
    for identifier, answer in (
        (names[0], "male"),
        (names[0], "female"),  # the later one counts
        (names[1], "unknown"),
        (names[1], "unknown"),  # a page that is loaded again may send it twice
    ):
        reply = post(client, id=identifier, labeller="anna", answer=answer)
        assert reply.status_code == 200, reply.text
    for name in names[:2]:
        post(client, id=name, labeller="ben", answer="female")
    found = client.get("/api/answers", params={"labeller": "anna"}).json()
    assert found["answers"] == {names[0]: "female", names[1]: "unknown"}
    assert found["others"] == {"ben": [1, 2]}  # the same answer, of how many
    new = client.get("/api/answers", params={"labeller": "cem"}).json()
    assert new == {"answers": {}, "others": {}}  # sees nobody's answers before
    assert len(LabelStore(Database(run))) == 4 and server.n_answers == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "purple"}, "no answer to this question"),
        ({"id": "../../run.db"}, "no such image"),
        ({"labeller": " "}, "no name of 1 to 80"),
        ({"labeller": "an\u202ena"}, "no name of 1 to 80"),
        ({"path": "/etc/passwd"}, "path"),
    ],
)
def test_what_no_page_sends_is_refused(
    change: dict[str, str], message: str, server: LabelServer, client: TestClient
) -> None:
    body = {"id": next(iter(server._items)), "labeller": "anna", "answer": "male"}
    reply = post(client, **{**body, **change})
    assert reply.status_code == 400 and message in reply.json()["error"]
    for headers in ({}, {**HEADERS, "Origin": "http://evil.example"}):
        for path, sent in (("/api/answer", body), ("/api/finish", {})):
            assert client.post(path, json=sent, headers=headers).status_code == 403
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert server.n_answers == 0 and not server.finished.is_set()


def test_images_are_found_by_identifier_alone(
    run: Path, server: LabelServer, client: TestClient
) -> None:
    name, item = next(iter(server._items.items()))
    reply = client.get(f"/image/{name}")
    assert reply.headers["content-type"] == "image/png"
    assert reply.content == (run / "images" / item.file).read_bytes()
    for path in ("/image/none", "/image/..%2f..%2frun.db", f"/image/{item.file}"):
        assert client.get(path).status_code == 404
    page = client.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "nurse" not in page.text.casefold()  # blind to what an image was made for


@contextmanager
def labelling(run: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and its address."""
    command = [sys.executable, "-m", "t2ibench", "label", "serve", str(run)]
    with subprocess.Popen(
        [*command, "--images", "2"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("2 images of 1 question. Label them at "), line
        try:
            yield server, line.split()[8]
        finally:
            server.terminate()


@pytest.mark.slow
@pytest.mark.smoke
def test_the_page_labels_resumes_and_scores(run: Path, browser: Any) -> None:
    Database(run).execute("DELETE FROM labels")
    context = browser.new_context(bypass_csp=False)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    with labelling(run) as (server, address):
        page.goto(address)
        page.fill("#name", "Anna <b>")
        page.keyboard.press("Enter")
        expect(page.locator("#progress")).to_contain_text("0 answered, 2 left")
        page.locator("body").press("1")
        expect(page.locator("#progress")).to_contain_text("1 answered, 1 left")
        page.reload()  # the run knows
        expect(page.locator("#progress")).to_contain_text("1 answered, 1 left")
        expect(page.locator("#who")).to_contain_text("Anna <b>")
        page.keyboard.press("z")
        expect(page.locator("body.zoomed")).to_have_count(1)
        page.keyboard.press("2")
        expect(page.locator("#end")).to_be_visible()
        page.locator("#finish").click()
        expect(page.locator("#progress")).to_contain_text("Finished")
        output, _ = server.communicate(timeout=120)
    assert "2 answers stored in" in output and server.returncode == 0
    labels = LabelStore(Database(run)).all()
    assert [(label.labeller) for label in labels] == ["Anna <b>"] * 2
    task = json.loads((run / "results.json").read_text())["tasks"]["hand"]
    assert task["by"][0]["scores"]["n_labels"]["value"] == 2
    context.close()
    assert not problems


@pytest.mark.slow
def test_an_answer_is_of_who_gave_it_and_a_held_key_gives_one(
    run: Path, browser: Any
) -> None:
    Database(run).execute("DELETE FROM labels")
    page = browser.new_context().new_page()
    waiting: list[Any] = []

    def hold(request: Any) -> None:
        waiting.append(request)

    with labelling(run) as (_, address):
        page.goto(address)
        page.fill("#name", "anna")
        page.keyboard.press("Enter")
        expect(page.locator("#progress")).to_contain_text("0 answered")
        page.route("**/api/answer", hold, times=1)
        page.keyboard.down("1")
        page.keyboard.down("1")  # it repeats
        page.keyboard.up("1")
        expect(page.locator("#progress")).to_contain_text("1 answered, 1 left")
        page.keyboard.press("2")  # waits until the first answer is stored
        page.get_by_role("button", name="Somebody else").click()
        page.fill("#name", "ben")
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)
        waiting[0].continue_()
        expect(page.locator("#who")).to_contain_text("ben")
        expect(page.locator("#progress")).to_contain_text("0 answered, 2 left")
        page.wait_for_timeout(500)
    names = [label.labeller for label in LabelStore(Database(run)).all()]
    assert names == ["anna", "anna"]


@pytest.mark.slow
def test_a_reload_loses_no_answer_that_is_on_its_way(run: Path, browser: Any) -> None:
    """The page says at once that an image is answered; the run knows a little later."""
    Database(run).execute("DELETE FROM labels")
    page = browser.new_context().new_page()
    with labelling(run) as (_, address):
        page.goto(address)
        page.fill("#name", "anna")
        page.keyboard.press("Enter")
        expect(page.locator("#progress")).to_contain_text("0 answered")
        page.route("**/api/answer", lambda request: None, times=1)  # never arrives
        page.keyboard.press("1")
        page.keyboard.press("2")  # waits for the first
        expect(page.locator("#progress")).to_contain_text("2 answered")
        page.reload()
        expect(page.locator("#progress")).to_contain_text("2 answered, none left")
        for _ in range(100):
            if len(LabelStore(Database(run))) == 2:
                break
            page.wait_for_timeout(100)
    assert len(LabelStore(Database(run)).all()) == 2


@pytest.mark.slow
def test_an_answer_that_waits_replaces_none_that_is_newer(
    run: Path, browser: Any
) -> None:
    """A correction is sent again after a reload, but nothing that was corrected since."""
    Database(run).execute("DELETE FROM labels")

    def opened(context: Any, address: str, progress: str) -> Any:
        page = context.new_page()
        page.goto(address)
        if page.locator("#name").is_visible():
            page.fill("#name", "anna")
            page.keyboard.press("Enter")
        expect(page.locator("#progress")).to_contain_text(progress)
        return page

    with labelling(run) as (_, address):
        first = opened(browser.new_context(), address, "0 answered")
        first.keyboard.press("1")
        expect(first.locator("#progress")).to_contain_text("1 answered, 1 left")
        settled(run, 1)
        before = stored_answers(run)
        first.route("**/api/answer", lambda route: route.abort())
        first.keyboard.press("ArrowLeft")
        # A correction, which is not stored. Then the other image is shown, whatever is open by now.
        first.keyboard.press("2")
        first.keyboard.press("1")
        expect(first.locator("#progress")).to_contain_text("Not stored")
        second = opened(browser.new_context(), address, "1 answered, 1 left")
        second.keyboard.press("2")  # the other image, elsewhere
        settled(run, 2)
        elsewhere = stored_answers(run)
        first.unroute("**/api/answer")
        first.reload()
        expect(first.locator("#progress")).to_contain_text("2 answered, none left")
        for _ in range(100):
            if stored_answers(run) != elsewhere:
                break
            first.wait_for_timeout(100)
        first.wait_for_timeout(500)
    ((image, answer),) = before.items()
    after = stored_answers(run)
    assert after[image] != answer
    assert {**after, image: answer} == elsewhere


def stored_answers(run: Path) -> dict[str, str]:
    """The answers in a run, by image."""
    return {label.image: label.answer for label in LabelStore(Database(run)).all()}


def settled(run: Path, count: int) -> None:
    """Wait until so many answers are stored."""
    for _ in range(100):
        if len(LabelStore(Database(run))) == count:
            return
        time.sleep(0.1)
    raise AssertionError(f"{count} answers were awaited")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_page_at_every_size(
    width: int, scheme: str, run: Path, browser: Any
) -> None:
    with labelling(run) as (_, address):
        page = browser.new_context(
            bypass_csp=True,
            color_scheme=scheme,
            viewport={"width": width, "height": 844},
        ).new_page()
        page.goto(address)
        assert axe(page) == []
        page.fill("#name", "anna")
        page.keyboard.press("Enter")
        page.locator("#answers button").first.wait_for()
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Every answer is above the fold.
        last = page.locator("#answers button").last.bounding_box()
        assert last["y"] + last["height"] <= 844
