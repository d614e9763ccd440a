"""One redaction: names, looks and values of secrets, at any depth and in any form."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import t2ibench
from t2ibench.arguments import args_of
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.generators import create_generator
from t2ibench.redaction import Redaction, secret_argument

KEY = "kX7-very+secret/0123456789=="
VALUE = "q1w2e3r4t5"


def forms(key: str) -> list[str]:
    data = key.encode()
    return [
        key, key.upper(), key.lower(), json.dumps(key)[1:-1],
        base64.b64encode(data).decode(), base64.b64encode(b"user:" + data).decode(),
    ]  # fmt: skip


@pytest.mark.parametrize("echo", forms(KEY))
def test_a_key_is_hidden_in_every_form(echo: str) -> None:
    known = Redaction([KEY])
    text = known.values(f"I heard {echo} .")
    rest = text.removeprefix("I heard ").removesuffix(" .")
    third = len(echo) // 3
    assert "***" in rest and echo[third : 2 * third] not in text, rest
    assert known.of_json({"a": [{echo: echo}], "b": 1}) == {"a": [{rest: rest}], "b": 1}


def test_answers_of_people_and_models_are_left_as_they_are() -> None:
    known = Redaction([KEY, "EMPTY", "dogcat"])
    for text in (
        "an EMPTY room",
        "a dog cat",
        "token: x",
        "the secret: none",
        "Dogcat",
    ):
        assert known.values(text) == text


SECRETS: list[dict[str, Any]] = [
    {f"body.{name}": VALUE}
    for name in (
        "x-api-key", "access_key", "key", "auth", "bearer", "credentials", "fal_key", "apiKey",
        "falKey", "X-Auth-Token", "password", "ｋｅｙ", "Cookie", "pass-phrase.secret",
    )
]  # fmt: skip
SECRETS += [
    {"body.headers": {"Authorization": f"Bearer {VALUE}"}},
    {"body.headers": json.dumps({"extra": [{"Authorization": VALUE}]})},
    {"body.extra": [["x", {"y": {"token": [VALUE]}}]]},
    {"body.note": "sk-proj-abcdefgh1234"},
    {"body.note": f"Bearer {VALUE}"},
    {"body.note": "https://me:hunter22@example.org/v1"},
    {"body.sk-proj-abcdefgh1234": "yes"},
    {"api_key_env": "hf_abcdEFGH12345678"},
    {"body.note": "it is MYVALUE-IN-THE-ENVIRONMENT."},
]


@pytest.mark.parametrize("args", SECRETS, ids=lambda one: next(iter(one)))
@pytest.mark.parametrize(
    "flag", ["--model-args", "--judge-args", "--rewriter-args", "--log-args"]
)
def test_an_argument_that_is_a_secret_is_refused_and_not_shown(
    args: dict[str, Any], flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_SECRET", "MyValue-in-the-environment")
    with pytest.raises(
        T2IBenchError, match="arguments are stored with the run"
    ) as caught:
        args_of(args, flag)
    said = str(caught.value)
    assert said.startswith(flag)
    assert VALUE not in said and "sk-proj" not in said and "hf_ab" not in said


def test_neither_the_command_line_nor_python_stores_a_secret(
    cli: Any, tmp_path: Any
) -> None:
    words = (
        "--model",
        "openai:m",
        "--tasks",
        "t2iat_science_arts",
        "--output-dir",
        tmp_path,
    )
    status, out, errors = cli(*words, "--model-args", f"body.x-api-key={VALUE}")
    assert status == 1 and VALUE not in out + errors and not list(tmp_path.iterdir())
    nested = {"body.headers": json.dumps({"Authorization": VALUE})}
    with pytest.raises(T2IBenchError, match="arguments are stored"):
        t2ibench.evaluate(
            "openai:m", "t2iat_science_arts", model_args=nested, output_dir=tmp_path
        )
    with pytest.raises(T2IBenchError, match="arguments are stored"):
        create_generator("openai:m", nested)
    assert not list(tmp_path.iterdir())


def test_usual_arguments_are_taken() -> None:
    usual = {
        "max_tokens": "256", "api_key_env": "OPENAI_API_KEY", "hook.token_merging": "mean",
        "negative_prompt": "a bearer of bad news, 2 keys", "call.keyboard": "qwerty layout",
        "base_url": "http://127.0.0.1:8000/v1", "author": "somebody", "load.vae": "null",
        "template": "monkey: {prompt}", "body.seed": "7", "uri": "http://host:5000",
        "body.token": "false", "hook.key_frames": "first", "call.key": "3",
    }  # fmt: skip
    assert secret_argument(usual) is None


def test_messages_hide_secrets_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("SOME_TOKEN", "true")
    for text in forms(KEY):
        if "\n" not in text:
            assert "***" in first_line(ValueError(f"no access for {text}"))
    said = T2IBenchError(
        f"no access for {KEY}", f"not with sk-ant-0123456789 or {KEY}, true"
    )
    assert str(said) == "no access for *** not with *** or ***, true"
