"""Settings: one model for flags, config files, Python and the stored command."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from t2ibench.arguments import format_args, parse_args
from t2ibench.cli.parser import build_parser
from t2ibench.cli.run import settings_of
from t2ibench.errors import T2IBenchError
from t2ibench.settings import RunSettings, by_setting, flag_name, flags, read_settings

KEYS = st.text(
    st.characters(blacklist_characters="=,\"'", categories=("L", "N", "P")), min_size=1
)
TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30)
ARGS = st.dictionaries(KEYS, TEXTS, max_size=4)
NAMES = st.lists(
    st.text("abcdefgh:/._-", min_size=1, max_size=12).filter(
        lambda s: not s.startswith("-")
    ),
    max_size=3,
).map(tuple)
COUNTS = st.none() | st.integers(1, 10**6)


@given(ARGS)
def test_arguments_come_back(args: dict[str, str]) -> None:
    assert parse_args(format_args(args)) == args


@given(TEXTS)
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(T2IBenchError):
        args = parse_args(text)
        assert parse_args(format_args(args)) == args


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("negative_prompt=don't,steps=30", {"negative_prompt": "don't", "steps": "30"}),
        ('prompt="blurry, dark",steps=4', {"prompt": "blurry, dark", "steps": "4"}),
        ("a=[1,2],b=(x, y)", {"a": "[1,2]", "b": "(x, y)"}),
        (r'a="say \"no\" \\"', {"a": 'say "no" \\'}),
        ("a=", {"a": ""}),
        ("", {}),
        (" a = 1 , , b=2,", {"a": "1", "b": "2"}),
        ("old man.gender.female=0.5", {"old man.gender.female": "0.5"}),
    ],
)
def test_arguments_as_people_write_them(text: str, args: dict[str, str]) -> None:
    assert parse_args(text) == args


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a="b,c=1', "a quote is not closed"),
        ("a=(b,c=1", "a bracket is not closed"),
        ('a="b"c,d=1', "text follows the closing quote"),
        ("=3", "is not of the form key=value"),
        ("a=1,a=2", "'a' is given twice"),
        ("steps,a=1", "'steps' is not of the form key=value"),
    ],
)
def test_arguments_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(T2IBenchError, match=message):
        parse_args(text)


def parse(words: list[str]) -> RunSettings:
    return settings_of(build_parser().parse_args(words))


@pytest.mark.slow
@given(
    st.builds(
        RunSettings,
        model=st.none()
        | st.text("abc/:.-", min_size=1, max_size=9).filter(lambda s: s[0] != "-"),
        tasks=NAMES,
        model_args=ARGS,
        encoder=NAMES,
        judge=NAMES,
        judge_args=ARGS,
        captions=ARGS,
        include_path=st.lists(st.text("ab c/", min_size=1, max_size=9), max_size=2),
        images_per_prompt=COUNTS,
        guided_images_per_prompt=COUNTS,
        limit=COUNTS,
        allow_missing=st.booleans(),
        seed=st.integers(0, 10**6),
        n_permutations=st.integers(1, 10**6),
        n_bootstrap=st.integers(1, 10**6),
        dtype=st.none() | st.just("float16"),
        output_dir=st.sampled_from(["runs", "my runs", "/tmp/it's"]),
    )
)
def test_the_stored_command_gives_the_same_settings(settings: RunSettings) -> None:
    assert parse(settings.command()[1:]) == settings


def test_a_repeated_flag_of_several_values_adds_values() -> None:
    words = "--tasks weat --tasks mcas,tibet --judge-args a=1 --judge-args b=2 --seed 1 --seed 2"
    settings = parse(["run", *words.split()])
    assert settings.tasks == ("weat", "mcas", "tibet")
    assert settings.judge_args == {"a": "1", "b": "2"}
    assert settings.seed == 2
    words = "export runs/toy --to wandb --to hf-dataset:a/b"
    assert (
        build_parser().parse_args(words.split()).destinations == "wandb,hf-dataset:a/b"
    )


def test_every_flag_is_a_key_of_the_config_and_a_keyword() -> None:
    for name, _, _ in flags():
        assert name in RunSettings.model_fields
        assert (
            by_setting({flag_name(name)[2:]: 1}) == by_setting({name: 1}) == {name: 1}
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": -1}, "seed: expected greater than or equal to 0, found -1"),
        (
            {"images_per_prompt": 0},
            "images_per_prompt: expected greater than or equal to 1",
        ),
        ({"images_per_prompt": "4"}, "images_per_prompt: expected a whole number"),
        ({"limit": True}, "limit: expected a whole number"),
        ({"sed": 1}, "unknown setting 'sed'. Did you mean 'seed'?"),
        ({"device": 3}, "device: expected text, found 3"),
        ({"tasks": {"a": 1}}, "tasks: expected a list of names"),
        (
            {"allow_missing": "maybe"},
            "allow_missing: expected true or false, found 'maybe'",
        ),
    ],
)
def test_python_is_checked_like_the_command_line(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(T2IBenchError) as raised:
        read_settings(values)
    assert message in str(raised.value)


def test_bytes_that_are_no_characters_are_refused_as_such() -> None:
    """As with LC_ALL=C, where Python reads other letters than English ones as bytes."""
    with pytest.raises(T2IBenchError, match="bytes are no characters") as caught:
        read_settings({"model": "toyland", "name": "t\udcc3\udcabst"}, are_flags=True)
    assert "--name" in str(caught.value) and "LC_ALL=C.UTF-8" in str(caught.value)


STORED_NAMES = [
    "name",
    "output_dir",
    "model",
    "sources",
    "rewriter",
    "encoder",
    "judge",
    "judge_check",
]


@pytest.mark.parametrize("setting", STORED_NAMES)
def test_names_that_hold_a_secret_are_refused(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(read_settings({setting: "zQ7vTopSecret19"}), setting)
    monkeypatch.setenv("SOME_TOKEN", "zQ7vTopSecret19")
    with pytest.raises(T2IBenchError, match="holds a secret of the env") as raised:
        read_settings({setting: "my-zQ7vTopSecret19"})
    assert "zQ7v" not in str(raised.value)
    monkeypatch.delenv("SOME_TOKEN")
    with pytest.raises(T2IBenchError, match="or a password") as raised:
        read_settings({setting: "m@http://anna:zQ7vTopSecret19@example.com"})
    assert "zQ7v" not in str(raised.value)
    with pytest.raises(T2IBenchError, match="or a password"):
        read_settings({setting: "m@redis://:zQ7vTopSecret19@example.com"})


@pytest.mark.parametrize("setting", STORED_NAMES)
@pytest.mark.parametrize(
    "key",
    [
        "hf_" + "aB3d" * 8,
        "hf_" + "aBcdXy" * 6,
        "sk-proj-" + "aB3d" * 10,
        "ghp_" + "aB3d" * 9,
    ],
)
def test_names_that_have_the_form_of_a_key_are_refused(key: str, setting: str) -> None:
    with pytest.raises(T2IBenchError, match="looks like the key") as raised:
        read_settings({setting: f"runs-{key}"})
    assert "aB3d" not in str(raised.value)


@pytest.mark.parametrize("setting", ["name", "output_dir"])
@pytest.mark.parametrize(
    "name",
    [
        "sk-model-v2-of-monday",
        "hf_mirror_2026_nov",
        "desk-2",
        "basic stable-diffusion-15",
        "home/anna/stablediffusionexperiments/sk-model-2-runs",
        "scratch/0123456789abcdef0123456789abcdef/sk-turbo-v2",
        "hf_StableDiffusionXLBase10",
    ],
)
def test_ordinary_names_are_no_keys(name: str, setting: str) -> None:
    assert getattr(read_settings({setting: name}), setting) == name


def test_arguments_are_given_in_parts() -> None:
    parts = ["--model-args", "a=1", "--model-args", "b=2"]
    assert parse(["run", "--tasks", "t", *parts]).model_args == {"a": "1", "b": "2"}
