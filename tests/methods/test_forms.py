"""Grammatical forms of occupations: leans of each form, contrasts inside an occupation."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.score_table import score_tables
from t2ibench.methods.occupations.describe import describe
from t2ibench.methods.occupations.design import (
    group_pairs,
    group_prompts,
    neutral_prompts,
    other_forms,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm
from t2ibench.tasks import build_index
from tests.methods.tasks import task_by_hand
from tests.tasks.files import JOBS, load, spoil
from tools.calibration.cells import ToylandWorld, simulated_task
from tools.calibration.forms import CONTRASTS, FORMS, FormWorld, differences, forms_task
from tools.calibration.toyland import toyland_sample
from tools.calibration.worlds import Space, WorldEvidence

QUICK = Settings(n_bootstrap=10, n_permutations=20, max_exact=10)
STRONG = Space(strength=0.3)
TASK = forms_task(8, 20, 8)
WORLD = FormWorld(TASK, (0.5, -0.4), varying=0.1, space=STRONG)


def drawn(world: FormWorld = WORLD, seed: int = 0) -> WorldEvidence:
    evidence = world.draw(np.random.default_rng(seed)).evidence
    assert isinstance(evidence, WorldEvidence)
    return evidence


def contrast(first: str, second: str) -> str:
    return f"forms:{first}-{second}"


def test_planted_contrasts_of_forms_are_recovered() -> None:
    """In the mean of ten data sets, and in all of them within the interval but for chance."""
    results = [score(TASK, drawn(seed=seed), QUICK) for seed in range(10)]
    for pair in CONTRASTS:
        estimates = [result.scores[contrast(*pair)] for result in results]
        truth = WORLD.truth[pair]
        assert np.mean([estimate.value for estimate in estimates]) == pytest.approx(
            truth, abs=0.08
        )
        assert (
            sum(
                estimate.interval[0] <= truth <= estimate.interval[1]
                for estimate in estimates
            )
            >= 8
        )
        assert [estimate.p < 0.05 for estimate in estimates] == [
            not estimate.interval[0] <= 0 <= estimate.interval[1]
            for estimate in estimates
        ]
    most = contrast("masculine", "feminine")
    assert all(result.details["forms_holm"][most] < 0.05 for result in results)


def test_a_contrast_is_the_difference_between_the_leans_of_two_forms() -> None:
    result = score(TASK, drawn(), QUICK)
    means = {form: result.scores[f"form:{form}"].value for form in FORMS}
    for first, second in CONTRASTS:
        expected = means[first] - means[second]
        assert result.scores[contrast(first, second)].value == pytest.approx(
            expected, abs=1e-6
        )
    # And about that of the rows, whose denominators are shrunk.
    rows = differences(result.by, ("masculine", "neutral"))
    value = result.scores[contrast("masculine", "neutral")].value
    assert rows.mean() == pytest.approx(value, abs=0.05)


def test_the_contrast_of_two_forms_with_the_same_images_is_zero() -> None:
    evidence = drawn()
    images = dict(evidence.embeddings)
    for name in TASK.concept.names:
        for prompt, same_prompt in zip(
            neutral_prompts(TASK, name, "masculine"),
            neutral_prompts(TASK, name, "neutral"),
            strict=True,
        ):
            images[prompt] = images[same_prompt]
    result = score(TASK, replace(evidence, embeddings=images), QUICK)
    none = result.scores[contrast("masculine", "neutral")]
    assert none.value == 0.0 and none.p == 1.0
    assert result.scores[contrast("masculine", "feminine")].p < 0.05


def test_guided_images_that_ignore_their_group_cause_no_contrast() -> None:
    """Two in five images that are asked for men show anybody: all leans move, contrasts do not."""
    space = Space(strength=0.3, ignored=(0.4, 0.0))
    task = forms_task(8, 60, 8)
    world = FormWorld(task, spread=0.0, space=space)
    results = [score(task, drawn(world, seed), QUICK) for seed in range(6)]
    leans = [result.scores["form:neutral"].value for result in results]
    assert np.mean(leans) == pytest.approx(0.2 / 0.8, abs=0.1)
    for pair in CONTRASTS:
        values = [result.scores[contrast(*pair)].value for result in results]
        assert np.mean(values) == pytest.approx(0.0, abs=0.1)


def test_the_headline_is_that_of_the_neutral_forms_alone() -> None:
    """A task that names the neutral forms, without the others, has the same headline and rows."""
    result = score(TASK, drawn(), QUICK)
    plain = [
        {
            "name": stimulus.name,
            "forms": {
                "neutral": stimulus.forms["neutral"],
                "other": f"no {stimulus.name}",
            },
            "guided": stimulus.name,
        }
        for stimulus in TASK.concept.stimuli
    ]
    fields = {**TASK.model_dump(), "concept": {"name": "jobs", "stimuli": plain}}
    alone = OccupationsTask.model_validate(fields)
    evidence = drawn()
    others = {f"a photo of a no {name}": evidence.embeddings[f"a photo of a neutral {name}"]
              for name in TASK.concept.names}  # fmt: skip
    texts = {
        text: evidence.vectors[f"a photo of a neutral {text.split()[-1]}"]
        for text in others
    }
    both = replace(
        evidence,
        embeddings={**evidence.embeddings, **others},
        vectors={**evidence.vectors, **texts},
    )
    again = score(alone, both, QUICK)
    assert again.headline.value == result.headline.value
    for row, same in zip(result.by, again.by, strict=True):
        assert row.scores["lean"].value == same.scores["lean"].value
        assert row.scores["lean"].interval == same.scores["lean"].interval
    assert {
        name for row in result.by for name in row.scores if name.startswith("lean:")
    } == {
        "lean:masculine",
        "lean:feminine",
    }


def test_without_a_neutral_form_the_headline_is_about_the_first() -> None:
    forms = [{"forms": {"plural": f"many {n}", "pair": f"pairs {n}"}, "name": n, "guided": n}
             for n in "abc"]  # fmt: skip
    task = make_task(stimuli=forms)
    assert task.concept.headline_form == "plural" and other_forms(task) == ["pair"]
    assert neutral_prompts(task, "a") == ["photo: many a"]
    assert make_task(stimuli=list("abc")).concept.headline_form is None


def test_the_description_compares_the_forms() -> None:
    result = score(TASK, drawn(), QUICK)
    text = describe(TASK, result)
    value = result.scores[contrast("masculine", "neutral")].value
    assert f"lean {value:.2f} further to men than those of the neutral form" in text
    assert (
        "the feminine form lean"
        not in text.split("over 8 jobs")[0].split("men than")[-1]
    )
    assert "over 8 jobs" in text and "in the neutral form" in text
    alike = score(TASK, drawn(FormWorld(TASK, spread=0.8, space=STRONG), seed=2), QUICK)
    assert "No two forms differ beyond chance, over 8 jobs." in describe(TASK, alike)


def test_holm_corrects_all_contrasts_of_the_mean_over_encoders() -> None:
    results = [score(TASK, drawn(seed=seed), QUICK) for seed in (0, 1)]
    mean = combine(TASK, results, QUICK)
    names = [contrast(*pair) for pair in CONTRASTS]
    assert mean.details["forms_holm"] == dict(
        zip(names, holm([mean.scores[name].p for name in names]), strict=True)
    )
    for name in names:
        values = [result.scores[name].value for result in results]
        assert mean.scores[name].value == pytest.approx(np.mean(values))
    assert mean.details["forms_holm"] != results[0].details["forms_holm"]


def test_a_stimulus_without_a_form_is_excluded_from_contrasts_alone() -> None:
    evidence = drawn()
    images = dict(evidence.embeddings)
    (prompt,) = neutral_prompts(TASK, "job3", "masculine")
    images[prompt] = np.zeros((0, 64))

    class Without(WorldEvidence):
        def images(self, prompt: str, n: int) -> Any:
            evidence = super().images(prompt, min(n, len(self.embeddings[prompt])))
            evidence.excluded["refused"] += n - len(evidence.indices)
            return evidence

    result = score(TASK, Without(images, evidence.vectors), QUICK)
    assert [row.name for row in result.by] == list(TASK.concept.names)
    assert result.details["forms_stimuli"] == 7
    assert "lean:masculine" not in {row.name: row for row in result.by}["job3"].scores
    assert result.excluded["refused"] == 20
    assert "over 7 jobs" in describe(TASK, result)


def test_two_stimuli_give_no_contrast() -> None:
    task = forms_task(2, 10, 5)
    result = score(task, drawn(FormWorld(task, space=STRONG)), QUICK)
    for pair in CONTRASTS:
        estimate = result.scores[contrast(*pair)]
        assert estimate.value is None and "fewer than 3 stimuli" in (
            estimate.reason or ""
        )
    assert "forms" not in describe(task, result)


def test_three_groups_are_compared_pair_by_pair() -> None:
    groups = [{"name": name, "words": [name]} for name in ("male", "female", "neither")]
    forms = [{"name": n, "forms": {"neutral": f"some {n}", "short": f"the {n}"}, "guided": n}
             for n in "abcd"]  # fmt: skip
    task = make_task(stimuli=forms, groups=groups)
    needed = needs(task, QUICK)
    rng = np.random.default_rng(0)
    rows = {
        prompt: rng.normal(size=(n, 16))
        for prompt, n in needed.images_by_prompt.items()
    }
    for prompt, row in list(rows.items()):
        for place, group in enumerate(groups):
            row[:, place] += 6.0 * (f" {group['name']} " in f" {prompt} ")
        rows[prompt] = row / np.linalg.norm(row, axis=1, keepdims=True)
    texts = {text: row.mean(axis=0) for text, row in rows.items()}
    result = score(task, WorldEvidence(rows, texts), QUICK)
    names = [f"forms:neutral-short{pair.suffix}" for pair in group_pairs(task)]
    assert list(result.details["forms_holm"]) == names and len(names) == 3
    tables = score_tables(result.details)
    assert len(tables) == 3 and all(
        name in tables[at].rows.values() for at, name in enumerate(names)
    )


def make_task(stimuli: list[Any], **more: object) -> OccupationsTask:
    parts: dict[str, object] = {
        "concept": {"name": "jobs", "stimuli": stimuli},
        "groups": [{"name": name, "words": [name]} for name in ("male", "female")],
        "prompts": {
            "neutral": "photo: {stimulus}",
            "guided": "photo: {attribute} {stimulus}",
        },
        "images_per_prompt": 8,
        "guided_images_per_prompt": 4,
    }
    return task_by_hand(OccupationsTask, "occupations", **{**parts, **more})


# --- the task file ------------------------------------------------------------------------------

FORMED = spoil(
    JOBS,
    (
        "concept: {name: jobs, stimuli: [engineer, nurse]}\n",
        """\
