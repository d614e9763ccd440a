"""One redaction: names, looks and values of secrets, at any depth and in any form."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote

import pytest

import t2ibench
from t2ibench.arguments import args_of
from t2ibench.cli.failure import print_traceback
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


@pytest.mark.parametrize("form", [KEY, KEY[::-1], KEY.upper()])
@pytest.mark.parametrize("place", [1, 3, len(KEY) // 2])
def test_a_key_around_a_key_is_hidden_too(form: str, place: int) -> None:
    known = Redaction([KEY])
    around = form[:place] + KEY + form[place:]
    assert known.values(f"I heard {around} .") == "I heard *** ."
    twice = form[:place] + around + form[place:]
    assert not known.contains(known.values(twice))


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


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("HTTPS_PROXY", "http://user:{}@proxy.example:3128"),
        ("http_proxy", "user:{}@proxy.example:3128"),
        ("ALL_PROXY", "socks5://user:{}@[::1]:1080"),
        ("STORE", "postgresql://user:{}@db/x"),
        ("PIP_EXTRA_INDEX_URL", "https://a.example/x https://{}@b.example/simple"),
    ],
)
def test_messages_hide_passwords_in_addresses_of_the_environment(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = "correct%20horse%2Fstaple-9"
    monkeypatch.setenv(name, address.format(password))
    for form in (password, "correct horse/staple-9"):
        basic = base64.b64encode(f"user:{form}".encode()).decode()
        assert form not in str(T2IBenchError(f"407 of the proxy for {form}"))
        assert basic not in str(T2IBenchError(f"407: Basic {basic} refused"))


@pytest.mark.parametrize(
    "value",
    [
        "git@github.example:somebody/something",
        "somebody.with.a.long.name@mail.example",
        "https://host.example/path?who=somebody@mail.example",
        "/usr/local/bin:/usr/bin",
        "https://username:password@host.example",
    ],
)
def test_addresses_without_a_password_are_no_secrets(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING", value)
    assert str(T2IBenchError(f"of {value}.")) == f"of {value}."


def test_tracebacks_hide_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("T2IBENCH_TRACEBACK", "1")
    try:
        raise ValueError(f"no access for {KEY}\x1b[2J")
    except ValueError as error:
        print_traceback(error)
    errors = capsys.readouterr().err
    assert "Traceback" in errors and "no access for ***" in errors
    assert KEY not in errors and "\x1b" not in errors


def escaped(key: str, form: str) -> str:
    """A key with each of its characters written in another way."""
    return "".join(form.format(ord(character)) for character in key)


ENTITIES = {"+": "plus", "/": "sol", "=": "equals", "_": "lowbar"}
ENCODED: dict[str, Any] = {
    "hex": lambda key: key.encode().hex(),
    "hex in capitals": lambda key: key.encode().hex().upper(),
    "hex with colons": lambda key: key.encode().hex(":"),
    "hex with blanks": lambda key: key.encode().hex(" "),
    "hex of C": lambda key: escaped(key, "0x{:02x}, "),
    "hex of Base64": lambda key: base64.b64encode(key.encode()).hex(),
    "Base64 of Base64": lambda key: base64.b64encode(
        base64.b64encode(key.encode())
    ).decode(),
    "Base64 of hex": lambda key: base64.b64encode(key.encode().hex().encode()).decode(),
    "Base64 thrice": lambda key: base64.b64encode(
        base64.b64encode(base64.b64encode(f"a key: {key}".encode()))
    ).decode(),
    "Base64 in lines": lambda key: base64.encodebytes(
        b"x" * 50 + key.encode()
    ).decode(),
    "Base64 in a URL": lambda key: (
        base64.b64encode(key.encode()).decode().replace("=", "%3D").replace("+", "%2B")
    ),
    "percent": lambda key: escaped(key, "%{:02X}"),
    "percent twice": lambda key: escaped(key, "%25{:02x}"),
    "entities": lambda key: escaped(key, "&#{};"),
    "entities of hex": lambda key: escaped(key, "&#x{:X};"),
    "named entities": lambda key: re.sub(
        "[+/=_]", lambda mark: f"&{ENTITIES[mark[0]]};", key
    ),
    "JSON": lambda key: escaped(key, "\\u{:04x}"),
    "JSON of PHP": lambda key: key.replace("/", "\\/"),
    "JSON in JSON": lambda key: escaped(key, "\\\\u{:04x}"),
    "C": lambda key: escaped(key, "\\x{:02x}"),
    "marks in C": lambda key: re.sub(
        r"\W", lambda mark: escaped(mark[0], "\\x{:02X}"), key
    ),
    "capitals": str.upper,
    "swapped": str.swapcase,
    "spaced": " ".join,
    "with dashes": "-".join,
    "in lines": "\n".join,
    "without its marks": lambda key: "".join(filter(str.isalnum, key)),
    "backwards": lambda key: key[::-1],
    "backwards in Base64": lambda key: base64.b64encode(key[::-1].encode()).decode(),
}


@pytest.mark.parametrize("name", ENCODED)
def test_a_key_is_decoded_before_it_is_compared(name: str) -> None:
    for key in (KEY, "sk-or-v1-0123456789abcdef0123", "gAAAA1_b2-c3d4e5f6g7h8"):
        encoded = ENCODED[name](key)
        text = Redaction([key]).values(f"I heard {encoded} .")
        third = len(encoded) // 3
        assert "***" in text and encoded[third : 2 * third] not in text, (key, text)


@pytest.mark.parametrize("encoded", [json.dumps, quote, str.upper])
def test_a_passphrase_of_any_alphabet_is_hidden(encoded: Any) -> None:
    known = Redaction(["пароль-😀-из-слов"])
    assert known.values(f"I heard {encoded('пароль-😀-из-слов')}").strip('"') in {
        "I heard ***",
        'I heard "***',
    }


def test_a_secret_that_begins_like_another_is_hidden_whole() -> None:
    known = Redaction(["abcdef012345", "abcdef012345-and-more", "abcdef"])
    assert known.values("of abcdef012345-and-more") == "of ***"


def test_secrets_of_a_word_length_are_hidden_from_a_server_and_longer_ones_in_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Redaction(["sixsix"]).values("a sixsix") == "a ***"
    assert not Redaction(["fives"]) and not Redaction().contains("anything")
    monkeypatch.setenv("SOME_TOKEN", "eightful")
    monkeypatch.setenv("OTHER_TOKEN", "sevenfu")
    assert str(T2IBenchError("no eightful, sevenfu")) == "no ***, sevenfu"
    # The path of a file with a secret is none.
    monkeypatch.setenv("TOKEN", "/run/secrets/token")
    assert str(T2IBenchError("no /run/secrets/token")) == "no /run/secrets/token"


def test_a_secret_in_the_name_of_an_argument_is_not_named() -> None:
    assert secret_argument({"body.sk-proj-abcdefgh1234": "yes"}) == "***"
    assert secret_argument({"steps": "3", "api_key": VALUE}) == "api_key"


def test_ordinary_texts_are_kept_whole() -> None:
    known = Redaction(
        [KEY, "correct-horse-battery", "0123456789ab", "w-a-t-e-r-f-a-l-l"]
    )
    for text in (
        "A photo of a nurse, in the style of a 1950s poster; seed 1234567890",
        "a" * 64,
        base64.b64encode(bytes(range(256)) * 40).decode(),
        "3f2a" * 16 + " is a SHA-256",
        "&amp;&lt;&#33; \\u0041 %41%42%43",
        "a horse, a battery: correct",
        "a waterfall",
    ):
        assert known.values(text) == text


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"base_url": "http://127.0.0.1:9/v1?key=Zq7vT9mKx2Lw"}, "base_url"),
        ({"base_url": "http://127.0.0.1:9/v1?a=b&api-key=Zq7vT9mKx2Lw"}, "base_url"),
        ({"base_url": "http://127.0.0.1:9/v1#access_token=Zq7vT9mKx2Lw"}, "base_url"),
        ({"base_url": "http://127.0.0.1:9/v1#Zq7vT9mKx2Lw4Rb8Np"}, "base_url"),
        ({"api_key_env": "Zq7vT9mKx2Lw4Rb8Np"}, "api_key_env"),
        ({"base_url": "http://127.0.0.1:9/v1?api-version=2026-01-01"}, None),
        ({"base_url": "http://127.0.0.1:9/v1?Zq7vT9mKx2Lw4Rb8Np=="}, "base_url"),
        ({"base_url": "http://:Zq7vT9mKx2Lw@127.0.0.1:9/v1"}, "base_url"),
        ({"base_url": "http://127.0.0.1:9/v1?apiVersion=2026-01-01"}, None),
        ({"base_url": "http://127.0.0.1:9/v1?deployment=GPT-4o-mini"}, None),
        ({"base_url": "http://127.0.0.1:9/v1?key=none"}, None),
        ({"api_key_env": "MY_KEY_OF_2026_FOR_TESTS"}, None),
        ({"api_key_env": "my_key_of_2026_for_tests"}, None),
        ({"api_key_env": "myKeyForTheServer"}, None),
    ],
)
def test_a_key_in_the_place_of_its_variable_or_in_a_query_is_a_secret(
    args: dict[str, str], named: str | None
) -> None:
    """As in the arguments of a judge that no task asks, which are stored all the same."""
    assert secret_argument(args) == named
