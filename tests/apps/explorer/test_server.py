"""The explorer's server: numbers, safety, and folders of images."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
import uvicorn
from scipy import stats as scipy_stats

from t2ibench import evaluate
from t2ibench.apps.explorer.app import Explorer, create_app
from t2ibench.apps.explorer.collection import Collection, open_collection
from t2ibench.apps.explorer.preparation import Preparation
from t2ibench.apps.explorer.queries import Question, score_texts
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.start import first_state
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.prompting_tree import DEEPEST, MOST_NODES
from t2ibench.models.encoders import DEFAULT_ENCODER, DEFAULT_WEIGHTS
from t2ibench.pipeline.progress import SilentReporter
from tests.apps.explorer.api import HEADERS, HOME, Client, explore, opened, pictures
from tests.conftest import Cli

pytestmark = [pytest.mark.networks, pytest.mark.slow]

WOMAN, MAN = "picture that shows a woman", "picture that shows a man"


@contextmanager
def served(collection: Collection, folder: Path) -> Iterator[str]:
    """The address of a real server."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    explorer = Explorer(
        collection.album, Preparation.of(collection), folder / "session.json"
    )
    server = uvicorn.Server(
        uvicorn.Config(create_app(explorer, port), log_level="warning")
    )
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def query(found: Collection, texts: list[str], anchors: list[str], **more: Any) -> Any:
    reference = Reference(found).texts(anchors)
    return score_texts(found, Question(texts, anchors, reference, **more))


def test_a_concept_is_answered(client: Client) -> None:
    tree = client.get("/api/session")["state"]["tree"]
    fresh = {
        "id": "new",
        "label": "female nurse",
        "parent": "root",
        "relation": "that shows a",
    }
    tree["nodes"].append(fresh)
    names = ["women", "men"]
    reply = client.post("/api/evaluate", tree=tree, anchors=[WOMAN, MAN], names=names)
    nodes = {node["id"]: node for node in reply["nodes"]}
    assert nodes["new"]["text"] == "picture that shows a female nurse"
    (found,) = nodes["new"]["scores"]
    # The word says it already; no picture shows more.
    assert (found["nearest"], found["verdict"], found["lean"]) == (
        0,
        "inconclusive",
        None,
    )
    assert "the word itself nearer 'women'" in found["says"] and found["p_holm"] > 0.05
    assert nodes["anchor0"]["text"] == MAN  # on the right, as in reports
    asked = {"texts": [WOMAN, "picture that shows a dog"]}
    raw = client.http.post("/api/similarities", json=asked, headers=HEADERS)
    assert len(raw.content) == 2 * len(client.get("/api/images")["images"]) * 4
    pair = client.post("/api/text", tree=tree, nodes=["new", "anchor0"])
    assert pair["text"] == "picture that shows a man and a female nurse"


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/images", {"Host": "evil.example"}),
        ("GET", "/", {"Host": "127.0.0.1:9"}),
        ("GET", "/api/images", {"Origin": "http://evil.example"}),
        ("GET", "/image/0", {"Origin": "null"}),
        ("POST", "/api/session", JSON),
        ("POST", "/api/session", {"Origin": "http://evil.example", **JSON}),
        ("POST", "/api/evaluate", {"Origin": HOME, "Content-Type": "text/plain"}),
    ],
)
def test_other_sites_may_neither_read_nor_write(
    client: Client, method: str, path: str, headers: dict[str, str]
) -> None:
    reply = client.http.request(method, path, content="{}", headers=headers)
    assert reply.status_code == 403


def test_only_the_page_and_the_run_s_images_are_served(client: Client) -> None:
    for path, kind in (
        *(("/", "text/html"), ("/static/main.js", "text/javascript")),
        *(("/image/0", "image/png"), ("/thumb/0", "image/jpeg")),
    ):
        headers = client.http.get(path).headers
        assert headers["content-type"].startswith(kind)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert "http" not in client.http.get("/").text.replace("http://www.w3.org", "")
    for path in (
        "/image/99999",
        "/image/../run.db",
        "/image/run.db",
        "/static/../app.py",
    ):
        assert client.http.get(path).status_code in {404, 403}, path


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/evaluate", {"tree": {"nodes": []}, "anchors": []}),
        (
            "/api/evaluate",
            {"tree": {"nodes": [{"id": "a", "label": "a nurse"}]}, "anchors": []},
        ),
        ("/api/session", {"version": 2, "state": {}}),
        ("/api/export", {"tree": {"nodes": [{"id": "a", "label": ""}]}, "anchors": []}),
    ],
)
def test_invalid_requests_get_a_one_line_error(
    client: Client, path: str, body: Any
) -> None:
    assert client.post(path, 400, **body)["error"]
    assert client.http.post(path, content="{", headers=HEADERS).status_code == 400


