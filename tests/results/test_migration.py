"""Files of older schemas are read under today's names."""

import json
import re
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.inference import Inference
from t2ibench.results.alignment_records import TextImageAlignment
from t2ibench.results.files import read_results
from t2ibench.results.migration import FIELDS, SCORES, score_name
from t2ibench.results.prompt_outcomes import PromptOutcomes, Rate
from t2ibench.results.schema import Headline, Row, Score, TaskResult
from tests import hand

RATE = Rate(count=1, total=4, share=0.25, ci_low=0.0, ci_high=0.75)


def a_task(method: str, names: list[str], **changes: object) -> TaskResult:
    """A task of a method whose scores, rows and published values have the names."""
    scores = {name: Score(value=float(number)) for number, name in enumerate(names)}
    headline = Headline(
        value=0.5, scale="lean", question="prompt_population",
        fixed_prompts=Inference(0.1, 0.9), prompt_population=Inference(0.0, 1.0),
    )  # fmt: skip
    published = [{"model": "m", "source": "s", "scores": dict.fromkeys(names, 1.0)}]
    by = [Row(name="a row", scores=scores)]
    return hand.task(
        method, headline=headline, scores=scores, by=by, published=published, **changes
    )


def old_names(text: str, names: dict[str, str]) -> str:
    """A file as older versions wrote it: every quoted word in its old spelling."""
    for new, old in names.items():
        text = re.sub(rf'"{new}(?=[":])', f'"{old}', text)
    return text


@pytest.mark.parametrize("method", SCORES)
def test_every_score_is_read_under_its_name_in_words(
    method: str, tmp_path: Path
) -> None:
    ends = ("", ":female") if method != "t2iat" else ("",)
    new = [f"{name}{end}" for name in SCORES[method].values() for end in ends]
    outcomes = PromptOutcomes(n_prompts=1, refused=RATE, filtered=RATE)
    alignment = TextImageAlignment(
        value=0.2, question="fixed_prompts", n_prompts=1, n_images=4
    )
    task = a_task(
        method, new,
        prompt_outcomes=[outcomes], text_image_alignment={"toyland": [alignment]},
        encoder_agreement=True,
    )  # fmt: skip
    expected = hand.results(x=task, y=task.model_copy(update={"scores": {}}))
    names = {new: old for old, new in {**SCORES[method], **FIELDS}.items()}
    data = json.loads(old_names(expected.to_json(), names))
    assert set(data["tasks"]["x"]["scores"]) == {
        f"{old}{end}" for old in SCORES[method] for end in ends
    }
    (tmp_path / "results.json").write_text(json.dumps({**data, "schema": 2}))
    assert read_results(tmp_path) == expected
    (tmp_path / "results.json").write_text(json.dumps({**data, "schema": 1}))
    with pytest.raises(
        T2IBenchError, match="is of schema 1; this t2ibench reads 2 to 3"
    ):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        ("mcas", "alpha_mean_A", "bias_amplification_mean_of_a"),
        ("mcas", "ii_minus_tt_mean", "image_to_image_minus_text_to_text_mean"),
        ("mcas", "adherence", "adherence"),
        ("vibex", "delta", "cliffs_delta"),
        ("vibex", "m:men", "similarity_difference:men"),
        ("openbias", "delta", "relative_deviation"),
        ("occupations", "q25:male-female", "lower_quartile:male-female"),
        ("tibet", "share:age:old", "share:age:old"),
        ("tibet", "cas_pooled", "concept_association_score_pooled"),
        ("of a plug-in", "d", "d"),
    ],
)
def test_composed_names_of_scores_are_migrated(method: str, old: str, new: str) -> None:
    assert score_name(method, old) == new


def test_keys_of_details_are_migrated_like_scores(tmp_path: Path) -> None:
    old = {
        "by_stereotype": {"delta": {}, "tt": {}},
        "shares": {},
        "agreement": [],
        "alpha": {},
    }
    data = json.loads(hand.results(x=a_task("mcas", [])).to_json())
    data |= {"schema": 2, "earlier": {"y": {**data["tasks"]["x"], "details": old}}}
    (tmp_path / "results.json").write_text(json.dumps(data))
    assert read_results(tmp_path).earlier["y"].details == {
        "by_stereotype": {"diffusion_bias": {}, "text_to_text_association": {}},
        "shares": {}, "rater_agreement": [], "krippendorff_alpha": {},
    }  # fmt: skip


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    for tasks in (3, {"x": None}, {"x": {"by": 3, "scores": [], "headline": []}}):
        data = {**json.loads(hand.results().to_json()), "schema": 2, "tasks": tasks}
        (tmp_path / "results.json").write_text(json.dumps(data))
        with pytest.raises(Exception, match="not a results file of schema 3"):
            read_results(tmp_path)


def test_the_page_lists_every_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "score-names.md").read_text(
        encoding="utf-8"
    )
    listed = re.findall(r"^\| `(\S+)` \| `(\S+)` \|", page, re.MULTILINE)
    known = [pair for names in (FIELDS, *SCORES.values()) for pair in names.items()]
    assert listed == [(new, old) for old, new in known]


def test_results_of_the_current_schema_are_not_renamed(tmp_path: Path) -> None:
    before = hand.results(x=a_task("vibex", ["m", "these"]))
    (tmp_path / "results.json").write_text(before.to_json())
    assert read_results(tmp_path) == before