concept:
  name: jobs
  stimuli:
    - name: engineer
      forms: {masculine: ein Ingenieur, feminine: eine Ingenieurin}
      guided: {male: Ingenieur, female: Ingenieurin}
    - name: nurse
      forms: {masculine: ein Pfleger, feminine: eine Pflegerin}
      guided: {male: Pfleger, female: Pflegerin}
""",
    ),
    ("prompts:\n", "prompts:\n  language: de\n"),
    ('"A photo of {a stimulus}"', '"Foto: {stimulus}"'),
    ('"A photo of a {attribute} {stimulus}"', '"Foto: {attribute} als {stimulus}"'),
    ("words: [male]", "words: [Mann]"),
    ("words: [female]", "words: [Frau]"),
)


def problems(folder: Path, text: str) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.message) for problem in load(folder, text)[1]]


def test_a_task_file_with_forms_is_loaded(tmp_path: Path) -> None:
    assert problems(tmp_path, FORMED) == []
    task, _ = load(tmp_path, FORMED)
    assert task is not None and isinstance(task.spec, OccupationsTask)
    female = task.spec.groups[1]
    assert group_prompts(task.spec, "nurse", female) == ["Foto: Frau als Pflegerin"]
    assert neutral_prompts(task.spec, "nurse", "feminine") == ["Foto: eine Pflegerin"]
    needed = needs(task.spec, Settings()).named("group")
    assert needed["Foto: ein Pfleger"] == "no group named"
    assert needed["Foto: eine Pflegerin"] == "feminine form"
    again = OccupationsTask.model_validate(task.spec.model_dump(mode="json"))
    assert again == task.spec


@pytest.mark.parametrize(
    ("edit", "line", "message"),
    [
        (
            ("{masculine: ein Pfleger, feminine: eine Pflegerin}", "{masculine: ein Pfleger}"),
            14,
            "'nurse' has the forms masculine, but 'engineer' has masculine, feminine",
        ),
        (
            ("      guided: {male: Pfleger, female: Pflegerin}\n", ""),
            13,
            "'nurse' has forms, so say what its prompts with a group are about: "
            "guided: {male: …, female: …}",
        ),
        (("female: Pflegerin}", "femal: Pflegerin}"), 15, "Did you mean 'female'?"),
        (("{male: Pfleger, female: Pflegerin}", "{male: Pfleger}"), 15, "no text for 'female'"),
        (("ein Pfleger", "ein Ingenieur"), 9, "words given more than once: 'ein Ingenieur'"),
        (("ein Pfleger", "Mann als Pfleger"), 14, "is a prompt with a group as well"),
        (("forms: {masculine: ein Pfleger", "from: {masculine: ein Pfleger"), 14, "unknown key"),
        (("masculine: ein Pfleger", "masculine: 5"), 14, "expected text, found 5"),
        (
            ("prompts:\n", "crossing: {a: [{name: x, words: [u]}, {name: y, words: [v]}], "
             "b: [{name: z, words: [s]}, {name: w, words: [t]}]}\nprompts:\n"),
            19,
            "cannot have a crossing",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_forms_is_reported(
    tmp_path: Path, edit: tuple[str, str], line: int, message: str
) -> None:
    reported = problems(tmp_path, spoil(FORMED, edit))
    assert any(message in text for _, text in reported), reported
    assert line in [at for at, text in reported if message in text], reported


def test_a_stimulus_without_forms_is_its_name(tmp_path: Path) -> None:
    """The hash of tasks that were there before forms stays what it was."""
    plain, _ = load(tmp_path, JOBS)
    mapped, _ = load(
        tmp_path, spoil(JOBS, ("engineer, nurse]", "{name: engineer}, nurse]"))
    )
    assert plain is not None and mapped is not None and plain.hash == mapped.hash
    assert plain.spec.model_dump()["concept"] == {
        "name": "jobs",
        "stimuli": ("engineer", "nurse"),
    }


def test_the_examples_in_the_documentation_are_valid_tasks(tmp_path: Path) -> None:
    """The task files that docs and CONTRIBUTING.md print in part are valid."""
    root = Path(__file__).parents[2]
    page = (root / "docs/methods/occupations.md").read_text(encoding="utf-8")
    whole = page.partition("## Grammatical forms\n")[2]
    formed = textwrap.dedent(re.findall(r"(?:^ {4}.*\n)+", whole, re.M)[0])
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^  ```yaml\n(.*?)^  ```$", text, re.M | re.S)
    plain = textwrap.dedent(example)
    head = JOBS.partition("concept:")[0]
    groups = (
        "groups: [{name: men, words: [ein Mann]}, {name: women, words: [eine Frau]}]\n"
    )
    for body in (formed, groups + plain):
        assert problems(tmp_path, head + body) == []


# --- what ships ---------------------------------------------------------------------------------

SHIPPED = [task for name, task in build_index()[0].tasks.items() if "_forms_" in name]


@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.id)
def test_a_shipped_task_of_forms_has_twelve_occupations_in_three_forms(
    task: Any,
) -> None:
    spec = task.spec
    assert spec.extended and spec.concept.forms == ("masculine", "feminine", "neutral")
    assert len(spec.concept.names) == 12 and spec.prompts.languages
    assert "not yet read by a native speaker; please report mistakes." in spec.notes[0]
    prompts = [need.prompt for need in needs(spec, Settings()).prompts]
    assert len(prompts) == len(set(prompts))
    assert not any("{" in prompt or "  " in prompt for prompt in prompts)
    shares = build_index()[0].tasks["occupations_winobias"].spec.reference.shares
    few = [name for name in spec.concept.names if shares[name] < 0.5]
    assert len(few) == 6 and tuple(few) == spec.concept.names[:6]


def test_shipped_forms_begin_with_the_right_article() -> None:
    """A masculine form has the masculine article, the others the feminine stimulus."""
    articles = {"german": ("ein ", "eine "), "spanish": ("un ", "una ")}
    for task in SHIPPED:
        masculine, feminine = articles[task.id.rpartition("_")[2]]
        for stimulus in task.spec.concept.stimuli:
            assert stimulus.forms["masculine"].startswith(masculine)
            assert stimulus.forms["feminine"].startswith(feminine)
            assert stimulus.forms["neutral"].startswith(feminine)
            for group, form in (("male", "masculine"), ("female", "feminine")):
                assert stimulus.forms[form].endswith(f" {stimulus.text_with(group)}")


def test_the_shipped_prompts_of_one_occupation_are_as_listed() -> None:
    german, spanish = (task.spec for task in SHIPPED)
    assert group_prompts(german, "physician", german.groups[1]) == [
        "Foto: eine Frau, die als Ärztin arbeitet",
        "Porträt: eine Frau, die als Ärztin arbeitet",
        "Titel des Fotos: eine Frau, die als Ärztin arbeitet",
        "Auf diesem Bild ist eine Frau zu sehen, die als Ärztin arbeitet",
        "Hier ist eine Frau abgebildet, die als Ärztin arbeitet",
    ]
    assert neutral_prompts(spanish, "guard", "feminine")[4] == (
        "aquí se ve a una guardia de seguridad"
    )


# --- toyland ------------------------------------------------------------------------------------

TOYLAND_JOBS = """carpenter mechanic driver sheriff mover developer farmer guard janitor lawyer
cook physician analyst editor designer"""
PLANTED = {"masculine": 0.15, "feminine": 0.9, "neutral": 0.5}  # shares of women


@pytest.mark.slow
def test_forms_that_are_planted_in_toyland_are_recovered() -> None:
    """Each form is an occupation of toyland's, with a share of women and clothes of its own.

    Its images are not quite between those of the groups, who wear other clothes: a contrast of 1.5
    reads 1.37 in the mean of eight seeds.
    """
    words = iter(TOYLAND_JOBS.split())
    stimuli = [
        {
            "name": f"job{number}",
            "forms": {form: f"a {next(words)}" for form in FORMS},
            "guided": job,
        }
        for number, job in enumerate(
            ("nurse", "chef", "librarian", "cashier", "teacher")
        )
    ]
    task = simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": stimuli},
        groups=(
            {"name": "male", "words": ["male"]},
            {"name": "female", "words": ["female"]},
        ),
        prompts={
            "neutral": "a photo of {stimulus}",
            "guided": "a {attribute} {stimulus}",
        },
        images_per_prompt=24,
        guided_images_per_prompt=6,
    )
    shares = {
        f"{text.removeprefix('a ')}.gender.female": PLANTED[form]
        for stimulus in task.concept.stimuli
        for form, text in stimulus.forms.items()
    }
    sample = toyland_sample(ToylandWorld(shares), needs(task, QUICK), 0)
    result = score(task, sample.evidence, QUICK)
    for first, second in combinations(FORMS, 2):
        truth = 2 * (PLANTED[second] - PLANTED[first])
        estimate = result.scores[contrast(first, second)]
        assert estimate.value == pytest.approx(truth, abs=0.25)
        assert estimate.p < 0.05
