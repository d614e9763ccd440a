"""The explorer's server: numbers, safety, and folders of images."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import numpy as np
import pytest
import uvicorn
from PIL import Image
from scipy import stats as scipy_stats

from t2ibench import evaluate
from t2ibench.apps.explorer.app import Explorer, create_app
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.source import Collection, open_collection
from t2ibench.apps.explorer.start import first_state
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.probing import Reading, verdict
from t2ibench.methods.core.prompting_tree import DEEPEST, MOST_NODES
from t2ibench.models.encoders import DEFAULT_ENCODER, DEFAULT_WEIGHTS
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.run import open_run
from t2ibench.store.images import ImageStore
from t2ibench.toyland import draw
from tests.apps.explorer.api import HEADERS, HOME, Client, explore, opened, pictures
from tests.conftest import Cli

pytestmark = pytest.mark.slow

WOMAN, MAN = "picture that shows a woman", "picture that shows a man"
QUICK: dict[str, Any] = {"n_permutations": 200, "n_bootstrap": 100}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    evaluate("toyland", "vibex_gender", images_per_prompt=12, output_dir=folder, **QUICK)
    return folder / "toyland"


@pytest.fixture(scope="module")
def collection(run: Path) -> Collection:
    return opened(run, encoder=None)


@pytest.fixture
def client(collection: Collection, tmp_path: Path) -> Iterator[Client]:
    with explore(collection, tmp_path / "session.json") as found:
        yield found


@contextmanager
def served(collection: Collection, folder: Path) -> Iterator[str]:
    """The address of a real server."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    explorer = Explorer(collection, first_state(collection, None), folder / "session.json")
    server = uvicorn.Server(uvicorn.Config(create_app(explorer, port), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def query(found: Collection, texts: list[str], anchors: list[str], **more: Any) -> Any:
    reference = Reference(found).texts(anchors)
    return score_texts(found, Question(texts, anchors, reference, **more))


def test_numbers_are_those_of_scipy(collection: Collection) -> None:
    text = "picture that shows a nurse"
    (values,) = similarities(collection, [text]).astype(np.float64)
    groups = [
        values[[one.prompt == prompt for one in collection.gallery.pictures]]
        for prompt in (WOMAN, MAN)
    ]
    ((found,),) = query(collection, [text], [WOMAN, MAN])
    assert found is not None
    assert found["kolmogorov_smirnov_distance"] == pytest.approx(
        scipy_stats.ks_2samp(*groups).statistic
    )
    assert found["z"] == pytest.approx(
        scipy_stats.ttest_ind(*groups, equal_var=False).statistic, rel=1e-6
    )
    means = np.array([group.mean() for group in groups])
    assert found["probabilities"] == pytest.approx(dict(enumerate(means / means.sum())))
    assert found["nearest"] == 0 and found["n"] == [12, 12]


def test_a_concept_is_answered(client: Client) -> None:
    tree = client.get("/api/session")["state"]["tree"]
    fresh = {"id": "new", "label": "female nurse", "parent": "root", "relation": "that shows a"}
    tree["nodes"].append(fresh)
    names = ["women", "men"]
    reply = client.post("/api/evaluate", tree=tree, anchors=[WOMAN, MAN], names=names)
    nodes = {node["id"]: node for node in reply["nodes"]}
    assert nodes["new"]["text"] == "picture that shows a female nurse"
    (found,) = nodes["new"]["scores"]
    # The word says it already; no picture shows more.
    assert (found["nearest"], found["verdict"], found["lean"]) == (0, "inconclusive", None)
    assert "the word itself nearer 'women'" in found["says"] and found["p_holm"] > 0.05
    assert nodes["anchor0"]["text"] == WOMAN
    asked = {"texts": [WOMAN, "picture that shows a dog"]}
    raw = client.http.post("/api/similarities", json=asked, headers=HEADERS)
    assert len(raw.content) == 2 * len(client.get("/api/images")["images"]) * 4
    pair = client.post("/api/text", tree=tree, nodes=["new", "anchor1"])
    assert pair["text"] == "picture that shows a man and a female nurse"


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({"Host": "evil.example"}, "/api/images"),
        ({"Host": "127.0.0.1:9"}, "/"),
        ({"Origin": "http://evil.example"}, "/api/images"),
        ({"Origin": "null"}, "/image/0"),
    ],
)
def test_other_sites_may_not_read(client: Client, headers: dict[str, str], path: str) -> None:
    assert client.http.get(path, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json"},
        {"Origin": "http://evil.example", "Content-Type": "application/json"},
        {"Origin": HOME, "Content-Type": "text/plain"},
    ],
)
def test_other_sites_may_not_write(client: Client, headers: dict[str, str]) -> None:
    for path in ("/api/session", "/api/draw", "/api/evaluate"):
        assert client.http.post(path, content="{}", headers=headers).status_code == 403


