"""Names: a model's own, readable, and like no other row's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from t2ibench import evaluate
from t2ibench.apps.leaderboard import names
from t2ibench.apps.leaderboard.board import folder_problems
from t2ibench.apps.leaderboard.submission import Card
from tests.apps.leaderboard.conftest import SHARES, model_results, write_submission
from tests.apps.leaderboard.forging import edit, refusal, set_in

Cli = Callable[..., tuple[int, str, str]]

FORM, CLAIM = "has to be 1 to 80 ASCII letters", "reads like an address or a verdict"
BAD: dict[str, str] = {
    **dict.fromkeys(
        ("", "a" * 81, "tоy", "x\u202egpj", "a\nb", "\ud800", "=cmd", "a|b"), FORM
    ),
    **dict.fromkeys((" sd", "s  d", "ｓｄ", "a`b", "日本語"), FORM),
    **dict.fromkeys(("https://example.org", "mine (Reproduced)"), CLAIM),
}
BORROWED = {
    "toy": "belongs to the model toy",
    "sdxl": "belongs to the model sdxl",
    "Stable Diffusion XL": "belongs to the model sdxl",
    "stabilityai/sdxl-turbo": "belongs to the model sdxl-turbo",
    "somebody/else": "reads like a hub id",
}
GOOD = [
    ("toyland", "toyland"),
    ("toyland-fair", "toyland"),
    ("sdxl", "stabilityai/stable-diffusion-xl-base-1.0"),
    ("Stable Diffusion XL", "diffusers:sdxl"),
    ("black-forest-labs/FLUX.1-dev", "flux-dev"),
    ("someone/tuned", "someone/tuned"),
    ("my_package:Grey", "my_package:Grey"),
]


@pytest.mark.parametrize("name", {**BAD, **BORROWED})
def test_bad_names_are_refused(name: str) -> None:
    (problem,) = names.problems(name, "toyland")
    assert {**BAD, **BORROWED}[name] in problem
    assert problem.isprintable()


@pytest.mark.parametrize(("name", "model"), GOOD)
def test_good_names_are_taken(name: str, model: str) -> None:
    assert list(names.problems(name, model, {"steps": "4"}, "abc")) == []


def test_names_with_unprintable_or_confusable_characters_are_problems() -> None:
    for given in (
        ("x\u202ey",),
        ("m", {"key": "x\ny"}),
        ("m", {}, "\ud800"),
        ("mоdel",),
    ):
        assert list(names.problems("mine", *given))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("toy fair", "Toy_Fair"), ("model", "rnodel"), ("toyland", "t0yIand"), ("wave", "vvave"),
        ("sd-5", "sd-S"), ("model 8", "model B"), ("cloud", "doud"),
    ],
)  # fmt: skip
def test_names_that_can_be_confused_are_lookalikes(one: str, other: str) -> None:
    assert names.lookalike(one, {"a": "another", "b": other}) == "b"


@pytest.mark.parametrize(
    ("one", "other"),
    [("sd-1.5", "sd-15"), ("v1", "v2"), ("toy", "toyland"), ("sd-2", "sd-z")],
)
def test_different_names_are_no_lookalikes(one: str, other: str) -> None:
    assert names.lookalike(one, {"b": other}) is None


def test_a_forged_name_is_refused(submission: Path) -> None:
    edit(submission, "results.json", set_in("model", "name", value="toy|"))
    edit(submission, "submission.json", set_in("name", value="toy|"))
    assert "the name 'toy|' has to be" in refusal(submission)


def test_add_refuses_a_reserved_name_before_packing(
    cli: Cli, run: Path, packed: Path
) -> None:
    root = packed.parent
    before = sorted(root.iterdir())
    for name, why in (
        ("sdxl", "belongs to the model sdxl"),
        ("a\nb", "ASCII letters"),
    ):
        status, _, err = cli(
            "leaderboard", "add", str(run), "--to", str(root), "--name", name
        )
        assert status == 1 and why in err.splitlines()[-1]
    assert sorted(root.iterdir()) == before


def test_a_run_that_would_be_refused_leaves_nothing_behind(
    cli: Cli, tmp_path: Path
) -> None:
    evaluate(
        "toyland", "t2iat_flowers_insects", output_dir=tmp_path, images_per_prompt=2,
        guided_images_per_prompt=1, n_permutations=99, n_bootstrap=50,
    )  # fmt: skip
    to = tmp_path / "leaderboard" / "submissions"
    status, _, err = cli("leaderboard", "add", tmp_path / "toyland", "--to", to)
    assert (
        status == 1
        and "scored with 99 permutations" in err
        and "nothing was written" in err
    )
    assert not to.parent.exists() and not list(tmp_path.glob(".t2ibench-*"))


def test_add_refuses_a_lookalike_and_normalises_a_name(
    cli: Cli, run: Path, tmp_path: Path
) -> None:
    write_submission(tmp_path, "mine", model_results(0, SHARES["toy"]))
    to = ("--to", str(tmp_path))
    status, _, err = cli("leaderboard", "add", str(run), *to, "--name", "M1NE")
    assert status == 1 and "looks like that of mine-00000004" in err
    status, out, err = cli("leaderboard", "add", str(run), *to, "--name", " ours  2 ")
    assert status == 0, (out, err)
    assert list(tmp_path.glob("ours-2-*"))


def test_verify_sees_the_folder_as_a_whole(packed: Path, tmp_path: Path) -> None:
    root = tmp_path / "submissions"
    shutil.copytree(packed, root / packed.name)
    write_submission(root, "toyIand", model_results(0, SHARES["toy"]))
    (problem,) = folder_problems(root)
    assert "looks like that of" in problem


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "data:text/html,<b>x</b>", "file:///etc/passwd", "//example.org/x",
        "https:///x", "https://user:word@example.org/x", "https://example.org@other.org/",
        "https://example.org/a b", 'https://example.org/"onclick=x', "https://example.org/<b>",
        "https://exämple.org/x", "https://example.org/\u202e", "https://example.org/\\..",
        "https://example.org/\x00",
    ],
)  # fmt: skip
def test_a_page_of_the_board_links_to_no_odd_address(address: str) -> None:
    with pytest.raises(ValidationError, match="expected an address"):
        Card(url=address)


def test_a_page_of_the_board_links_to_a_page_of_the_model() -> None:
    address = "https://example.org:8080/models/a-b_c?version=1#card"
    assert Card(url=address).facts()[-1] == ("Page", address, address)
    assert Card().facts()[-1] == ("Page", "not stated", None)


@pytest.mark.parametrize(
    "day", ["2026-13", "2026-02-30", "today", "2026-5-1", "20260501"]
)
def test_a_day_that_there_is_not_is_refused(day: str) -> None:
    with pytest.raises(ValidationError):
        Card(released=day)
    assert Card(released="2026-05").released == "2026-05"
