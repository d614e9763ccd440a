"""Models behind an images API: a real server on this machine, over real HTTP."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import pickle
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.contract import check_generator
from t2ibench.models.generators import create_generator
from t2ibench.models.image_download import fetch_image
from t2ibench.models.protocols import GeneratedImage, Generator, ImageRequest
from t2ibench.models.server_errors import BadReplyError
from t2ibench.models.servers import submit
from t2ibench.pipeline.generator_record import settle
from t2ibench.pipeline.work import generate_images
from t2ibench.results.run import open_run
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, image_seed
from tests import hand
from tests.models.chat import Said, json_reply, speaking, without_waiting
from tests.models.images_api import Faults, images_server, running

PROMPTS = [f"a photo of a {word}" for word in ("nurse", "rose", "chef", "wasp")]
KEY = "sk-very-secret-0123456789"


def requests(prompts: list[str], each: int) -> list[ImageRequest]:
    return [
        ImageRequest(prompt, index, image_seed(0, prompt, index))
        for prompt in prompts
        for index in range(each)
    ]


def served(url: str, **args: Any) -> Generator:
    return create_generator("openai:m", {"base_url": url, "timeout": 5, **args})


def pixels(drawn: GeneratedImage) -> Any:
    assert drawn.image is not None, drawn.reason
    return np.asarray(drawn.image)


def picture(shade: int = 100) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 20, 30)).save(buffer, format="PNG")
    return buffer.getvalue()


ROW = {"b64_json": base64.b64encode(picture()).decode()}


def one(**further: Any) -> Said:
    return json_reply({"created": 1, "data": [{**ROW, **further}]})


def wrong(message: str, status: int = 400, **further: Any) -> Said:
    return json_reply({"error": {"message": message, **further}}, status)


@pytest.fixture
def toyland() -> Iterator[str]:
    with running(images_server().images_app("m", create_generator("toyland"))) as url:
        yield url


@pytest.mark.slow
def test_a_served_model_gives_the_images_of_the_same_model_here(
    toyland: str, tmp_path: Path
) -> None:
    wanted = requests(PROMPTS, 5)
    here = ImageStore(Database(tmp_path / "here"), "f")
    there = ImageStore(Database(tmp_path / "there"), "f")
    generate_images(wanted, create_generator("toyland"), here)
    generate_images(wanted, served(toyland), there)
    files = [[store.get(r.prompt, r.index) for r in wanted] for store in (here, there)]
    assert [one.sha256 for one in files[0] if one] == [one.sha256 for one in files[1] if one]
    assert all(one is not None and one.status == "ok" for one in files[1])


def test_it_keeps_the_contract(toyland: str) -> None:
    assert check_generator(lambda: served(toyland)) == []


def test_what_a_server_does_not_take_is_left_out_once_and_said() -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        for name in ("seed", "response_format"):
            if name in body:
                return wrong(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        return one()

    said: list[str] = []
    with speaking(speak) as (url, posted):
        model: Any = served(url)
        model.report_waits(said.append)
        assert model.effective_settings() == {}
        found = model.generate(requests(PROMPTS, 3))
        assert {drawn.status for drawn in found} == {"ok"}
        # The seed is tried at 63, 32 and 31 bits; after that nothing is refused any more.
        assert len(posted) == 12 + 4
        assert all("seed" not in body and body["output_format"] == "png" for body in posted[4:])
        assert "unknown" in model.effective_settings()["seed"]
    (line,) = said
    assert "takes no seed" in line and "unknown" in line


@pytest.mark.parametrize("bits", [63, 32, 31])
def test_a_seed_has_as_many_bits_as_the_server_takes(bits: int) -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        if body["seed"] >= 1 << bits:
            detail = [{"type": "less_than", "loc": ["body", "seed"], "msg": "too large"}]
            return json_reply({"detail": detail}, 422)
        return one()

    with speaking(speak) as (url, posted):
        model: Any = served(url)
        (request,) = requests(PROMPTS[:1], 1)
        model.generate([request])
        assert posted[-1]["seed"] == request.seed % (1 << bits)
        assert ("bits" in model.effective_settings()["seed"]) == (bits < 63)


def test_settings_go_to_the_server_under_its_names() -> None:
    args = {
        "steps": "7",
        "guidance": "2.5",
        "negative_prompt": "blurry",
        "size": "64x32",
        "body.quality": "low",
        "body.generator_device": "cpu",
    }
    with speaking(lambda *_: one()) as (url, posted):
        model = served(url, **args)
        model.generate(requests(PROMPTS[:1], 1))
    sent = posted[0]
    assert (sent["num_inference_steps"], sent["guidance_scale"]) == (7, 2.5)
    assert (sent["size"], sent["negative_prompt"], sent["quality"]) == ("64x32", "blurry", "low")
    assert sent["generator_device"] == "cpu"
    assert "n" not in sent
    assert model.settings["steps"] == 7
    assert model.fingerprint != served(url).fingerprint
    assert model.fingerprint == served(url, workers=3, timeout=9, **args).fingerprint


def test_a_setting_of_the_user_that_is_refused_is_an_error_not_left_out() -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        return wrong("Unknown parameter: 'num_inference_steps'.") if len(body) else one()

    with speaking(speak) as (url, posted):
        with pytest.raises(T2IBenchError, match="does not take num_inference_steps=7") as caught:
            served(url, steps=7).generate(requests(PROMPTS, 3))
        assert len(posted) == 1
    assert "Leave steps=" in str(caught.value)


REFUSALS = {
    "code": wrong("Your request was rejected.", code="content_policy_violation"),
    "stage": wrong("Rejected by the safety system.", code="moderation_blocked", type="x"),
    "azure": wrong("The response was filtered due to content management policy.", code="nope"),
    "inner": wrong("no", innererror={"code": "ResponsibleAIPolicyViolation"}),
    "forbidden": wrong("This may violate our content policy.", 403),
    "with status 200": wrong("Rejected.", 200, code="content_filter"),
}


@pytest.mark.parametrize("how", REFUSALS)
def test_a_refusal_is_a_row_with_the_words_of_the_server(how: str, tmp_path: Path) -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        return REFUSALS[how] if "nurse" in body["prompt"] else one()

    store = ImageStore(Database(tmp_path), "f")
    with speaking(speak) as (url, posted):
        generate_images(requests(PROMPTS, 2), served(url), store)
        assert len(posted) == 8
        generate_images(requests(PROMPTS, 2), served(url), store)
        assert len(posted) == 8  # it is not asked again
    refused = [one for one in store.attempts() if one.status != "ok"]
    assert [(one.prompt, one.status) for one in refused] == [(PROMPTS[0], "refused")] * 2
    assert all(one.reason and one.reason.startswith("the server replied") for one in refused)


def test_what_a_filter_takes_after_it_was_made_is_filtered() -> None:
    late = wrong(
        "Rejected.", code="moderation_blocked", moderation_details={"moderation_stage": "output"}
    )
    replies = {
        PROMPTS[0]: late,
        PROMPTS[1]: json_reply({"data": []}),
        PROMPTS[2]: json_reply({"data": [{"url": "", "respect_moderation": False}]}),
        PROMPTS[3]: one(),
    }
    with speaking(lambda body, _: replies[body["prompt"]]) as (url, _):
        found = served(url).generate(requests(PROMPTS, 1))
    assert [drawn.status for drawn in found] == ["filtered"] * 3 + ["ok"]


def test_revised_prompts_are_stored_with_their_images(tmp_path: Path) -> None:
    def speak(body: dict[str, Any], _: Any) -> Said:
        if "rose" in body["prompt"]:
            return one()
        return one(
            revised_prompt=body["prompt"] + (", diverse" if "nurse" in body["prompt"] else "")
        )

    with speaking(speak) as (url, _):
        generate_images(requests(PROMPTS[:3], 1), served(url), ImageStore(Database(tmp_path), "f"))
    told = {
        one.prompt: one.revised_prompt for one in ImageStore(Database(tmp_path), "f").attempts()
    }
    assert told == {
        PROMPTS[0]: PROMPTS[0] + ", diverse",
        PROMPTS[1]: None,  # it does not say
        PROMPTS[2]: PROMPTS[2],  # it says that it used the very prompt
    }


@pytest.mark.parametrize("form", ["relative", "absolute", "data"])
def test_images_at_addresses_are_fetched(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Said:
        if "path" in body:
            return 200, {"content-type": "image/png"}, picture(77)
        root = f"http://{headers['host']}"
        encoded = base64.b64encode(picture(77)).decode()
        url = {
            "relative": "/files/1.png",
            "absolute": f"{root}/files/1.png",
            "data": f"data:image/png;base64,{encoded}",
        }[form]
        return json_reply({"data": [{"url": url}]})

    with speaking(speak) as (url, posted):
        (drawn,) = served(url).generate(requests(PROMPTS[:1], 1))
    assert pixels(drawn)[0, 0, 0] == 77
    assert all(body["headers"]["authorization"] == f"Bearer {KEY}" for body in posted)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:{port}/secret", "private network"),
        ("http://localhost:{port}/secret", "private network"),
        ("http://169.254.169.254/latest/meta-data", "private network"),
        ("http://[::1]:{port}/x", "private network"),
        ("file:///etc/passwd", "not one of http"),
        ("ftp://example.com/x", "not one of http"),
    ],
)
def test_a_public_server_cannot_reach_into_a_private_network(url: str, why: str) -> None:
    with speaking(lambda *_: (200, {}, picture())) as (here, posted):
        port = here.partition("127.0.0.1:")[2].partition("/")[0]
        address = url.format(port=port)
        fetch = fetch_image(address, "http://93.184.216.34/v1", ApiKey("NO_KEY"), 1000, 5.0)
        with pytest.raises(BadReplyError, match=why):
            submit(fetch).result()
        assert posted == []
        # The same from a server that is in a private network itself.
        if url.startswith("http://127"):
            fetch = fetch_image(address, "http://10.0.0.1/v1", ApiKey("OPENAI_API_KEY"), 1000, 5.0)
            assert submit(fetch).result() == picture()
            assert "authorization" not in posted[0]["headers"]


def test_an_image_at_an_address_is_bounded() -> None:
    with speaking(lambda *_: (200, {}, b"x" * 5000)) as (url, _):
        fetch = fetch_image("/big", url, ApiKey("NO_KEY"), 1000, 5.0)
        with pytest.raises(BadReplyError, match="larger than 1,000 bytes"):
            submit(fetch).result()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


HOPELESS: dict[str, tuple[Said, str]] = {
    "a wrong key": (wrong("Incorrect API key provided: sk-…", 401), "grants no access"),
    "no key": (wrong("No key.", 401), "requires an API key"),
    "a page": ((200, {"content-type": "text/html"}, b"<html>Welcome"), "is no images API"),
    "a page that is not there": ((404, {}, b"<html>Not found"), "has no such address"),
    "an unknown model": (wrong("No model m.", 404, code="model_not_found"), "no such image model"),
    "a chat model": (
        wrong("The model 'm' does not support image generation.", 400),
        "no such image model",
    ),
    "another API": (json_reply({"choices": []}), "is no images API"),
    "no money": (wrong("Pay first.", 429, code="insufficient_quota"), "is not paid for"),
    "elsewhere": ((307, {"location": "http://example.com/"}, b""), "redirects"),
}


@pytest.mark.parametrize("how", HOPELESS)
def test_what_cannot_work_is_said_at_the_first_request(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = without_waiting(monkeypatch)
    if how != "no key":
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    reply, says = HOPELESS[how]
    with speaking(lambda *_: reply) as (url, posted):
        with pytest.raises(T2IBenchError, match=says) as caught:
            served(url).generate(requests(PROMPTS, 3))
        assert len(posted) <= 3 and waits == []
    assert "\n" not in str(caught.value) and KEY not in str(caught.value)


@pytest.mark.slow
def test_a_server_that_is_not_there_or_never_answers_is_soon_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = without_waiting(monkeypatch)
    with pytest.raises(T2IBenchError, match=r"cannot be reached.*tried 2 times"):
        served(f"http://127.0.0.1:{closed_port()}/v1").generate(requests(PROMPTS, 3))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(T2IBenchError, match="does not answer within 1 s; tried 2 times"):
            served(url, timeout=1).generate(requests(PROMPTS, 3))
    assert len(waits) == 2


@pytest.mark.slow
def test_a_long_first_wait_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("t2ibench.models.generators.hosted._LONG", 0.1)

    def slow(*_: Any) -> Said:
        threading.Event().wait(0.5)
        return one()

    said: list[str] = []
    with speaking(slow) as (url, _):
        model: Any = served(url)
        model.report_waits(said.append)
        model.generate(requests(PROMPTS, 1))
    assert len(said) == 1 and "has not answered" in said[0] and "timeout=5" in said[0]


def test_a_server_that_goes_away_loses_nothing_that_it_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    left = iter(range(20))

    def speak(*_: Any) -> Said:
        return one() if next(left, None) is not None else wrong("down", 503)

    store = ImageStore(Database(tmp_path), "f")
    with speaking(speak) as (url, _), pytest.raises(T2IBenchError, match="status 503"):
        generate_images(requests(PROMPTS, 10), served(url, workers=4), store)
    assert sum(one.status == "ok" for one in store.attempts()) == 20


@pytest.mark.slow
def test_a_server_that_limits_the_rate_is_asked_less(monkeypatch: pytest.MonkeyPatch) -> None:
    async def short(_: float) -> None:
        await asyncio.sleep(0.05)

    monkeypatch.setattr("t2ibench.models.servers.pause", short)
    lock, busy, most, over = threading.Lock(), 0, 0, 0

    def speak(*_: Any) -> Said:
        nonlocal busy, most, over
        with lock:
            busy += 1
            most = max(most, busy)
            too_many = busy > 3
            over += too_many
        threading.Event().wait(0.02)
        with lock:
            busy -= 1
        return wrong("slow down", 429) if too_many else one()

    with speaking(speak) as (url, _):
        found = served(url, workers=32).generate(requests(PROMPTS, 20))
    assert {drawn.status for drawn in found} == {"ok"}
    assert most < 16 and over < 400  # of 32 at a time, and of 20 images a prompt


def cli(*words: str) -> int:
    return main(["run", "--tasks", "t2iat_flowers_insects", "--limit", "2", *words])


def run_words(url: str, folder: Path, *args: str) -> list[str]:
    joined = ",".join([f"base_url={url}", *args])
    return [
        *("--model", "openai:m", "--model-args", joined, "--output-dir", str(folder)),
        *("--images-per-prompt", "2", "--generate-only"),
    ]


def stored(folder: Path) -> list[dict[str, Any]]:
    return [row for run in folder.rglob("run.db") for row in hand.stored(run.parent, "attempts")]


@pytest.mark.slow
def test_max_cost_stops_and_a_higher_one_goes_on(
    toyland: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = run_words(toyland, tmp_path, "price_per_image=0.25")
    assert cli(*words, "--dry-run") == 0
    plan = " ".join(capsys.readouterr().out.split())
    total = int(plan.partition(" requests to ")[0].rpartition(" ")[2])
    assert f"{total / 4:,.2f} at 0.25 an image" in plan
    assert cli(*words, "--max-cost", "2") == 1
    first = capsys.readouterr().err
    assert "--max-cost 2 allows no further image" in first and "have cost 2.00" in first
    assert len(stored(tmp_path)) == 8
    assert cli(*words, "--max-cost", "2") == 1  # what was paid before counts
    assert len(stored(tmp_path)) == 8
    assert cli(*words, "--max-cost", "1000") == 0
    assert len(stored(tmp_path)) == total
    assert f"all of this run {total / 4:,.2f}" in capsys.readouterr().err
    generator = open_run(next(tmp_path.rglob("run.db"))).record.generator
    assert generator is not None and generator.cost == total / 4


def test_what_is_spent_is_written_down_with_every_image(tmp_path: Path) -> None:
    """So a process that is killed at any moment has spent nothing that the next does not know."""
    known: list[float | None] = []

    def speak(*_: Any) -> Said:
        (file,) = tmp_path.rglob("run.db")
        generator = open_run(file).record.generator
        known.append(generator.cost if generator else None)
        return one()

    with speaking(speak) as (url, _):
        words = run_words(url, tmp_path, "price_per_image=0.25", "workers=1")
        assert cli(*words, "--max-cost", "2") == 1
        assert known == [None, *(number / 4 for number in range(1, 8))]
        (path,) = tmp_path.iterdir()
        worker = served(url, price_per_image="0.25")  # another process on the same run
        settle(open_run(path), worker, 2.25)
        with pytest.raises(T2IBenchError, match=r"--max-cost 2.25 .* have cost 2.25") as caught:
            worker.generate(requests(PROMPTS, 1))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # it is sent on
    assert len(known) == 9


@pytest.mark.slow
def test_an_unknown_price_is_said_and_not_guessed(
    toyland: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = run_words(toyland, tmp_path)
    assert cli(*words, "--max-cost", "2") == 1
    assert "costs is unknown" in capsys.readouterr().err
    assert cli(*words, "--dry-run") == 0
    assert "their cost is unknown" in " ".join(capsys.readouterr().out.split())
    assert main(["run", "--model", "toyland", "--tasks", "mcas", "--max-cost", "1"]) == 1
    assert "toyland costs nothing" in capsys.readouterr().err


def test_what_the_server_says_an_image_cost_is_counted() -> None:
    with speaking(lambda *_: one()) as (url, _):
        model: Any = served(url)
        model.generate(requests(PROMPTS, 1))
        assert model.cost is None
    with speaking(lambda *_: json_reply({"data": [ROW], "usage": {"cost": 0.5}})) as (url, _):
        model = served(url)
        model.generate(requests(PROMPTS, 1))
        assert model.cost == 2.0


@pytest.mark.parametrize(
    "cost", ["1e400", "1" + "0" * 400, "-1", "NaN", "Infinity", "true", '"0.5"', "[1]", "1e9"]
)
def test_a_cost_that_is_none_loses_no_image(cost: str, tmp_path: Path) -> None:
    body = f'{{"data": [{json.dumps(ROW)}], "cost": {cost}, "usage": {{"cost": {cost}}}}}'.encode()
    reply = (200, {"content-type": "application/json"}, body)
    with speaking(lambda *_: reply) as (url, posted):
        model: Any = served(url)
        found = model.generate(requests(PROMPTS, 1))
    assert [drawn.status for drawn in found] == ["ok"] * len(PROMPTS) == ["ok"] * len(posted)
    assert model.cost is None


@pytest.mark.parametrize(
    "row",
    [{"b64_json": 5}, {"b64_json": ""}, {"url": ["a"]}, {"url": ""}, {"url": "", "b64_json": 1}],
)
def test_a_malformed_entry_is_failed_and_asked_for_again(row: dict[str, Any]) -> None:
    """Filtered images are a measured share; an entry that nobody can read is none of them."""
    with speaking(lambda *_: json_reply({"data": [row]})) as (url, _):
        (drawn,) = served(url).generate(requests(PROMPTS[:1], 1))
    assert (drawn.status, drawn.reason) == ("failed", "the server's entry of an image is malformed")
    with speaking(lambda *_: json_reply({"data": [{"b64_json": None}]})) as (url, _):
        (drawn,) = served(url).generate(requests(PROMPTS[:1], 1))
    assert drawn.status == "filtered"


def test_no_key_is_stored_or_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Said:
        sent = headers["authorization"]
        if "flower" in body["prompt"] or body["seed"] % 3:
            return wrong(f"Against our content policy, {sent}", code="content_policy_violation")
        return one(revised_prompt=f"{body['prompt']} {sent}")

    with speaking(speak) as (url, _):
        cli(*run_words(url, tmp_path))
    assert stored(tmp_path)
    seen = capsys.readouterr()
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert all(KEY.encode() not in text for text in texts)
    assert KEY not in seen.out + seen.err


def test_the_name_in_a_stored_file_does_not_make_anybody_pay(
    toyland: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(T2IBenchError, match="comes from a stored file"):
        create_generator("openai:m", {"base_url": "https://example.com/v1"}, recorded=True)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = create_generator("openai:m", {"base_url": toyland}, recorded=True)
    assert model.fingerprint == create_generator("openai:m", {"base_url": toyland}).fingerprint
    assert model.generate(requests(PROMPTS[:1], 1))[0].status == "ok"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"size": "big"}, "WIDTHxHEIGHT"),
        ({"body.prompt": "x"}, "body.prompt"),
        ({"body.api_key": "sk-1"}, "stored with the run"),
        ({"price_per_image": "-1"}, "price_per_image"),
        ({"stesp": "3"}, "Did you mean 'steps'"),
        ({"base_url": "127.0.0.1:80"}, "expected an address"),
        ({"api_key_env": "sk-1234567890"}, "environment variable"),
        ({"api_key_env": "my key"}, "name of an environment variable"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args: dict[str, str], says: str) -> None:
    with pytest.raises(T2IBenchError, match=says.replace("(", r"\(")):
        create_generator("openai:m", args)


def test_an_interrupted_run_asks_for_nothing_again_that_it_has(tmp_path: Path) -> None:
    api = Faults(images_server().images_app("m", create_generator("toyland")), 10**9, hang=0)
    wanted, workers = requests(PROMPTS, 20), 4
    got = 0

    def interrupt(batch: Any) -> None:
        nonlocal got
        got += len(batch)
        if got >= 30:
            raise KeyboardInterrupt

    with running(api) as url:
        with pytest.raises(KeyboardInterrupt):
            model = served(url, workers=workers)
            generate_images(wanted, model, ImageStore(Database(tmp_path), "f"), on_batch=interrupt)
        stored_now = len(ImageStore(Database(tmp_path), "f").attempts())
        assert stored_now >= 30
        generate_images(wanted, served(url), ImageStore(Database(tmp_path), "f"))
    assert len(ImageStore(Database(tmp_path), "f").attempts()) == len(wanted)
    assert api.charged.total() <= len(wanted) + workers  # what was under way, and no more


@pytest.mark.nightly
def test_two_thousand_requests_with_faults_lose_nothing_and_pay_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = without_waiting(monkeypatch)
    app = Faults(images_server().images_app("m", create_generator("toyland")), every=10, hang=2.5)
    prompts = [
        f"a photo of a {word} {number}" for word in ("nurse", "rose") for number in range(100)
    ]
    wanted = requests(prompts, 10)
    store = ImageStore(Database(tmp_path / "there"), "f")
    with running(app) as url:
        model = served(url, timeout=1)
        for _ in range(3):
            generate_images(wanted, model, store)
            if all(store.is_done(r.prompt, r.index) for r in wanted):
                break
    here = ImageStore(Database(tmp_path / "here"), "f")
    generate_images(wanted, create_generator("toyland"), here)
    for request in wanted:
        there, expected = (s.get(request.prompt, request.index) for s in (store, here))
        assert there is not None and expected is not None
        assert there.sha256 == expected.sha256, there.reason
    assert set(app.broken) == set(app.kinds) and app.broken.total() > 200
    assert len(app.charged) == len(wanted) and set(app.charged.values()) == {1}
    assert waits


@pytest.mark.nightly
def test_all_tasks_on_a_served_toy_have_the_images_of_toy(tmp_path: Path) -> None:
    words = ["run", "--tasks", "all", "--limit", "1", "--images-per-prompt", "1"]
    words += ["--guided-images-per-prompt", "1", "--generate-only", "--output-dir", str(tmp_path)]
    assert main([*words, "--model", "toy", "--model-args", "steps=1"]) == 0  # quicker
    api = images_server().images_app("toy", create_generator("toy", {"steps": "1"}))
    with running(api) as url:
        assert main([*words, "--model", "openai:toy", "--model-args", f"base_url={url}"]) == 0
    here, there = (
        {(row["prompt"], row["index"]): row["sha256"] for row in stored(folder)}
        for folder in (next(tmp_path.glob("toy*")), next(tmp_path.glob("openai-toy*")))
    )
    assert here == there and len(here) > 100
