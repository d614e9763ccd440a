"""The writers gpai and nist-ai-rmf: every field has a source, or says that it is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.reports.exchange.gpai import UNKNOWN, form_parts
from t2ibench.reports.writers import render
from t2ibench.results import read_results
from tests import hand
from tests.conftest import copied
from tests.reports.exchange.runs import NASTY, renamed, several_tests
from tests.shipped import SUBMISSIONS, shipped

TOY = shipped("toy")
PEOPLE = SUBMISSIONS / "DALL-E-3-answered-by-people-ce8c0c20"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_field_of_the_form_has_a_source_or_is_not_known() -> None:
    results = read_results(TOY)
    parts = form_parts(results)
    assert [title[0] for title in parts] == list("1234567")
    fields = [field for part in parts.values() for field in part]
    for field in fields:
        assert bool(field.source) == (field.content != UNKNOWN), field
        assert field.source.startswith(("results.json", "run.db")) or not field.source
    filled = {field.name: field.content for field in fields if field.source}
    fingerprint = results.model.fingerprint
    assert fingerprint and fingerprint[:16] in filled["Model authenticity"]
    assert "64 × 64" in filled["Output modalities"]
    assert "diffusers" in filled["Required software"]
    assert "Licence" not in filled and "Training time" not in filled


def test_the_form_says_that_outputs_are_indirect_evidence() -> None:
    text = render("gpai", read_results(TOY))
    assert "indirect evidence of biases in training data" in text
    assert "It is no statement of compliance" in text
    assert "| t2iat_science_arts " in text and "unchecked by people" in text
    assert "Not measured: groups, prompts and languages" in text


def test_the_form_of_a_run_without_images_claims_nothing() -> None:
    results = hand.results(weat=hand.task("weat"))
    text = render("gpai", results)
    assert f"Biases in outputs: {UNKNOWN}" in text
    assert "Images" not in text


def test_the_form_names_what_was_added_to_the_model(
    shared_run: Path, tmp_path: Path
) -> None:
    run = copied(shared_run, tmp_path)

    def with_lora(record: dict[str, object]) -> None:
        generator = record["generator"]
        assert isinstance(generator, dict)
        generator["model_args"] = {"lora": "my|weights"}

    before = render("gpai", read_results(run))
    assert "LoRA" not in before
    hand.edit_record(run, with_lora)
    after = render("gpai", read_results(run))
    assert "LoRA weights: my\\|weights" in after
    assert "run.db: generator.model_args.lora" in after


def test_nist_separates_these_prompts_from_prompts_like_these() -> None:
    results = read_results(TOY)
    text = render("nist-ai-rmf", results)
    assert "AI 800-3" in text and "generalized accuracy" in text
    rows = {
        cells(line)[0]: cells(line)
        for line in text.splitlines()
        if line.startswith("|") and line.count("|") == 5
    }
    science = results.tasks["t2iat_science_arts"].headline
    assert science.fixed_prompts and science.prompt_population
    assert rows["t2iat_science_arts"][1:] == [
        f"[{science.fixed_prompts.ci_low:.2f}, {science.fixed_prompts.ci_high:.2f}]",
        f"[{science.ci_low:.2f}, {science.ci_high:.2f}]",
        "prompts like these",
    ]
    assert rows["occupations_t2iat"][2:] == ["–", "these prompts"]
    assert rows["vibex_gender"][1:] == ["–", "–", "nothing: inconclusive"]


@pytest.mark.parametrize("measure", ["1.1", "2.1", "2.2", "2.3", "2.5", "2.11", "2.13"])
def test_nist_has_a_section_for_each_measure_that_a_run_serves(measure: str) -> None:
    sections = render("nist-ai-rmf", read_results(TOY)).split("\n## ")
    (section,) = [part for part in sections if part.startswith(f"MEASURE {measure}:")]
    assert len(section.splitlines()) > 2


def test_nist_says_whether_people_answered() -> None:
    by_people = render("nist-ai-rmf", read_results(PEOPLE))
    assert "answers by one annotator" in by_people
    assert "met: not known to t2ibench" in by_people
    assert "No person answered" in render("nist-ai-rmf", read_results(TOY))


@pytest.mark.parametrize("name", ["gpai", "nist-ai-rmf"])
def test_documents_escape_and_say_what_is_not_to_be_reported(name: str) -> None:
    text = render(name, renamed(several_tests(NASTY), NASTY))
    assert "<b>" not in text and "|`x`|" not in text and "\u202e" not in text
    assert "not a result to report" not in text
    limited = several_tests().model_copy(update={"limited": True})
    assert "Made with --limit; not a result to report" in render(name, limited)


@pytest.mark.parametrize("name", ["card", "gpai", "nist-ai-rmf"])
def test_documents_say_themselves_why_images_are_missing(name: str) -> None:
    results = several_tests()
    results.tasks["lean"].excluded = {"refused": 2, "unknown": 1, "repeated": 7}
    text = render(name, results)
    assert "listed below" not in text
    assert "3 left out. Images or answers: 2 refused, 1 without an answer." in text
    if name == "nist-ai-rmf":
        count = "summed over tests: 3 (2 refused, 1 without an answer)."
        assert count in text


def test_a_card_of_a_trial_says_that_it_is_none_to_report() -> None:
    results = several_tests()
    assert "not a result to report" not in render("card", results)
    results.limited = True
    assert "**Made with --limit; not a result to report.**" in render("card", results)


@pytest.mark.parametrize("name", ["card", "gpai", "nist-ai-rmf"])
def test_a_document_without_tests_has_no_empty_table(name: str) -> None:
    text = render(name, hand.results())
    lines = text.splitlines()
    rules = [place for place, line in enumerate(lines) if line.startswith("|-")]
    for place in rules:
        heading = lines[place - 1]
        assert "In words" not in heading and "Prompts like these" not in heading
    assert "What follows was measured" not in text
