"""Every class of diffusers that the docs name, built tiny, saved, loaded and tried."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from t2ibench.models.generators.pipeline_classes import why_refused
from tests.models.pipelines import matrix
from tests.models.pipelines.matrix import PAGE, TRIED, Row

pytestmark = pytest.mark.nightly  # loads torch models


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Row]:
    root = tmp_path_factory.mktemp("pipelines")
    return {name: matrix.tried(name, root / name) for name in TRIED}


@pytest.mark.parametrize("name", TRIED)
def test_an_image_follows_its_prompt_and_its_seed_alone(
    name: str, rows: Mapping[str, Row]
) -> None:
    row = rows[name]
    assert row.pipeline == name
    assert row.seeds and row.prompts and row.alike


@pytest.mark.parametrize("name", TRIED)
def test_several_prompts_share_a_batch_only_where_that_changes_nothing(
    name: str, rows: Mapping[str, Row]
) -> None:
    row = rows[name]
    assert (row.batch == "several prompts") == (row.one_length and row.mixes)


def test_a_batch_of_mixed_lengths_does_change_some_images(
    rows: Mapping[str, Row],
) -> None:
    """Else the tests above could not tell a mistake."""
    changed = {
        name
        for name, row in rows.items()
        if not row.mixes and row.batch == "one prompt"
    }
    assert {"CogView4Pipeline", "Kandinsky5T2IPipeline"} <= changed


def test_prompts_are_encoded_once_wherever_a_pipeline_encodes_them_apart(
    rows: Mapping[str, Row],
) -> None:
    others = {name for name, row in rows.items() if not row.once}
    assert others == {
        "AmusedPipeline",
        "BriaFiboPipeline",
        "DreamLiteMobilePipeline",
        "DreamLitePipeline",
        "HunyuanImagePipeline",
        "Kandinsky5T2IPipeline",
        "KandinskyCombinedPipeline",
        "KandinskyV22CombinedPipeline",
        "LDMTextToImagePipeline",
        "OmniGenPipeline",
        "StableCascadeCombinedPipeline",
    }


def test_every_class_of_diffusers_is_tried_or_refused_with_a_reason() -> None:
    """A new diffusers brings new ones: an entry in tiny.yaml, or a reason in REFUSED."""
    assert matrix.untried() == []


def test_a_class_is_refused_for_what_it_makes_or_needs() -> None:
    import diffusers

    reasons = {
        name: why_refused(getattr(diffusers, name))
        for name in (
            "WanPipeline",
            "SanaVideoPipeline",
            "StableAudioPipeline",
            "ChronoEditPipeline",
            "DiTPipeline",
            "VisualClozePipeline",
            "ChromaPipeline",
            "KandinskyV22Pipeline",
            "StableDiffusionImg2ImgPipeline",
        )
    }
    assert reasons == {
        "WanPipeline": "it makes videos",
        "SanaVideoPipeline": "it makes videos",
        "StableAudioPipeline": "it makes sound",
        "ChronoEditPipeline": "it makes videos",
        "DiTPipeline": "it takes no prompt",
        "VisualClozePipeline": "it takes no prompt",
        "ChromaPipeline": None,
        # Loaded as the pipeline of both stages, and as the one of prompts.
        "KandinskyV22Pipeline": None,
        "StableDiffusionImg2ImgPipeline": None,
    }


def test_the_docs_are_current(rows: Mapping[str, Row]) -> None:
    """The table at any version; the version, and what is refused, at the one it names."""
    import diffusers

    said = PAGE.read_text(encoding="utf-8")
    made = matrix.page(list(rows.values()), diffusers.__version__, matrix.refused())
    if f"diffusers {diffusers.__version__}," in said:
        assert said == made, "python tools/write_pipeline_matrix.py writes it"
    assert _table(said) == _table(made), (
        "python tools/write_pipeline_matrix.py writes it"
    )


def _table(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]
