"""What images cost on servers: said beforehand, counted with retries and refusals, and limited."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from t2ibench.cli import main
from t2ibench.errors import CostLimitError, T2IBenchError
from t2ibench.models.generators import create_generator, price_table
from t2ibench.models.generators.price_table import installed_table, listed_price
from tests.models.chat import Said, json_reply, without_waiting
from tests.models.test_gateways import (
    DIALECTS,
    KEY,
    VARIABLES,
    Azure,
    ChatOfOpenRouter,
    encoded,
    model_of,
    replying,
)
from tests.models.test_served import PROMPTS, requests


class Images(Azure):
    """OpenAI's images API."""

    spec = "openai:painter"


class Responses:
    """OpenAI's Responses API, which takes no seed."""

    spec = "openai:writer"

    def prompt(self, body: dict[str, Any]) -> str:
        return str(body["input"])

    def image(self, body: dict[str, Any]) -> Any:
        assert body["tool_choice"] == {"type": "image_generation"}
        item = {"type": "image_generation_call", "status": "completed"}
        drawn = encoded(self.prompt(body), 1)
        return {"output": [{**item, "result": drawn, "revised_prompt": "drawn"}]}

    def refusal(self) -> Said:
        details = {"moderation_stage": "input", "categories": ["violence"]}
        error = {
            "code": "moderation_blocked",
            "message": "no",
            "moderation_details": details,
        }
        return json_reply({"error": error}, 400)


ALL = [*DIALECTS, Images(), Responses()]
BY_NAME = pytest.mark.parametrize(
    "dialect", ALL, ids=lambda dialect: type(dialect).__name__
)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)


def priced(dialect: Any, url: str, **args: Any) -> Any:
    further = {"api": "responses"} if isinstance(dialect, Responses) else {}
    return model_of(dialect, url, workers=1, **further, **args)


def charge_of(dialect: Any, price: float) -> float:
    """What an image costs: the reply's own word before the price of the user."""
    return 0.05 if type(dialect).__name__ in _STATE_COSTS else price


_STATE_COSTS = {"OpenRouter", "ChatOfOpenRouter"}


@BY_NAME
def test_no_dialect_goes_beyond_the_limit_and_refusals_are_free(dialect: Any) -> None:
    with replying(dialect, nurse=lambda _: dialect.refusal()) as (url, posted):
        model = priced(dialect, url, price_per_image="0.05")
        assert model.price_per_image() == 0.05
        assert "at 0.05 an image." in model.forecast(requests(PROMPTS, 2))
        model.limit_cost(0.15, before=0.05)
        with pytest.raises(CostLimitError, match="allows no further image"):
            model.generate(requests(PROMPTS, 2))
        # Two images are paid; the nurse's are refused, and cost nothing.
        assert model.cost == pytest.approx(0.1)
        asked = [body for body in posted if "path" not in body]
        assert len(asked) == 4


def saying_first(replies: list[Said], dialect: Any) -> Callable[[dict[str, Any]], Any]:
    """A server's answers: these replies, the last one first, and then images."""

    def speak(body: dict[str, Any]) -> Any:
        return replies.pop() if replies else dialect.image(body)

    return speak


