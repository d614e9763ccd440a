"""Rewriters, and generators behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.language import Rewriter, RewriteRequest
from t2ibench.models.protocols import (
    Charges,
    GeneratedImage,
    GeneratesInParts,
    ImageRequest,
    Releasable,
    ReportsSettings,
    ReportsWaits,
)
from t2ibench.models.rewriters import create_rewriter
from t2ibench.models.rewriters.instruction import DEFAULT, read_reply
from t2ibench.models.rewritten_generator import (
    NOT_REWRITTEN,
    Rewritten,
    describe,
    rewritten,
)
from t2ibench.store.database import Database
from t2ibench.store.rewrites import RewriteStore, StoredRewriting
from tests.models import tiny
from tests.models.chat import posted_text, serving, without_waiting
from tests.models.parts import Grey

pytestmark = pytest.mark.networks


def asked(*prompts: str) -> list[RewriteRequest]:
    return [
        RewriteRequest(prompt, None, number) for number, prompt in enumerate(prompts)
    ]


def written(path: Path, text: str) -> Rewriter:
    path.write_text(text, encoding="utf-8")
    return create_rewriter(f"file:{path}")


def texts(rewriter: Rewriter, *requests: RewriteRequest) -> list[str | None]:
    return [one.text for one in rewriter.rewrite(requests)]


def test_both_forms_of_a_file_say_the_same(tmp_path: Path) -> None:
    forms = (
        written(tmp_path / "a.jsonl", '{"prompt": "a", "rewritten": "b, c"}\n'),
        written(tmp_path / "a.csv", 'prompt,rewritten\na,"b, c"\n'),
    )
    assert [texts(one, *asked("a")) for one in forms] == [["b, c"]] * 2
    assert {one.per for one in forms} == {"prompt"}
    assert len({one.fingerprint for one in forms}) == 1
    other = written(tmp_path / "b.csv", "prompt,rewritten\na,b\n")
    assert other.fingerprint != forms[0].fingerprint


def test_images_draw_from_a_list_by_their_seeds(tmp_path: Path) -> None:
    rewriter = written(
        tmp_path / "a.jsonl",
        '{"prompt": "nurse", "rewritten": ["female nurse", "male nurse"]}',
    )
    assert rewriter.per == "image"
    requests = [RewriteRequest("nurse", index, 7919 * index) for index in range(2000)]
    drawn = texts(rewriter, *requests)
    # Binomial of 2,000: 4.5 standard deviations are 100; images of odd and of even numbers alike.
    assert abs(drawn.count("male nurse") - 1000) < 100
    assert abs(drawn[::2].count("male nurse") - drawn[1::2].count("male nurse")) < 100
    assert texts(rewriter, *requests[::-1]) == drawn[::-1]


def test_a_row_of_an_image_comes_before_one_of_all(tmp_path: Path) -> None:
    rewriter = written(tmp_path / "a.csv", "prompt,index,rewritten\na,1,c\na,,b\n")
    assert rewriter.per == "image"
    assert texts(rewriter, RewriteRequest("a", 0), RewriteRequest("a", 1)) == ["b", "c"]


def test_prompts_of_a_table_are_found_with_other_spaces(tmp_path: Path) -> None:
    text = "prompt,rewritten\na\u00a0 nurse\u200b,a nurse at work\n"
    assert texts(written(tmp_path / "a.csv", text), *asked("a nurse")) == [
        "a nurse at work"
    ]


def test_a_list_in_a_cell_is_drawn_from(tmp_path: Path) -> None:
    for cell in ('"[""x"", ""y""]"', "\"['x', 'y']\""):
        rewriter = written(tmp_path / "a.csv", f"prompt,rewritten\na nurse,{cell}\n")
        assert rewriter.per == "image"
        assert {
            *texts(rewriter, *(RewriteRequest("a nurse", 0, n) for n in range(20)))
        } == {
            "x",
            "y",
        }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,rewritten\na nurse,NA\n", ":2: 'rewritten' has no text"),
        ("prompt,rewritten\na nurse,#NAME?\n", ":2: 'rewritten' has no text"),
    ],
)
def test_missing_values_are_no_prompts(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(T2IBenchError, match=message):
        written(tmp_path / "a.csv", text)


def test_rewritings_that_no_image_would_get_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt,rewritten\nA NURSE,x\n")
    kept: Any = create_rewriter(f"file:{tmp_path / 'a.csv'}", {"missing": "keep"})
    with pytest.raises(T2IBenchError, match="rewrites no prompt of these tasks"):
        kept.check(asked("a nurse"))
    (tmp_path / "b.csv").write_text("prompt,index,rewritten\na,1,x\na,2,y\n")
    kept = create_rewriter(f"file:{tmp_path / 'b.csv'}", {"missing": "keep"})
    with pytest.raises(T2IBenchError, match="its indexes are 1 to 2, but the first"):
        kept.check([RewriteRequest("a", 0), RewriteRequest("a", 1)])


def test_missing_rewritings_are_reported_before_the_run(tmp_path: Path) -> None:
    rewriter: Any = written(tmp_path / "a.csv", "prompt,rewritten\na,b\n")
    with pytest.raises(
        T2IBenchError, match=r"lacks 4 of the 5 rewritings .* 'c', 'd', 'e', …"
    ):
        rewriter.check(asked("a", "c", "d", "e", "f"))
    kept: Any = create_rewriter(f"file:{tmp_path / 'a.csv'}", {"missing": "keep"})
    kept.check(asked("a", "c"))
    assert texts(kept, *asked("a", "c")) == ["b", "c"]
    assert kept.fingerprint != rewriter.fingerprint
    numbered: Any = written(tmp_path / "n.csv", "prompt,index,rewritten\na,0,b\n")
    with pytest.raises(T2IBenchError, match=r"lacks 1 of the 2 .* 'a' \(image 1\)"):
        numbered.check([RewriteRequest("a", 0), RewriteRequest("a", 1)])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "a.jsonl",
            '{"prompt": "a", "rewriten": "b"}',
            r":1: rewriten: .*Did you mean 'rewritten'",
        ),
        ("a.jsonl", '{"prompt": "a"}', "'rewritten' has no text"),
        ("a.jsonl", '{"prompt": "a", "rewritten": []}', "'rewritten' has no text"),
        ("a.jsonl", '{"prompt": "", "rewritten": "b"}', "prompt: expected a text"),
        (
            "a.jsonl",
            '{"prompt": "a", "rewritten": "b", "index": -1}',
            "index: expected greater than or equal to 0",
        ),
        (
            "a.jsonl",
            '{"prompt": "a", "rewritten": ["b", "c"], "index": 1}',
            "takes no 'index'",
        ),
        (
            "a.jsonl",
            '{"prompt": "a", "rewritten": "b"}\n' * 2,
            ":2: 'a' occurs twice",
        ),
        ("a.jsonl", "[1]", "not a JSON object"),
        ("a.jsonl", "", "has no rewritings"),
        ("a.csv", "prompt,rewritten\na,b,c\n", "3 cells, but the header has 2"),
        (
            "a.csv",
            "prompt,rewritten,index\na,b,one\n",
            ":2: index: expected a whole number",
        ),
    ],
)
def test_a_wrong_file_is_one_line(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    with pytest.raises(T2IBenchError, match=says) as error:
        written(tmp_path / name, text)
    assert "\n" not in str(error.value)


def test_names_and_arguments(tmp_path: Path) -> None:
    for spec, args, says in (
        ("opeani:m", {}, "Unknown rewriter 'opeani:m'. Did you mean 'openai:'"),
        (f"file:{tmp_path / 'none'}", {}, "No such file"),
        (
            "openai:m",
            {"template": "Be kind."},
            r"template=Be kind.: expected an instruction",
        ),
        ("openai:m", {"template": f"@{tmp_path / 'none'}"}, "none"),
        ("openai:m", {"per": "picture"}, "expected prompt or image"),
        ("openai:m", {"per": "image", "temperature": "0"}, "the same rewriting"),
        ("openai:m", {"template": "{number} {prompt}"}, "Add per=image"),
        ("openai:m", {"temprature": "1"}, "Did you mean 'temperature'"),
        ("hf:./nowhere", {}, "No such folder"),
    ):
        with pytest.raises(T2IBenchError) as error:
            create_rewriter(spec, args)
        assert re.search(says, str(error.value)), (spec, args, str(error.value))


def test_the_instruction_decides_the_fingerprint(tmp_path: Path) -> None:
    file = tmp_path / "diverse.txt"
    file.write_text("Rewrite, and name a gender at random: {prompt}", encoding="utf-8")
    changes = [{"template": f"@{file}"}, {"temperature": "0.5"}, {"per": "image"}]
    made = [
        create_rewriter("openai:m", args)
        for args in ({}, *changes, {"max_tokens": "7"})
    ]
    assert len({one.fingerprint for one in made}) == len(made)
    # How it is reached decides nothing.
    same = create_rewriter("openai:m", {"workers": "2", "retries": "1", "timeout": "9"})
    assert same.fingerprint == made[0].fingerprint
    assert made[0].settings["template"] == DEFAULT
    assert made[1].settings["template"] == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        ("A tall nurse,\n in light.", "ok", "A tall nurse, in light."),
        ("“A nurse”", "ok", "A nurse"),
        ('"A nurse" and "a chef"', "ok", '"A nurse" and "a chef"'),
        ("<think>Who?</think>\nA nurse", "ok", "A nurse"),
        ("<think>Who", "failed", None),
        ("  ", "failed", None),
        ("x" * 5000, "failed", None),
        ("I’m sorry, but I can’t help with that.", "refused", None),
        ("I cannot rewrite this.", "refused", None),
        ("I am a nurse", "ok", "I am a nurse"),
    ],
)
def test_replies(reply: str, status: str, text: str | None) -> None:
    found = read_reply(reply, "a nurse")
    assert (found.status, found.text) == (status, text)
    assert bool(found.reason) == (status != "ok")


def test_a_server_is_asked_once_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    without_waiting(monkeypatch)
    monkeypatch.setenv("MY_KEY", "secret")
    filtered = {
        "error": {"code": "content_filter", "message": "The prompt was filtered."}
    }

    def speak(body: dict[str, Any]) -> tuple[Any, ...]:
        prompt = posted_text(body).rpartition("Prompt: ")[2]
        cut = {"message": {"content": ""}, "finish_reason": "content_filter"}
        said: dict[str, tuple[Any, ...]] = {
            "a bomb": (400, filtered),
            "a gun": (
                200,
                {"choices": [{"message": {"refusal": "No guns.", "content": None}}]},
            ),
            "a knife": (200, {"choices": [cut]}),
            "an error": (400, {"error": {"message": "too long"}}),
        }
        return said.get(prompt, (200, f"{prompt}, at dusk"))

    prompts = ("a nurse", "a bomb", "a gun", "a knife", "an error", "a {index} nurse")
    with serving(speak) as (url, posted):
        rewriter = create_rewriter(
            "openai:m", {"base_url": url, "api_key_env": "MY_KEY"}
        )
        found = rewriter.rewrite(asked(*prompts))
    assert [one.status for one in found] == ["ok", *["refused"] * 3, "failed", "ok"]
    assert (found[0].text, found[5].text) == (
        "a nurse, at dusk",
        "a {index} nurse, at dusk",
    )
    assert len(posted) == len(prompts)
    assert {(one["temperature"], one["authorization"]) for one in posted} == {
        (0, "Bearer secret")
    }
    assert "secret" not in json.dumps(rewriter.settings)


def test_sampling_is_seeded_and_numbered() -> None:
    with serving(lambda body: (200, f"seed {body['seed']}: {posted_text(body)}")) as (
        url,
        posted,
    ):
        args = {
            "base_url": url,
            "per": "image",
            "template": "image {number} of {prompt}",
        }
        rewriter = create_rewriter("openai:m", args)
        requests = [RewriteRequest("a nurse", index, 100 + index) for index in range(3)]
        assert sorted(str(one.text) for one in rewriter.rewrite(requests)) == [
            f"seed {100 + n}: image {n + 1} of a nurse" for n in range(3)
        ]
    assert {one["temperature"] for one in posted} == {1.0}


def test_rewritings_received_before_a_server_fails_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_waiting(monkeypatch)

    def speak(body: dict[str, Any]) -> tuple[Any, ...]:
        gone = "prompt 5" in posted_text(body)
        return (
            (401, {"error": {"message": "wrong key"}}) if gone else (200, "rewritten")
        )

    got: list[int] = []
    with serving(speak) as (url, _):
        rewriter: Any = create_rewriter("openai:m", {"base_url": url, "workers": "1"})
        with pytest.raises(T2IBenchError, match="requires an API key"):
            for part in rewriter.rewrite_in_parts(
                asked(*(f"prompt {n}" for n in range(9)))
            ):
                got += [number for number, _ in part]
    assert got == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_a_rewriter_of_transformers(tmp_path: Path) -> None:
    folder = tiny.llama(tmp_path / "llama")
    greedy: Any = create_rewriter(f"hf:{folder}", {"max_tokens": "12"}, device="cpu")
    requests = asked("a chef", "a nurse", "a judge")
    found = greedy.rewrite(requests)
    assert greedy.rewrite(requests[::-1])[::-1] == found
    greedy.release()
    assert greedy.rewrite(requests) == found
    sampled = create_rewriter(
        f"hf:{folder}", {"max_tokens": "12", "per": "image"}, device="cpu"
    )
    images = [RewriteRequest("a chef", index, index) for index in range(4)]
    drawn = sampled.rewrite(images)
    assert sampled.rewrite(images[::-1])[::-1] == drawn
    assert len({one.text or one.reason for one in drawn}) > 1
    assert sampled.fingerprint != greedy.fingerprint
    with pytest.raises(T2IBenchError, match="no chat template"):
        base = tiny.llama(tmp_path / "base", chat=False)
        create_rewriter(f"hf:{base}", {}, device="cpu").rewrite(requests)


class Plain(Grey):
    """A generator without any optional member that knows what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ImageRequest] = []

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        self.asked += requests
        return super().generate(requests)