def test_every_answer_carries_the_policy(client: Client) -> None:
    for path in ("/", "/static/main.js", "/api/images", "/thumb/0"):
        headers = client.http.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    page = client.http.get("/").text
    assert "http" not in page.replace("http://www.w3.org", "")


def test_only_the_run_s_images(client: Client, run: Path) -> None:
    assert client.http.get("/image/0").headers["content-type"] == "image/png"
    assert client.http.get("/thumb/0").headers["content-type"] == "image/jpeg"
    for path in ("/image/99999", "/image/../run.db", "/image/run.db", "/static/../app.py"):
        assert client.http.get(path).status_code in {404, 403}, path


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/evaluate", {"tree": {"nodes": []}, "anchors": []}),
        ("/api/evaluate", {"tree": {"nodes": [{"id": "a", "label": "a nurse"}]}, "anchors": []}),
        ("/api/session", {"version": 2, "state": {}}),
        ("/api/draw", {"source": 7, "text": "a nurse", "count": 1}),
        ("/api/draw", {"source": 0, "text": "a nurse", "count": 1000}),
        ("/api/export", {"tree": {"nodes": [{"id": "a", "label": ""}]}, "anchors": []}),
    ],
)
def test_what_does_not_fit_is_one_line(client: Client, path: str, body: Any) -> None:
    assert client.post(path, 400, **body)["error"]
    assert client.http.post(path, content="{", headers=HEADERS).status_code == 400


