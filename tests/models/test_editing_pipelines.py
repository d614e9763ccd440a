"""Pipelines of diffusers that edit, built tiny, saved, loaded and tried with source images."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.models.contract import check_generator
from t2ibench.models.generators import create_generator, effects
from t2ibench.models.generators.diffusers import DiffusersGenerator
from t2ibench.models.generators.editing_pipelines import EDITORS, IMAGE_TO_IMAGE
from t2ibench.models.generators.pipeline_arguments import DiffusersArguments
from t2ibench.models.protocols import EditsImages, ImageRequest
from t2ibench.store.images import ImageFile
from tests.models import tiny
from tests.models.parts import refused
from tests.models.pipelines import parts
from tests.models.pipelines.parts import TABLE

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

LEVEL = 1  # of 255 that rounding may make between two sizes of a batch
COLOURS = [(10, 40, 90), (250, 220, 120), (120, 120, 120)]
QUICK = {
    "StableDiffusionInstructPix2PixPipeline",
    "StableDiffusionPipeline",
    "QwenImageEditPipeline",
}
BOTH = ["Flux2KleinKVPipeline", "Flux2KleinPipeline", "Flux2Pipeline"]
BOTH += ["FluxKontextPipeline"]
NAMES = [*TABLE["editors"], *BOTH, *IMAGE_TO_IMAGE]
BY_CLASS = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.nightly])
        for name in NAMES
    ],
)


def stored(folder: Path, size: tuple[int, int], number: int) -> ImageFile:
    """A source image on disk, of one colour, which no network takes for another."""
    path = folder / f"{number}.png"
    Image.new("RGB", size, COLOURS[number]).save(path)
    return ImageFile(path, hashlib.sha256(path.read_bytes()).hexdigest())


def several(folder: Path, side: int = 32) -> list[ImageFile]:
    """Two source images of one form, and one of another."""
    sizes = [(side * 3 // 2, side), (side * 3 // 2, side), (side, side)]
    return [stored(folder, size, number) for number, size in enumerate(sizes)]


@pytest.fixture
def sources(tmp_path: Path) -> list[ImageFile]:
    return several(tmp_path)


def edit(
    source: ImageFile, prompt: str = "make it snow", seed: int = 7
) -> ImageRequest:
    return ImageRequest(prompt, 0, seed, source=source)


def editing(folder: Path, name: str, **args: str) -> Any:
    """The generator of a saved pipeline that edits, or that starts from a source image."""
    given = {"steps": "2", **parts.entry_of(name).get("args", {}), **args}
    if name in IMAGE_TO_IMAGE:
        # So little noise that a source image is seen in spite of random weights.
        given |= {"image_to_image": "true", "strength": "0.3", "steps": "4"}
    return create_generator(str(folder), given, device="cpu")


def shrink(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have a class choose fewer pixels than a million, which a CPU would take minutes for."""
    import diffusers

    module = sys.modules[getattr(diffusers, name).__module__]
    if name == "FluxKontextPipeline":
        sizes = [(32, 32), (48, 32)]
        monkeypatch.setattr(module, "PREFERRED_KONTEXT_RESOLUTIONS", sizes)
    area = parts.entry_of(name).get("area")
    if area is None:
        return
    calculate = module.calculate_dimensions
    monkeypatch.setattr(
        module, "calculate_dimensions", lambda _, ratio: calculate(area, ratio)
    )


def pixels(images: Sequence[Any]) -> list[np.ndarray]:
    assert [image.status for image in images] == ["ok"] * len(images), images
    return [np.asarray(image.image, dtype=int) for image in images]