class Full(Plain):
    """A generator with all of them."""

    cost: float | None = 1.5

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [
            replace(one, revised_prompt="own word")
            for one in super().generate(requests)
        ]

    def generate_in_parts(
        self, requests: Sequence[ImageRequest]
    ) -> Iterator[list[tuple[int, GeneratedImage]]]:
        for number, drawn in reversed(list(enumerate(self.generate(requests)))):
            yield [(number, drawn)]

    def limit_cost(self, most: float, before: float = 0.0) -> None: ...

    def forecast(self, requests: Sequence[ImageRequest]) -> str:
        return f"{len(requests)} requests"

    def effective_settings(self) -> dict[str, Any]:
        return {"steps": 1}

    def release(self) -> None: ...

    def report_waits(self, tell: object) -> None: ...


def behind(generator: Any, tmp_path: Path) -> Any:
    rewriter = written(tmp_path / "a.csv", "prompt,rewritten\na nurse,a male nurse\n")
    model = rewritten(generator, describe(rewriter, generator))
    assert isinstance(model, Rewritten)
    store = RewriteStore(Database(tmp_path), rewriter.fingerprint)
    refused = StoredRewriting("a gun", None, "refused", None, "no")
    failed = StoredRewriting("a saw", None, "failed", None, "away")
    store.add(
        [StoredRewriting("a nurse", None, "ok", "a male nurse", ""), refused, failed]
    )
    other = RewriteStore(Database(tmp_path), "of another rewriter")
    other.add([StoredRewriting("a chef", None, "ok", "x", "")])
    model.rewritings = RewriteStore(Database(tmp_path), rewriter.fingerprint)
    return model