@pytest.mark.parametrize("damage", [b"no picture", b"", None])
def test_a_broken_picture_is_not_found(
    damage: bytes | None, run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(run, tmp_path / "toyland")
    found = opened(copy, encoder=None)
    path = found.gallery.pictures[3].path
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with served(found, tmp_path) as url:
        reply = httpx.get(f"{url}/thumb/3")
        assert reply.status_code == 404
        assert ("No such file" if damage is None else "changed") in reply.json()["error"]
        assert httpx.get(f"{url}/image/3").status_code == 404
        assert httpx.get(f"{url}/thumb/4").status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def chain(length: int) -> dict[str, Any]:
    nodes = [{"id": "n0", "label": "picture"}]
    nodes += [{"id": f"n{k}", "label": f"w{k}", "parent": f"n{k - 1}"} for k in range(1, length)]
    return {"nodes": nodes}


@pytest.mark.parametrize("path", ["/api/evaluate", "/api/text", "/api/export", "/api/session"])
def test_a_tree_that_is_too_deep_or_too_large_is_one_line(client: Client, path: str) -> None:
    state = client.get("/api/session")["state"]
    wide = [{"id": f"n{k}", "label": "x", "parent": "n0"} for k in range(1, MOST_NODES + 1)]
    for tree_, message in (
        (chain(2000), f"deeper than {DEEPEST} levels"),
        (chain(DEEPEST + 2), f"deeper than {DEEPEST} levels"),
        ({"nodes": [*chain(1)["nodes"], *wide]}, f"at most {MOST_NODES} items"),
    ):
        body = {
            "/api/evaluate": {"tree": tree_, "anchors": [WOMAN, MAN]},
            "/api/text": {"tree": tree_, "nodes": ["n0"]},
            "/api/export": {"tree": tree_, "anchors": state["anchors"]},
            "/api/session": {"state": {**state, "tree": tree_}},
        }[path]
        said = client.post(path, 400, **body)["error"]
        assert message in said and len(said) < 300


def test_the_deepest_tree_is_evaluated(client: Client) -> None:
    reply = client.post("/api/evaluate", tree=chain(DEEPEST + 1), anchors=[WOMAN, MAN])
    last = reply["nodes"][-1]
    assert last["text"].split() == [f"w{k}" for k in range(DEEPEST, 0, -1)] + ["picture"]


def test_images_are_served_while_a_tree_is_evaluated(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go = threading.Event(), threading.Event()

    def slow(*_: Any) -> list[Any]:
        began.set()
        go.wait(20)
        return [[None]]

    with served(collection, tmp_path) as url, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr("t2ibench.apps.explorer.answers.score_texts", slow)
        body = {"tree": chain(1), "anchors": [WOMAN, MAN]}
        headers = {**HEADERS, "Origin": url}
        waiting = pool.submit(httpx.post, f"{url}/api/evaluate", json=body, headers=headers)
        assert began.wait(20)
        assert httpx.get(f"{url}/thumb/0", timeout=20).status_code == 200
        assert not waiting.done()
        go.set()
        assert waiting.result().status_code == 200


def parts(count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield b" " * 1_000_000


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("megabytes", [9, 30])
def test_a_body_that_is_too_large_gets_its_answer(
    megabytes: int, chunked: bool, collection: Collection, tmp_path: Path
) -> None:
    with served(collection, tmp_path) as url:
        content: Any = parts(megabytes) if chunked else b" " * megabytes * 1_000_000
        headers = {**HEADERS, "Origin": url}
        for path in ("/api/evaluate", "/api/session", "/api/nowhere"):
            reply = httpx.post(f"{url}{path}", content=content, headers=headers)
            expected = 404 if path == "/api/nowhere" and chunked else 413
            assert reply.status_code == expected
            assert expected == 404 or "8,000,000 bytes" in reply.json()["error"]
            content = parts(megabytes) if chunked else content
        assert httpx.get(f"{url}/api/images").status_code == 200


def test_a_body_without_end_is_not_read_for_ever(collection: Collection, tmp_path: Path) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 1_000_000

    with served(collection, tmp_path) as url, contextlib.suppress(httpx.TransportError):
        headers = {**HEADERS, "Origin": url}
        httpx.post(f"{url}/api/evaluate", content=endless(), headers=headers)
    assert 8 < sent < 200


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
    collection: Collection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fail = mock.Mock(side_effect=error)
    body = {"tree": chain(1), "anchors": [WOMAN, MAN]}
    with served(collection, tmp_path) as url:
        monkeypatch.setattr("t2ibench.apps.explorer.answers.score_texts", fail)
        monkeypatch.setattr("t2ibench.apps.explorer.app.FileResponse", fail)
        headers = {**HEADERS, "Origin": url}
        for reply in (
            httpx.post(f"{url}/api/evaluate", json=body, headers=headers),
            httpx.get(f"{url}/"),
        ):
            assert (reply.status_code, reply.json()) == (status, {"error": said})
            assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert httpx.get(f"{url}/api/images").status_code == 200
    shown = capfd.readouterr().err
    assert "Traceback" not in shown and len(shown.splitlines()) <= 2


def test_a_broken_session_is_set_aside(collection: Collection, tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    file.write_text('{"version": 1, "state": {"tree":')
    with explore(collection, file) as client:
        session = client.get("/api/session")
        assert session.pop("saved") is False
        client.post("/api/session", **session)
    assert (tmp_path / "session.json.broken").read_text().startswith('{"version": 1')


def test_a_black_image_is_filtered_and_ends_nothing(
    client: Client, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generate(own: ToylandGenerator, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        (request,) = requests
        if request.index == 0:
            return [GeneratedImage("ok", Image.new("RGB", (64, 64)))]
        if request.index == 1:
            raise RuntimeError("a bad seed")
        return [GeneratedImage("ok", draw(request.prompt, request.seed))]

    monkeypatch.setattr(ToylandGenerator, "generate", generate)
    before = client.get("/api/jobs")["images"]
    assert client.draw("a violinist at night", 3)["done"] == 3
    assert client.get("/api/jobs")["images"] == before + 1
    folder = open_run(run)
    assert folder.record.generator is not None
    store = ImageStore(folder.database, folder.record.generator.fingerprint)
    attempts = [store.get("a violinist at night", index) for index in range(3)]
    assert [one.status if one else None for one in attempts] == ["filtered", "failed", "ok"]


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    pictures(tmp_path, {name: [name] * 3 for name in ("a man", "a woman")})
    (tmp_path / "a man" / "broken.png").write_bytes(b"no picture")
    shutil.copy(tmp_path / "a man" / "000.png", tmp_path / "a man" / "again.png")
    reporter = SilentReporter()
    found = open_collection([tmp_path], "toyland", reporter)
    assert len(found.gallery.pictures) == 6 and "broken.png" in reporter.warnings[0]
    assert {one.prompt for one in found.gallery.pictures} == {"a man", "a woman"}
    start = first_state(found, ["a woman", "a man"])
    assert [anchor.prompt for anchor in start.anchors] == ["a woman", "a man"]
    ((score,),) = query(found, ["a photo of a woman"], ["a woman", "a man"])
    assert (
        score is not None and score["nearest"] == 0 and score["kolmogorov_smirnov_distance"] == 1.0
    )


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Old people and adults under names that say nothing of it; most nurses drawn are old."""
    folder = tmp_path_factory.mktemp("series")
    shown = {"series one": ["an old man, joy"] * 8, "series two": ["a man, joy"] * 8}
    shown["a nurse"] = ["an old male nurse, joy"] * 11 + ["a male nurse, joy"]
    return opened(pictures(folder, shown))


def test_a_lean_of_the_pictures_is_reported_with_its_place(series: Collection) -> None:
    texts, anchors = ["an old person", "a teapot", "a nurse"], ["series one", "series two"]
    (old,), (teapot,), (nurse,) = query(series, texts, anchors)
    assert (old["verdict"], old["lean"], old["percentile"]) == ("leans", 0, 100.0)
    assert old["p"] == pytest.approx(1 / (len(Reference(series).texts(anchors)) + 1))
    assert old["p_holm"] == pytest.approx(3 * old["p"])
    assert (
        old["kolmogorov_smirnov_distance_low"]
        <= old["kolmogorov_smirnov_distance"]
        <= old["kolmogorov_smirnov_distance_high"]
    )
    assert teapot["verdict"] in {"no_lean", "inconclusive"} and teapot["lean"] is None
    assert old["inverse"] is None and nurse["inverse"]["n"] == 12
    assert nurse["inverse"]["lean"] == 0
    assert nurse["inverse"]["shares"][0]["low"] > 0.5 > nurse["inverse"]["shares"][1]["high"]


def test_texts_of_a_tree_are_one_family(series: Collection) -> None:
    anchors = ["series one", "series two"]
    family = ["an old person", *(f"concept {number}" for number in range(19))]
    alone, together = (
        query(series, ["an old person", *family], anchors, family=family[:k])[0][0]
        for k in (1, None)
    )
    assert alone["p_holm"] == alone["p"]
    assert together["p_holm"] == pytest.approx(20 * together["p"])


def test_word_and_pictures_that_disagree_are_inconclusive(series: Collection) -> None:
    (nurse,) = query(series, ["a nurse"], ["series one", "series two"])[0]
    reading = Reading(0.001, 1, 0.001, 1, drawn=nurse["inverse"]["lean"])
    found = verdict(reading, ["old", "adult"])
    assert found.outcome == "inconclusive" and found.contradiction and found.side is None
    assert found.says.endswith("its own images lean to 'old'")


def test_two_runs_side_by_side(run: Path, tmp_path: Path) -> None:
    more = {**QUICK, "images_per_prompt": 6, "model_args": {"all.gender.female": 0.5}}
    evaluate("toyland", "vibex_gender", output_dir=tmp_path, **more)
    (other,) = tmp_path.iterdir()
    found = opened(run, other, encoder=None)
    assert [one.name for one in found.sources] == ["toyland", "toyland (2)"]
    ((first, second),) = query(found, ["picture that shows a nurse"], [WOMAN, MAN])
    assert first is not None and second is not None
    assert (first["n"], second["n"]) == ([12, 12], [6, 6])


def test_wrong_input_is_one_line(run: Path, tmp_path: Path, cli: Cli) -> None:
    for words, message in (
        ((tmp_path / "nowhere",), "No such folder"),
        ((tmp_path, "--encoder", "toyland"), "holds no images"),
        ((run, "--anchors", "picture that shows a womn"), "Did you mean"),
        ((run, "--encoder", "vectors:/nowhere"), "No such file"),
    ):
        status, _, errors = cli("explore", *words)
        assert status == 1 and message in errors and "Traceback" not in errors


def test_a_run_that_only_asks_is_seen_with_its_model_s_own_encoder(tmp_path: Path) -> None:
    evaluate("toyland", "openbias_examples", limit=1, images_per_prompt=1, output_dir=tmp_path)
    found = opened(tmp_path / "toyland", encoder=None)
    assert found.encoder.name == "toyland"


def test_images_without_an_encoder_say_at_once_which_one_they_need(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    import open_clip

    monkeypatch.setattr("t2ibench.apps.explorer.source.is_downloaded", lambda *_: False)
    monkeypatch.setattr("t2ibench.apps.explorer.source.create_encoder", None)  # nothing is loaded
    status, _, said = cli("explore", tmp_path)
    assert status == 1 and said.count("\n") == 1
    assert f"--encoder {DEFAULT_ENCODER}" in said and "--encoder toy-clip" in said
    architecture, tag = DEFAULT_ENCODER.removeprefix("open_clip:").split("/")
    hub = open_clip.get_pretrained_cfg(architecture, tag)["hf_hub"]
    assert hub.rstrip("/") == DEFAULT_WEIGHTS[0]