def differ(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape != second.shape or int(np.abs(first - second).max()) > LEVEL


def test_every_class_is_tried() -> None:
    tried = {IMAGE_TO_IMAGE.get(name, name) for name in NAMES}
    assert tried == set(EDITORS)


@BY_CLASS
def test_an_edit_follows_source_instruction_and_seed_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # FLUX.2 takes no smaller ones than 64 pixels a side.
    sources = several(tmp_path, 64 if name.startswith("Flux2") else 32)
    generator = editing(parts.saved(name, tmp_path / name), name)
    assert isinstance(generator, DiffusersGenerator)
    assert isinstance(generator, EditsImages)
    generator.check_edits()
    shrink(monkeypatch, name)
    wanted = [
        edit(sources[0]),
        edit(sources[1]),
        edit(sources[0], seed=8),
        edit(sources[0], "the nurse, a rose, an ant of the clerk"),
        edit(sources[2]),
    ]
    alone = pixels([generator.generate([request])[0] for request in wanted])
    together = pixels(generator.generate(wanted))
    assert not any(map(differ, alone, together))
    # Each was made alone, so that any difference comes from what was asked.
    assert not any(np.array_equal(alone[0], other) for other in alone[1:])
    loaded = IMAGE_TO_IMAGE.get(name, name)
    assert type(generator._pipeline).__name__ == loaded
    height, width, _ = alone[0].shape
    if EDITORS[loaded].size != "own":
        expected = (32, 32) if name == "FluxKontextPipeline" else (32, 48)
        assert abs(width / height - expected[1] / expected[0]) < 0.6
        if name != "FluxKontextPipeline":
            assert (height, width) == expected
    settings = generator.effective_settings()
    assert settings["source_image"] == EDITORS[loaded].words
    assert ("strength" in settings) == (name in IMAGE_TO_IMAGE)


def test_what_edits_only_refuses_a_prompt_before_it_is_loaded(
    sources: list[ImageFile], tmp_path: Path
) -> None:
    name = "StableDiffusionInstructPix2PixPipeline"
    generator = editing(parts.saved(name, tmp_path / name), name)
    with refused(name, "edits a source image", "--sources MODEL"):
        generator.generate([ImageRequest("a nurse", 0, 7)])
    with refused("--sources MODEL"):
        generator.generate([edit(sources[0]), ImageRequest("a nurse", 0, 7)])
    assert generator._pipeline is None


@pytest.mark.usefixtures("settings_untried")
def test_a_pipeline_of_prompts_is_refused_unless_the_user_has_it_start_from_a_source(
    sources: list[ImageFile], tmp_path: Path
) -> None:
    folder = str(tiny.stable_diffusion(tmp_path / "sd"))
    plain = create_generator(folder, {"steps": "2"}, device="cpu")
    assert isinstance(plain, DiffusersGenerator)
    with refused("StableDiffusionPipeline", "prompts alone", "image_to_image=true"):
        plain.check_edits()
    with refused("image_to_image=true,strength=0.6"):
        plain.generate([edit(sources[0])])
    assert plain._pipeline is None
    with refused("strength needs image to image"):
        create_generator(folder, {"strength": "0.5"})
    with refused("strength=2"):
        create_generator(folder, {"strength": "2", "image_to_image": "true"})
    weak, strong = (
        create_generator(
            folder,
            {"steps": "8", "image_to_image": "true", "strength": strength},
            device="cpu",
        )
        for strength in ("0.2", "0.9")
    )
    assert len({plain.fingerprint, weak.fingerprint, strong.fingerprint}) == 3
    first, second = (
        pixels(model.generate([edit(sources[0])]))[0] for model in (weak, strong)
    )
    assert differ(first, second)
    with refused("edits a source image", "leave image_to_image=true out"):
        weak.generate([ImageRequest("a nurse", 0, 7)])


def test_small_images_decide_about_a_strength_near_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default, 0.8, takes as many of 3 to 5 steps as 0.9 does."""
    sizes: list[bool] = []
    image = effects._Trials._image

    def recorded(trials: Any, *call: Any, small: bool = False) -> Any:
        sizes.append(small)
        return image(trials, *call, small=small)

    monkeypatch.setattr(effects._Trials, "_image", recorded)
    folder = str(tiny.stable_diffusion(tmp_path / "sd"))
    args = {"steps": "8", "image_to_image": "true", "strength": "0.9"}
    generator: Any = create_generator(folder, args, device="cpu")
    generator.load()
    assert sizes and all(sizes)


def test_a_class_without_a_default_strength_takes_enough_steps() -> None:
    """A class of a plugin need not have one."""

    class Pipeline:
        def __call__(self, prompt: str, image: Any, strength: float) -> None: ...

    trials = effects._Trials(Pipeline(), DiffusersArguments())
    steps = trials._steps_of_share(0.5)
    assert int(steps * 0.5) >= 1


def test_image_to_image_says_where_a_share_of_the_steps_is_none(
    sources: list[ImageFile], tmp_path: Path
) -> None:
    folder = str(tiny.stable_diffusion(tmp_path / "sd"))
    for changes, share in ({"strength": "0.6"}, "0.6"), ({}, "0.8"):
        args = {"steps": "1", "image_to_image": "true", **changes}
        generator = create_generator(folder, args, device="cpu")
        with refused(f"takes {share} of the steps, and of 1 none is left", "steps=4"):
            generator.generate([edit(sources[0])])


def test_image_to_image_is_refused_where_there_is_no_class_for_it(
    tmp_path: Path,
) -> None:
    for name, words in {
        "FluxKontextPipeline": "leave image_to_image and strength out",
        "Lumina2Pipeline": "These have: FluxPipeline",
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        index = f'{{"_class_name": "{name}", "_diffusers_version": "0.42.1"}}'
        (folder / "model_index.json").write_text(index, encoding="utf-8")
        model: Any = create_generator(str(folder), {"image_to_image": "true"})
        with refused(name, words):
            model.check_edits()
    plain: Any = create_generator(str(tmp_path / "Lumina2Pipeline"))
    with refused("Lumina2Pipeline", "no editing pipeline that was tried", "Kontext"):
        plain.check_edits()


def test_a_size_of_the_user_counts(sources: list[ImageFile], tmp_path: Path) -> None:
    name = "StableDiffusionInstructPix2PixPipeline"
    folder = parts.saved(name, tmp_path / name)
    sized = editing(folder, name, size="64x32")
    assert pixels(sized.generate([edit(sources[0])]))[0].shape == (64, 32, 3)
    # The settings were tried with a source image.
    with refused(
        "negative_prompt=dark", "changes nothing", "guidance=1 is no guidance"
    ):
        editing(folder, name, guidance="1", negative_prompt="dark").load()


@pytest.mark.usefixtures("settings_untried")
def test_a_source_that_cannot_be_read_is_the_failure_of_its_own_image(
    sources: list[ImageFile], tmp_path: Path
) -> None:
    name = "StableDiffusionInstructPix2PixPipeline"
    generator = editing(parts.saved(name, tmp_path / name), name)
    sources[1].path.write_bytes(b"no image")
    images = generator.generate([edit(source) for source in sources])
    assert [image.status for image in images] == ["ok", "failed", "ok"]
    assert "the source image" in images[1].reason


def test_the_contract_of_edits_is_met(tmp_path: Path) -> None:
    name = "StableDiffusionInstructPix2PixPipeline"
    folder = parts.saved(name, tmp_path / name)
    notes: list[str] = []
    problems = check_generator(
        lambda: editing(folder, name, size="32"),
        pixel_tolerance=LEVEL,
        tell=notes.append,
    )
    assert problems == []
    assert notes == ["Edits of 2 source images were tried, too."]