OPTIONAL = (GeneratesInParts, Charges, ReportsSettings, Releasable, ReportsWaits)


@pytest.mark.parametrize("kind", [Plain, Full])
def test_a_model_behind_a_rewriter(tmp_path: Path, kind: type[Plain]) -> None:
    generator: Any = kind()
    model = behind(generator, tmp_path)
    assert [isinstance(model, one) for one in OPTIONAL] == [kind is Full] * len(
        OPTIONAL
    )
    assert (
        model.name == "grey+file:a.csv" and model.fingerprint != generator.fingerprint
    )
    prompts = ("a gun", "a nurse", "a saw", "a chef", "a nurse")
    requests = [ImageRequest(prompt, k, 10 + k) for k, prompt in enumerate(prompts)]
    found = model.generate(requests)
    assert [one.status for one in found] == ["refused", "ok", "failed", "failed", "ok"]
    # the generator's own comes first
    used = "own word" if kind is Full else "a male nurse"
    assert [one.revised_prompt for one in found] == [None, used, None, None, used]
    assert all(one.reason.startswith(NOT_REWRITTEN) for one in found[2:4])
    # The seed is that of the prompt as it was: with and without, images begin with the same noise.
    assert generator.asked == [
        ImageRequest("a male nurse", 1, 11),
        ImageRequest("a male nurse", 4, 14),
    ]
    if kind is Full:
        parts = dict(
            pair for part in model.generate_in_parts(requests) for pair in part
        )
        assert [parts[k].status for k in range(5)] == [one.status for one in found]
        model.cost = 2.0
        assert generator.cost == 2.0 and model.forecast(requests) == "5 requests"
        assert model.effective_settings() == {"steps": 1}


def test_stored_rewritings_stay(tmp_path: Path) -> None:
    def row(status: str, text: str | None) -> StoredRewriting:
        return StoredRewriting("a", None, status, text, None)

    store = RewriteStore(Database(tmp_path), "f")
    store.add([row("failed", None)])
    assert not store.is_done("a", None)
    store.add([row("ok", "b")])
    store.add([row("ok", "c")])
    for one in (store, RewriteStore(Database(tmp_path), "f")):
        assert (one.find(ImageKey.of("a", 3)), one.find(ImageKey.of("b", 0))) == (
            row("ok", "b"),
            None,
        )