@pytest.mark.parametrize("damage", [b"no picture", None])
def test_a_broken_image_is_not_found(
    damage: bytes | None, run: Path, tmp_path: Path
) -> None:
    found = opened(shutil.copytree(run, tmp_path / "toyland"), encoder=None)
    path = found.gallery.pictures[3].path
    path.unlink()
    if damage:
        path.write_bytes(damage)
    with explore(found, tmp_path / "session.json") as client:
        assert ("changed" if damage else "No such file") in client.get("/thumb/3", 404)[
            "error"
        ]
        client.get("/image/3", 404)
        assert client.http.get("/thumb/4").status_code == 200


def chain(length: int) -> dict[str, Any]:
    nodes = [{"id": "n0", "label": "picture"}]
    nodes += [
        {"id": f"n{k}", "label": f"w{k}", "parent": f"n{k - 1}"}
        for k in range(1, length)
    ]
    return {"nodes": nodes}


def test_a_tree_that_is_too_deep_or_too_large_is_one_line(client: Client) -> None:
    wide = [
        {"id": f"n{k}", "label": "x", "parent": "n0"} for k in range(1, MOST_NODES + 1)
    ]
    for tree, message in (
        (chain(2000), f"deeper than {DEEPEST} levels"),
        (chain(DEEPEST + 2), f"deeper than {DEEPEST} levels"),
        ({"nodes": [*chain(1)["nodes"], *wide]}, f"at most {MOST_NODES} items"),
    ):
        said = client.post("/api/text", 400, tree=tree, nodes=["n0"])["error"]
        assert message in said and len(said) < 300
    deepest = client.post(
        "/api/evaluate", tree=chain(DEEPEST + 1), anchors=[WOMAN, MAN]
    )
    words = [f"w{k}" for k in range(DEEPEST, 0, -1)]
    assert deepest["nodes"][-1]["text"].split() == [*words, "picture"]