@BY_NAME
def test_attempts_that_fail_on_the_way_cost_nothing_twice(
    dialect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    faults: list[Said] = [(503, {}, b"busy"), (429, {"retry-after": "1"}, b"{}")]
    with replying(dialect, photo=saying_first(faults, dialect)) as (url, _):
        model = priced(dialect, url, price_per_image="0.05", retries=5)
        images = model.generate(requests(PROMPTS, 1))
    assert [image.status for image in images] == ["ok"] * 4
    assert model.cost == pytest.approx(4 * charge_of(dialect, 0.05))


def test_replies_that_cannot_be_read_are_counted_as_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_waiting(monkeypatch)
    dialect = Images()
    broken: list[Said] = []
    speak = saying_first(broken, dialect)
    with replying(dialect, rose=speak) as (url, _):
        model = priced(dialect, url, price_per_image="0.05")
        assert model.generate(requests(PROMPTS[:1], 1))[0].status == "ok"
        broken += [(200, {}, b"<html>")]
        assert model.generate(requests(PROMPTS[1:2], 1))[0].status == "ok"
        assert model.cost == pytest.approx(0.15)
        broken += [(200, {}, b"<html>")] * 3
        (failed,) = model.generate(requests(PROMPTS[1:2], 1))
    assert failed.status == "failed"
    assert model.cost == pytest.approx(0.30)


def test_a_reply_that_cannot_be_read_does_not_raise_what_the_next_is_expected_to_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_waiting(monkeypatch)
    dialect = Images()
    replies: list[Said] = []
    speak = saying_first(replies, dialect)
    making = {"rose": speak, "ant": speak, "nurse": speak, "photo": speak}
    with replying(dialect, **making) as (url, posted):
        model = priced(dialect, url, price_per_image="0.05")
        model.limit_cost(0.30)
        model.generate(requests(PROMPTS[:1], 1))
        replies += [(200, {}, b"<html>")]
        with pytest.raises(CostLimitError):
            model.generate(requests(PROMPTS, 2))
    # Six replies were paid, one of which could not be read.
    assert model.cost == pytest.approx(0.30) and len(posted) == 6


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_no_run_costs_more_than_its_limit_however_many_replies_cannot_be_read(
    workers: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is sent again is a further one that may be paid."""
    without_waiting(monkeypatch)
    dialect = Images()
    chance = random.Random(workers)
    paid: list[float] = []

    def speak(body: dict[str, Any]) -> Any:
        paid.append(0.05)
        is_garbled = len(paid) > 1 and chance.random() < share
        return (200, {}, b"<html>") if is_garbled else dialect.image(body)

    making = dict.fromkeys(("rose", "ant", "nurse", "photo"), speak)
    with replying(dialect, **making) as (url, _):
        model = model_of(dialect, url, workers=workers, price_per_image="0.05")
        model.limit_cost(0.60)
        with pytest.raises(CostLimitError, match="allows no further image"):
            model.generate(requests(PROMPTS, 5))
    assert sum(paid) == pytest.approx(0.60) == model.cost


def test_a_limit_that_suffices_exactly_suffices() -> None:
    dialect = Images()
    with replying(dialect) as (url, _):
        model = model_of(dialect, url, workers=16, price_per_image="0.05")
        model.limit_cost(0.60)
        images = model.generate(requests(PROMPTS, 3))
    assert [image.status for image in images] == ["ok"] * 12
    assert model.cost == pytest.approx(0.60)


def test_a_refusal_after_a_reply_that_cannot_be_read_costs_that_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_waiting(monkeypatch)
    dialect = Images()
    replies: list[Said] = []
    speak = saying_first(replies, dialect)
    with replying(dialect, rose=speak) as (url, _):
        model = priced(dialect, url, price_per_image="0.05")
        model.generate(requests(PROMPTS[:1], 1))
        replies += [dialect.refusal(), (200, {}, b"<html>")]
        (refusal,) = model.generate(requests(PROMPTS[1:2], 1))
    assert refusal.status == "refused"
    assert model.cost == pytest.approx(0.10)


def test_a_refusal_costs_what_the_server_says() -> None:
    dialect = ChatOfOpenRouter()
    message = {"content": "I cannot draw that.", "refusal": "I cannot draw that."}
    reply = {"choices": [{"message": message}], "usage": {"cost": 0.01}}
    with replying(dialect, nurse=lambda _: json_reply(reply)) as (url, _):
        model = priced(dialect, url, price_per_image="0.05")
        images = model.generate(requests(PROMPTS[:2], 1))
    assert [image.status for image in images] == ["refused", "ok"]
    assert model.cost == pytest.approx(0.06)


def test_an_image_that_costs_more_than_its_price_raises_what_is_expected() -> None:
    dialect = ChatOfOpenRouter()  # each image costs 0.05, whatever the price says
    with replying(dialect) as (url, posted):
        model = priced(dialect, url, price_per_image="0.01")
        model.limit_cost(0.12)
        with pytest.raises(CostLimitError):
            model.generate(requests(PROMPTS, 1))
    assert model.cost == pytest.approx(0.10) and len(posted) == 2


LIES = {
    "NaN": float("nan"),
    "infinite": float("inf"),
    "negative": -1e9,
    "minus infinity": float("-inf"),
    "more than a million": 1e7,
    "more than any float": 10**400,
    "nothing": 0,
    "minus nothing": -0.0,
    "a text": "0.0",
    "no truth": False,
    "a list": [0.0],
    "a mapping": {"cost": 0.0},
    "null": None,
}


@BY_NAME
@pytest.mark.parametrize("lie", LIES)
def test_no_cost_that_a_server_invents_passes_the_limit(dialect: Any, lie: str) -> None:
    """An image whose cost is not stated in earnest counts at its price."""

    def speak(body: dict[str, Any]) -> Any:
        said = dialect.image(body)
        if isinstance(said, tuple):
            status, headers, data = said
            said = json.loads(data)
        else:
            status, headers = 200, {}
        said = {**said, "usage": {"cost": LIES[lie]}, "cost": LIES[lie]}
        return status, headers, json.dumps(said).encode()

    making = dict.fromkeys(("rose", "ant", "nurse", "photo"), speak)
    with replying(dialect, **making) as (url, posted):
        model = priced(dialect, url, price_per_image="0.05")
        model.limit_cost(0.15, before=0.05)
        with pytest.raises(CostLimitError, match="allows no further image"):
            model.generate(requests(PROMPTS, 2))
    assert model.cost == pytest.approx(0.1)
    assert len([body for body in posted if "path" not in body]) == 2


TABLE = {
    "low/1024-x-1024/gpt-image-1": {"input_cost_per_image": 0.011},
    "gpt-image-1": {"output_cost_per_image_token": 4e-05},
    "dall-e-4": {"output_cost_per_image": 0.08},
    "gemini/gemini-3-pro-image": {
        "input_cost_per_image": 0.0011,
        "output_cost_per_image": 0.134,
    },
    "fal_ai/high/1024-x-1024/gpt": {"output_cost_per_image": 0.2},
    "azure/high/1024-x-1024/gpt": {"input_cost_per_pixel": 1e-7},
    "usual": {"input_cost_per_image": 0.042},
    "high/1024-x-1024/usual": {"input_cost_per_image": 0.167},
    "pixels": {"input_cost_per_pixel": 1e-8},
    "broken": "no entry",
    "free": {"output_cost_per_image": 0},
    "odd": {"output_cost_per_image": True},
}


@pytest.mark.parametrize(
    ("model", "size", "quality", "price"),
    [
        ("gpt-image-1", "1024x1024", "low", 0.011),
        ("gpt-image-1", "1024x1024", None, None),
        ("gpt-image-1", None, "low", None),
        ("dall-e-4", None, None, 0.08),
        ("dall-e-4", "512x512", None, None),
        ("gemini/gemini-3-pro-image", None, None, 0.134),
        ("fal_ai/gpt", "1024x1024", "high", 0.2),
        ("azure/gpt", "1024x1024", "high", 0.1048576),
        # The model alone has a price of the size and quality that are usual for it.
        ("usual", None, None, 0.042),
        ("usual", None, "high", None),
        ("usual", "1536x1024", "high", None),
        ("usual", "1536x1024", None, None),
        ("usual", "1024x1024", "high", 0.167),
        ("pixels", "1000x1000", None, 0.01),
        ("pixels", "1000x1000", "high", None),
        ("broken", None, None, None),
        ("free", None, None, None),
        ("odd", None, None, None),
        ("unknown", "auto", None, None),
    ],
)
def test_a_table_says_a_price_of_this_size_and_quality_or_none(
    model: str, size: str | None, quality: str | None, price: float | None
) -> None:
    assert listed_price(TABLE, model, size, quality) == price


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """LiteLLM's table, installed beside a package that must not be imported."""
    package = tmp_path / "litellm"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    file = package / "model_prices_and_context_window_backup.json"
    file.write_text(json.dumps(TABLE))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    installed_table.cache_clear()
    yield
    installed_table.cache_clear()


def test_prices_of_providers_themselves_are_of_an_installed_table(table: None) -> None:
    gemini: Any = create_generator("gemini:gemini-3-pro-image")
    assert gemini.price_per_image() == 0.134
    assert gemini.forecast(requests(PROMPTS, 1)).endswith(
        "0.54 at 0.134 an image (LiteLLM's table)."
    )
    args = {"size": "1024x1024", "body.quality": "low"}
    openai: Any = create_generator("openai:gpt-image-1", args)
    assert openai.price_per_image() == 0.011
    # The user's own price wins, and a server of another address has none here.
    own: Any = create_generator("openai:gpt-image-1", {**args, "price_per_image": 2})
    assert own.price_per_image() == 2.0 and "table" not in own.forecast([])
    elsewhere = {**args, "base_url": "http://127.0.0.1:9/v1"}
    other: Any = create_generator("openai:gpt-image-1", elsewhere)
    assert other.price_per_image() is None
    # The tool of the Responses API draws with a model of its own.
    tool = {**args, "api": "responses", "image_model": "gpt-image-1"}
    responses: Any = create_generator("openai:writer", tool)
    assert responses.price_per_image() == 0.011
    assert "the tokens of writer come on top" in responses.forecast(
        requests(PROMPTS, 1)
    )
    unnamed: Any = create_generator("openai:gpt-image-1", {**args, "api": "responses"})
    assert unnamed.price_per_image() is None
    high = {"size": "1024x1024", "body.quality": "high"}
    high["base_url"] = "https://name.openai.azure.com"
    deployed: Any = create_generator("azure:mine", {**high, "base_model": "gpt"})
    assert deployed.price_per_image() == pytest.approx(0.1048576)
    assert create_generator("azure:gpt", high).price_per_image() is None
    assert deployed.fingerprint == create_generator("azure:mine", high).fingerprint
    larger: Any = create_generator("gemini:gemini-3-pro-image", {"size": "4096x4096"})
    assert larger.price_per_image() is None
    with pytest.raises(T2IBenchError, match="costs is unknown"):
        larger.limit_cost(1.0)


def test_without_a_table_no_price_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed_table.cache_clear()
    monkeypatch.setattr(price_table, "find_spec", lambda name: None)
    model: Any = create_generator("openai:dall-e-4")
    installed_table.cache_clear()
    assert model.price_per_image() is None


def test_a_dry_run_says_price_and_that_the_time_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--model", "openai:painter", "--tasks", "t2iat_flowers_insects"]
    words += ["--encoder", "toyland", "--limit", "2", "--images-per-prompt", "1"]
    words += ["--guided-images-per-prompt", "1", "--output-dir", str(tmp_path)]
    words += ["--model-args", "price_per_image=0.05", "--dry-run", "--max-cost", ".3"]
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"\d+ requests to \S+, \d\.\d\d at 0\.05 an image\.", out)
    assert "--max-cost 0.3 does not suffice" in out
    assert "Time: unknown, because no run of this model has measured it." in out


def test_the_responses_api_passes_check_adapter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with replying(Responses()) as (url, posted):
        arguments = f"api=responses,base_url={url},timeout=5"
        words = ["check", "adapter", "openai:writer", "--model-args", arguments]
        status = main([*words, "--other-args", "size=1024x1024"])
    out = capsys.readouterr().out
    assert status == 0, out
    assert "meets the contract of a generator" in out
    assert {body["tools"][0]["type"] for body in posted} == {"image_generation"}
