"""`t2ibench cite`: what a run used, each once, with nothing made up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from t2ibench.methods import METHODS
from t2ibench.methods.core.publication import Publication
from t2ibench.reports.exchange.bibtex import TITLE, bibliography
from t2ibench.reports.exchange.publications import (
    named_in,
    of_method,
    publications,
)
from t2ibench.results import read_results
from t2ibench.tasks.index import build_index
from tests import hand
from tests.conftest import Cli
from tests.reports.exchange.runs import NASTY, renamed, several_tests
from tests.shipped import shipped

ROOT = Path(__file__).parents[3]
SUBMISSIONS = ROOT / "leaderboard" / "submissions"
TASKS = build_index()[0].tasks


def entries(text: str) -> dict[str, dict[str, str]]:
    """The fields of each entry by its key, as BibTeX reads them: by counting braces."""
    read: dict[str, dict[str, str]] = {}
    position = text.find("@")
    while position >= 0:
        start = re.compile(r"@([a-z]+)\{([A-Za-z0-9-]+),\n").match(text, position)
        assert start is not None, text[position : position + 80]
        fields: dict[str, str] = {"kind": start[1]}
        position = start.end()
        while text[position] != "}":
            field = re.compile(r"  ([a-z]+) = ").match(text, position)
            assert field is not None, text[position : position + 80]
            fields[field[1]], position = braced(text, field.end())
            assert text[position : position + 2] == ",\n"
            position += 2
        assert start[2] not in read
        read[start[2]] = fields
        position = text.find("@", position)
    return read


def braced(text: str, start: int) -> tuple[str, int]:
    """The text between a brace and its own end, and the position behind it."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start + 1 : position], position + 1
    raise AssertionError("a brace is never closed")


def test_everything_that_a_run_used_is_cited_once() -> None:
    results = read_results(shipped("toy"))
    cited = entries(bibliography(results))
    assert {"t2ibench", "model-toy", "encoder-toy-clip", "judge-toyland"} <= set(cited)
    for task in results.tasks.values():
        for publication in of_method(task.method):
            assert publication.key in cited
    tasks = {key for key in cited if key.startswith("task-")}
    assert len(tasks) == len(results.tasks)
    assert results.tasks["mcas_all"].task_hash in cited["task-mcas-all"]["note"]
    assert cited["task-mcas-all"]["author"] == "{The t2ibench authors}"
    assert cited["caliskan2017semantics"]["doi"] == "10.1126/science.aal4230"
    titles = [fields["title"] for fields in cited.values()]
    assert len(titles) == len(set(titles))


def test_people_are_no_model() -> None:
    results = read_results(SUBMISSIONS / "DALL-E-3-answered-by-people-ce8c0c20")
    cited = entries(bibliography(results))
    assert "Answers of people" in cited["judge-answers-by-one-annotator"]["note"]
    assert "dinca2024openbias" in cited and "zhao2018gender" not in cited


def test_text_of_runs_cannot_leave_its_field() -> None:
    hostile = f"}} @misc{{evil, title={{x}} }} {NASTY} \n\n@book{{b,"
    results = renamed(several_tests(hostile), hostile)
    text = bibliography(results)
    cited = entries(text)
    assert not {"evil", "b", "a"} & set(cited)
    # braces without a name are those of the format alone
    fields = [field for entry in cited.values() for field in entry.values()]
    names = r"\\(textbackslash|textbraceleft|textbraceright|textless|textgreater|char64)\{\}"
    for field in fields:
        plain = re.sub(names, "", field).removeprefix("{").removesuffix("}")
        assert not re.search(r"[{}]|(?<!\\)[%&$#_^~@]", plain), field
    assert "\u202e" not in text


def test_keys_that_would_be_equal_get_numbers() -> None:
    task = hand.task(
        settings=hand.settings(encoders={"a/b": "1" * 64, "A_b": "2" * 64})
    )
    cited = entries(bibliography(hand.results(t=task)))
    assert {"encoder-A-b", "encoder-a-b-copy2"} <= set(cited)


def test_a_key_is_short_and_no_number_repeats_another_key() -> None:
    names = ["a/b", "A_b", "a-b-copy2", "x" * 1000]
    encoders = {name: f"{place}" * 64 for place, name in enumerate(names)}
    task = hand.task(settings=hand.settings(encoders=encoders))
    cited = entries(bibliography(hand.results(t=task)))
    readers = {key.lower() for key in cited if key.startswith("encoder-")}
    assert len(readers) == len(names) and max(map(len, readers)) <= 80


def test_an_encoder_of_texts_is_no_encoder_of_images() -> None:
    texts = hand.task(settings=hand.settings(encoders={"vectors": "1" * 64}))
    texts.n_images = 0
    texts.n_prompts = 4
    texts.excluded = {}
    images = hand.task(settings=hand.settings(encoders={"both": "2" * 64}))
    also = texts.model_copy(update={"settings": images.settings})
    cited = entries(bibliography(hand.results(texts=texts, images=images, also=also)))
    assert cited["encoder-vectors"]["note"].startswith("Encoder of texts, ")
    assert cited["encoder-both"]["note"].startswith("Encoder of images and texts, ")


def test_a_task_of_unknown_source_has_no_author() -> None:
    cited = entries(bibliography(several_tests()))
    assert "author" not in cited["task-lean"] and cited["task-lean"]["key"] == "a title"
    assert "Source:" not in cited["task-lean"]["note"]


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_citation_of_a_shipped_task_names_its_publications(name: str) -> None:
    citation = " ".join(TASKS[name].spec.citation.split())
    named = named_in(citation)
    years = set(re.findall(r" \((\d{4})\)", citation)) - {"2026"}  # of t2ibench itself
    assert years <= {entry.fields.get("year") for entry in named}, named
    assert named


def test_every_method_has_its_publication() -> None:
    own = [name for name in METHODS if METHODS.origin(name) == "t2ibench"]
    assert own and all(map(of_method, own))


@pytest.fixture(scope="module")
def repository() -> str:
    """Everything that the repository says about publications, in one line of plain letters."""
    files = [
        ROOT / "CITATION.cff",
        *(ROOT / "tasks").rglob("*.yaml"),
        *(ROOT / "t2ibench" / "apps" / "papers" / "published").glob("*.yaml"),
        *(ROOT / "docs" / "methods").glob("*.md"),
    ]
    text = " ".join(path.read_text(encoding="utf-8") for path in files)
    return " ".join(text.replace("–", "-").split()).lower()


@pytest.mark.parametrize("publication", publications(), ids=lambda entry: entry.key)
def test_nothing_of_a_publication_is_made_up(
    publication: Publication, repository: str
) -> None:
    fields = dict(publication.fields)
    for author in fields.pop("author").strip("{}").split(" and "):
        family = author.partition(",")[0]
        assert family.lower() in repository or family == "others"
    assert fields.pop("archiveprefix", "arXiv") == "arXiv"
    for name, text in fields.items():
        assert text.lower().replace("--", "-") in repository, (name, text)


def test_the_program_is_cited_as_its_citation_file_says() -> None:
    stated = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert stated["title"] == TITLE


def test_the_command_prints_or_writes(cli: Cli, tmp_path: Path) -> None:
    run = shipped("toy")
    status, printed, _ = cli("cite", run)
    assert status == 0 and printed.startswith("% Written by t2ibench cite.")
    target = tmp_path / "bias.bib"
    assert cli("cite", run, "--output", target)[:2] == (0, "")
    assert target.read_text(encoding="utf-8") == printed
