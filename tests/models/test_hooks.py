"""Code of the user's own between a loaded pipeline and its images."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError
from t2ibench.models.fingerprint import file_hash
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.hooks import Hook, calls, find_hook
from t2ibench.models.generators.pipeline_arguments import DiffusersArguments
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.generation import generate_batch
from tests.models import hooks_of_tests, tiny
from tests.models.parts import refused
from tests.models.tiny import ARGS

pytestmark = pytest.mark.networks

HERE = "tests.models.hooks_of_tests"
REQUESTS = [
    ImageRequest(f"a photo of a {word}", index, 1000 * index + len(word))
    for word in ("nurse", "rose")
    for index in range(4)
]


def asked(target: str, **keywords: Any) -> dict[str, Any]:
    return {
        "hook": target,
        **{f"hook.{name}": value for name, value in keywords.items()},
    }


def given(args: dict[str, Any]) -> DiffusersArguments:
    return read_args(DiffusersArguments, args, "a pipeline")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (asked("no_such_module:hook"), "'no_such_module' cannot be imported"),
        (asked(f"{HERE}:nothin"), "Did you mean 'nothing'?"),
        (asked(f"{HERE}:WORD"), "is not a callable object"),
        (asked("hook"), "expected package.module:function"),
        (asked(f"{HERE}:steered", strnog=2), "'strnog'"),
        (asked("math:sin"), "math:sin"),
        ({"hook.strong": 2}, "hook.strong needs a hook: add hook="),
    ],
)
def test_invalid_hooks_get_a_one_line_error(args: dict[str, Any], message: str) -> None:
    with refused(message, "--model-args: hook"):
        find_hook(given(args))


def test_a_hook_of_a_stored_file_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "hook_that_must_not_run.py").write_text("raise SystemExit(1)\n")
    with pytest.raises(T2IBenchError, match="comes from a stored file"):
        create_generator("toy", asked("hook_that_must_not_run:hook"), recorded=True)
    assert "hook_that_must_not_run" not in sys.modules


@pytest.mark.slow
def test_a_hooks_file_and_keywords_are_part_of_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "a_hook_of_mine.py"
    file.write_text("def hook(pipeline, arguments, scale=1):\n    return pipeline\n")
    plain = create_generator("toy", {})
    one = create_generator("toy", asked("a_hook_of_mine:hook"))
    two = create_generator("toy", asked("a_hook_of_mine:hook", scale="2"))
    assert len({plain.fingerprint, one.fingerprint, two.fingerprint}) == 3
    assert (
        two.settings["hook"] == "a_hook_of_mine:hook"
        and two.settings["hook.scale"] == 2
    )
    assert two.settings["hook_sha256"] == file_hash(file)
    file.write_text(file.read_text() + "# other code\n")
    assert (
        create_generator("toy", asked("a_hook_of_mine:hook")).fingerprint
        != one.fingerprint
    )


class Recorded:
    """A pipeline that tells what it is called with."""

    components: dict[str, Any] = {}  # noqa: RUF012

    def __call__(
        self, prompt: Any, generator: Any = None, guidance_scale: float = 1.0
    ) -> Any: ...


def test_images_whose_calls_are_alike_are_made_together() -> None:
    per_image = hooks_of_tests.steered(Recorded(), {})
    found = list(calls(REQUESTS, per_image, Recorded(), "x"))
    assert found == [
        ([0, 2, 4, 5, 6, 7], {}, True),
        ([1, 3], {"guidance_scale": 3.0}, True),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [("breaks", "failed with ValueError: no such layer"), ("a_number", "gives a int")],
)
def test_a_hook_that_fails_says_so(name: str, message: str) -> None:
    hook = find_hook(given(asked(f"{HERE}:{name}")))
    assert hook is not None
    with refused(message, f"hook={HERE}:{name}"):
        hook.apply(Recorded(), DiffusersArguments())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_seed", "t2ibench sets generator for each image"),
        ("misspelt", "takes no guidance_scal. Did you mean 'guidance_scale'?"),
        ("a_word", "gives a str for an image"),
    ],
)
def test_arguments_that_cannot_be_passed_on(name: str, message: str) -> None:
    per_image = getattr(hooks_of_tests, name)(Recorded(), {})
    with refused(message):
        list(calls(REQUESTS, per_image, Recorded(), "x"))


def test_an_argument_that_the_hooks_pipeline_does_not_take() -> None:
    hook = Hook("x:y", "0", lambda pipeline, arguments: Recorded(), {})
    with pytest.raises(
        T2IBenchError, match=r"hook=x:y makes .* Recorded takes no steps"
    ):
        hook.apply(object(), given({"steps": 4}))
    with pytest.raises(T2IBenchError, match=r"takes no call\.clip_skip"):
        hook.apply(object(), given({"call.clip_skip": 1}))


def pixels(generator: Any, requests: list[ImageRequest]) -> list[np.ndarray]:
    return [
        np.asarray(one.image, dtype=int) for one in generate_batch(generator, requests)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.stable_diffusion(tmp_path_factory.mktemp("pipelines") / "sd"))


@pytest.mark.slow
def test_a_hook_changes_only_the_images_it_gives_arguments_for(folder: str) -> None:
    plain = pixels(create_generator(folder, ARGS), REQUESTS)
    assert all(map(np.array_equal, plain, pixels(made(folder, "nothing"), REQUESTS)))
    changed = pixels(made(folder, "steered", strong=2), REQUESTS)
    # A batch of another size rounds otherwise.
    same = [bool(np.abs(a - b).max() <= 1) for a, b in zip(plain, changed, strict=True)]
    assert same == [True, False, True, False, True, True, True, True]
    another = made(folder, "steered", strong=2)
    alone = [pixels(another, [request])[0] for request in REQUESTS[:3]]
    assert all(
        np.abs(one - other).max() <= 1
        for one, other in zip(alone, changed, strict=False)
    )


def made(folder: str, name: str, **keywords: Any) -> Any:
    return create_generator(folder, {**ARGS, **asked(f"{HERE}:{name}", **keywords)})


@pytest.mark.slow
def test_another_prompt_and_its_embedding_make_the_same_image(folder: str) -> None:
    reworded = pixels(made(folder, "reworded"), REQUESTS[:2])
    embedded = pixels(made(folder, "embedded"), REQUESTS[:2])
    assert np.abs(reworded[1] - embedded[1]).max() <= 1
    assert not np.array_equal(reworded[0], embedded[0])


@pytest.mark.slow
def test_one_image_that_a_hook_fails_for_costs_no_other(folder: str) -> None:
    outcomes = generate_batch(made(folder, "fails_for_roses"), REQUESTS)
    assert [one.status for one in outcomes] == ["ok"] * 4 + ["failed"] * 4
    assert "fails_for_roses failed with KeyError" in (outcomes[-1].reason or "")


@pytest.mark.nightly
def test_fair_diffusion_steers_toy_both_ways_and_leaves_other_prompts_alone() -> None:
    """The worked example: nearly all of toy's engineers are men, half of the steered ones."""
    from t2ibench.toyland.reader import read

    args = {"guidance": "1.5", **asked("examples.debias.fair_diffusion:fair_diffusion")}
    tuned = {
        "hook.scale": "1",
        "hook.threshold": "0",
        "hook.warmup": "0",
        "hook.momentum": "0",
    }
    engineers = [ImageRequest("a photo of an engineer", i, i) for i in range(24)]
    others = [
        ImageRequest("a photo of a female engineer", 0, 0),
        ImageRequest("a tulip", 0, 0),
    ]
    before = create_generator("toy", {"guidance": "1.5"}).generate(
        [*engineers, *others]
    )
    after = create_generator("toy", {**args, **tuned}).generate([*engineers, *others])

    def women(outcomes: list[Any]) -> int:
        return sum(read(one.image).top("gender") == "female" for one in outcomes[:24])

    assert women(before) <= 2
    assert 6 <= women(after) <= 18
    for one, other in zip(before[24:], after[24:], strict=True):
        assert one.image is not None and other.image is not None
        assert (
            np.abs(np.asarray(one.image, int) - np.asarray(other.image, int)).max() <= 1
        )
    with pytest.raises(T2IBenchError, match="needs guidance above 1"):
        create_generator("toy", {**args, "guidance": "1"}).generate(engineers[:1])