def test_a_body_that_is_too_large_is_not_read_to_its_end(
    collection: Collection, client: Client, tmp_path: Path
) -> None:
    reply = client.http.post("/api/session", content=b" " * 8_000_001, headers=HEADERS)
    assert reply.status_code == 413 and "8,000,000 bytes" in reply.json()["error"]
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 1_000_000

    with served(collection, tmp_path) as url:
        headers = {**HEADERS, "Origin": url}
        with contextlib.suppress(httpx.TransportError):  # it is sent without a length
            httpx.post(f"{url}/api/evaluate", content=endless(), headers=headers)
        assert sent < 200
        assert httpx.get(f"{url}/api/images").status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (RuntimeError("out of\nmemory"), 500, "RuntimeError: out of"),
        (RecursionError(), 500, "RecursionError: RecursionError"),
        (T2IBenchError("The encoder failed."), 400, "The encoder failed."),
    ],
)
def test_a_defect_is_one_line(
    error: Exception,
    status: int,
    said: str,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fail = mock.Mock(side_effect=error)
    monkeypatch.setattr("t2ibench.apps.explorer.answers.score_texts", fail)
    monkeypatch.setattr("t2ibench.apps.explorer.app.FileResponse", fail)
    body = {"tree": chain(1), "anchors": [WOMAN, MAN]}
    for reply in (
        client.http.post("/api/evaluate", json=body, headers=HEADERS),
        client.http.get("/"),
    ):
        assert (reply.status_code, reply.json()) == (status, {"error": said})
        assert "default-src 'none'" in reply.headers["content-security-policy"]
    client.get("/api/images")


def test_a_session_is_stored_and_a_damaged_session_file_is_set_aside(
    collection: Collection, tmp_path: Path
) -> None:
    file = tmp_path / "session.json"
    file.write_text('{"version": 1, "state": {"tree":')
    with explore(collection, file) as client:
        session = client.get("/api/session")
        assert session.pop("saved") is False
        # as earlier versions kept it
        session["state"] |= {"chosen": ["root"], "inverse": []}
        client.post("/api/session", **session)
        # one that does not fit keeps the old one
        client.post("/api/session", 400, version=1)
        kept = client.get("/api/session")
        assert kept["saved"] and kept["state"]["chosen"] == ["root"]
    assert (tmp_path / "session.json.broken").read_text().startswith('{"version": 1')


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    pictures(tmp_path, {name: [name] * 3 for name in ("a man", "a woman")})
    (tmp_path / "a man" / "broken.png").write_bytes(b"no picture")
    shutil.copy(tmp_path / "a man" / "000.png", tmp_path / "a man" / "again.png")
    reporter = SilentReporter()
    found = open_collection([tmp_path], "toyland", reporter)
    assert len(found.gallery.pictures) == 6 and "broken.png" in reporter.warnings[0]
    assert {one.prompt for one in found.gallery.pictures} == {"a man", "a woman"}
    start = first_state(found.album, ["a woman", "a man"])
    # Men are on the right, as in reports, whoever is named first.
    assert [anchor.prompt for anchor in start.anchors] == ["a man", "a woman"]


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Old people and adults under names that say nothing of it; most nurses drawn are old."""
    folder = tmp_path_factory.mktemp("series")
    shown = {"series one": ["an old man, joy"] * 8, "series two": ["a man, joy"] * 8}
    shown["a nurse"] = ["an old male nurse, joy"] * 11 + ["a male nurse, joy"]
    return opened(pictures(folder, shown))


def test_a_lean_of_the_pictures_is_reported_with_its_place(series: Collection) -> None:
    texts, anchors = (
        ["an old person", "a teapot", "a nurse"],
        ["series one", "series two"],
    )
    (old,), (teapot,), (nurse,) = query(series, texts, anchors)
    assert (old["verdict"], old["lean"], old["percentile"]) == ("leans", 0, 100.0)
    assert old["p"] == pytest.approx(1 / (len(Reference(series).texts(anchors)) + 1))
    assert old["p_holm"] == pytest.approx(3 * old["p"]) and old["n"] == [8, 8]
    values = series.gallery.rows @ series.texts(["an old person"])[0]
    ks = scipy_stats.ks_2samp(
        *(values[series.gallery.of_run(0, [one])] for one in anchors)
    )
    assert old["kolmogorov_smirnov_distance"] == pytest.approx(ks.statistic)
    assert teapot["verdict"] in {"no_lean", "inconclusive"} and teapot["lean"] is None
    assert old["inverse"] is None and nurse["inverse"]["n"] == 12
    assert nurse["inverse"]["lean"] == 0
    assert (
        nurse["inverse"]["shares"][0]["low"]
        > 0.5
        > nurse["inverse"]["shares"][1]["high"]
    )


def test_texts_of_a_tree_are_one_family(series: Collection) -> None:
    anchors = ["series one", "series two"]
    family = ["an old person", *(f"concept {number}" for number in range(19))]
    alone, together = (
        query(series, ["an old person", *family], anchors, family=family[:k])[0][0]
        for k in (1, None)
    )
    assert alone["p_holm"] == alone["p"]
    assert together["p_holm"] == pytest.approx(20 * together["p"])


def test_wrong_input_is_one_line(run: Path, tmp_path: Path, cli: Cli) -> None:
    for words, message in (
        ((tmp_path / "nowhere",), "No such folder"),
        ((tmp_path, "--encoder", "toyland"), "holds no images"),
        ((run, "--anchors", "picture that shows a womn"), "Did you mean"),
        ((run, "--encoder", "vectors:/nowhere"), "No such file"),
    ):
        status, _, errors = cli("explore", *words)
        assert status == 1 and message in errors and "Traceback" not in errors


def test_a_run_that_only_asks_is_seen_with_its_model_s_own_encoder(
    tmp_path: Path,
) -> None:
    evaluate(
        "toyland",
        "openbias_examples",
        limit=1,
        images_per_prompt=1,
        output_dir=tmp_path,
    )
    found = opened(tmp_path / "toyland", encoder=None)
    assert found.encoder.name == "toyland"


def test_images_without_an_encoder_say_which_one_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import open_clip

    pictures(tmp_path, {"a man": ["a man"]})
    where = "t2ibench.apps.explorer.collection"
    monkeypatch.setattr(f"{where}.is_downloaded", lambda *_: False)
    monkeypatch.setattr(f"{where}.create_encoder", None)  # nothing is loaded
    with pytest.raises(T2IBenchError, match=f"--encoder {DEFAULT_ENCODER}"):
        open_collection([tmp_path], None, SilentReporter())
    architecture, tag = DEFAULT_ENCODER.removeprefix("open_clip:").split("/")
    hub = open_clip.get_pretrained_cfg(architecture, tag)["hf_hub"]
    assert hub.rstrip("/") == DEFAULT_WEIGHTS[0]
