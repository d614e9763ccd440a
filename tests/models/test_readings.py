"""What a pipeline's text encoders read of a prompt, held against its images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from t2ibench.models.generators.diffusers import DiffusersGenerator
from t2ibench.models.protocols import ImageRequest, ReportsUnread, TowerReading
from t2ibench.models.rewritten_generator import FoundRewritings, describe, rewritten
from tests.models import tiny
from tests.models.pipelines import matrix, parts
from tests.models.tiny import draw, made

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

SENTENCE = "a photo of a nurse , the rose , an ant , a person"
LONG = " ".join([SENTENCE] * 8)
LONGER = " ".join([SENTENCE] * 100)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pipelines")
    return {
        name: tiny.PIPELINES[name](root / name)
        for name in ("sd", "sdxl", "sd3", "flux")
    }


def read(generator: DiffusersGenerator, prompt: str) -> Mapping[str, TowerReading]:
    """What each tower read of a prompt, by its name; nothing where all did."""
    draw(generator, [ImageRequest(prompt, 0, 1)], 1)
    assert isinstance(generator, ReportsUnread)
    return {tower.tower: tower for tower in generator.unread_prompts().get(prompt, ())}


def image(generator: DiffusersGenerator, words: list[str]) -> np.ndarray:
    return draw(generator, [ImageRequest(" ".join(words), 0, 1)], 1)[0]


def test_a_short_prompt_is_read_to_its_end(folders: dict[str, Path]) -> None:
    assert read(made(folders["sd"]), SENTENCE) == {}


def test_the_end_beyond_clips_77_tokens_is_not_read(folders: dict[str, Path]) -> None:
    generator = made(folders["sd"])
    (clip,) = read(generator, LONG).values()
    assert (clip.tower, clip.limit) == ("CLIP", 77) and clip.tokens > 77
    assert LONG.endswith(clip.unread) and not LONG.startswith(clip.unread)
    words, end = LONG.split(), clip.unread.split()
    first = len(words) - len(end)
    same = [*words[: first + 1], *["clerk" for _ in end[1:]]]
    assert np.array_equal(image(generator, words), image(generator, same))
    other = [*words[: first - 1], "clerk", *words[first:]]
    assert not np.array_equal(image(generator, words), image(generator, other))


def test_every_tower_has_a_length_of_its_own(folders: dict[str, Path]) -> None:
    towers = read(made(folders["sd3"]), LONG)
    assert list(towers) == ["CLIP", "CLIP 2", "T5"]
    assert towers["CLIP"].unread == towers["CLIP 2"].unread != ""
    assert towers["T5"].unread == "" and towers["T5"].limit == 256
    assert list(read(made(folders["sdxl"]), LONG)) == ["CLIP", "CLIP 2"]


def test_settings_decide_the_length(folders: dict[str, Path]) -> None:
    towers = read(made(folders["flux"], **{"call.max_sequence_length": "64"}), LONG)
    assert towers["T5"].limit == 64 and 0 < len(towers["T5"].unread) < len(
        towers["CLIP"].unread
    )
    # A second prompt goes to T5, so nothing is known of what T5 reads of the first.
    towers = read(made(folders["flux"], **{"call.prompt_2": "a rose"}), LONG)
    assert list(towers) == ["CLIP"]


def test_a_negative_prompt_is_none_of_the_images(folders: dict[str, Path]) -> None:
    generator = made(folders["sd"], negative_prompt=LONG)
    assert read(generator, SENTENCE) == {}


def test_a_text_that_a_pipeline_cuts_before_its_tokenizer(tmp_path: Path) -> None:
    name = "Kandinsky5T2IPipeline"
    towers = read(matrix.loaded(name, parts.saved(name, tmp_path / name)), LONGER)
    assert towers["Qwen"].unread and LONGER.endswith(towers["Qwen"].unread)


@pytest.mark.parametrize(
    ("name", "tower", "limit"),
    [
        # Its tokenizer has another one inside.
        ("KolorsPipeline", "ChatGLM", 256),
        # Its text encoder is called bert.
        ("LDMTextToImagePipeline", "CLIP", 77),
        # Their tokenizers are inside of processors.
        ("NucleusMoEImagePipeline", "Qwen", 1024),
        ("BriaFibo2Pipeline", "Qwen", 512),
    ],
)
def test_a_tokenizer_is_recorded_wherever_a_pipeline_has_it(
    name: str, tower: str, limit: int, tmp_path: Path
) -> None:
    generator = matrix.loaded(name, parts.saved(name, tmp_path / name))
    towers = read(generator, LONGER)
    assert list(towers) == [tower]
    assert towers[tower].limit == limit
    assert LONGER.endswith(towers[tower].unread) and towers[tower].unread


def test_truncated_prompts_of_one_batch_are_distinguished(
    folders: dict[str, Path],
) -> None:
    generator = made(folders["sd"])
    prompts = [SENTENCE, LONG, LONG + " clerk", SENTENCE]
    draw(generator, [ImageRequest(prompt, 0, 1) for prompt in prompts], 4)
    unread = generator.unread_prompts()
    assert list(unread) == [LONG, LONG + " clerk"]
    assert unread[LONG + " clerk"][0].unread.endswith("clerk")


def test_noting_changes_no_image(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = draw(made(folders["sd3"]), [ImageRequest(LONG, 0, 1)], 1)[0]
    monkeypatch.setattr("t2ibench.models.generators.readings._towers", lambda _: {})
    generator = made(folders["sd3"])
    assert np.array_equal(noted, image(generator, LONG.split()))
    assert generator.unread_prompts() == {}


def test_a_rewritten_generator_reports_unread_prompts(folders: dict[str, Path]) -> None:
    from types import SimpleNamespace

    generator = made(folders["sd"])
    rewriter = SimpleNamespace(name="mine", fingerprint="f", per="prompt", settings={})
    model = rewritten(generator, describe(rewriter, generator))  # type: ignore[arg-type]
    assert isinstance(model, ReportsUnread)
    model.rewritings = FoundRewritings({})  # type: ignore[attr-defined]
    read(generator, LONG)
    assert list(model.unread_prompts()) == [LONG]


# It makes no image of a prompt that is longer than it reads, and says so.
FAILS_ON_LONG_PROMPTS = {"Ideogram4Pipeline"}
# How many last words another image needs, where it is not one. GLM-Image reads a prompt to its end
# to draw tokens, of which the tiny model draws the same after another word or two.
WORDS_TO_CHANGE = {"GlmImagePipeline": 50}


def others_from(words: list[str], first: int) -> list[str]:
    """The words, with other ones from a place on."""
    others = ["rose" if word == "clerk" else "clerk" for word in words[first:]]
    return [*words[:first], *others]


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(matrix.TRIED))
def test_of_every_class_what_is_not_read_changes_no_image(
    name: str, tmp_path: Path
) -> None:
    """The first word that no tower reads may be read in part; the words behind it are not."""
    generator = matrix.loaded(name, parts.saved(name, tmp_path / name))
    words = LONGER.split()
    if name in FAILS_ON_LONG_PROMPTS:
        with pytest.raises(ValueError, match="exceeds max_sequence_length"):
            image(generator, words)
        return
    before = image(generator, words)
    towers = generator.unread_prompts().get(LONGER)
    if towers is None:  # it reads longer prompts than this, to the last word
        end = len(words) - WORDS_TO_CHANGE.get(name, 1)
        assert not np.array_equal(before, image(generator, others_from(words, end)))
        return
    first = len(words) - min(len(tower.unread.split()) for tower in towers)
    assert 0 < first < len(words) - 1
    behind = [*words[: first + 1], *["clerk" for _ in words[first + 1 :]]]
    assert np.array_equal(before, image(generator, behind))
    read_word = "clerk" if words[first - 1] != "clerk" else "rose"
    changed = [*words[: first - 1], read_word, *words[first:]]
    assert not np.array_equal(before, image(generator, changed))
