"""Runs whose prompts are rewritten: once, stored, replayed; what is refused or lost."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from t2ibench import Rewriting, evaluate
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.models.language import RewriteRequest
from t2ibench.results.comparison import compare
from t2ibench.results.comparison_remarks import rewriting_line
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests import hand
from tests.apps.explorer.api import explore, opened
from tests.conftest import Cli
from tests.models.chat import posted_text, serving
from tests.pipeline.engines import SMALL, SMALL_FLAGS, TWO, Runs

pytestmark = pytest.mark.usefixtures("few_words")

ROOT = Path(__file__).parents[2]
BALANCED = ROOT / "examples" / "rewrites" / "balanced.jsonl"
TASK = "t2iat_flowers_insects"
OCCUPATIONS = "occupations_t2iat"
FLAGS = (
    "--model",
    "toyland",
    "--tasks",
    TASK,
    *SMALL_FLAGS,
    "--control-encoder",
    "none",
)


class Counts:
    """Adds a word; counts what it is asked, and declines or fails where it is told to."""

    name = "counts"
    fingerprint = "c" * 64
    settings: ClassVar[dict[str, Any]] = {"word": "joy"}
    per = "prompt"

    def __init__(self, refuses: str = "-", fails: str = "-") -> None:
        self.asked: list[RewriteRequest] = []
        self.refuses, self.fails = refuses, fails

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        self.asked += requests
        return [self._one(request.prompt) for request in requests]

    def _one(self, prompt: str) -> Rewriting:
        if self.refuses in prompt:
            return Rewriting("refused", reason="not this one")
        if self.fails in prompt:
            return Rewriting("failed", reason="away for a moment")
        return Rewriting("ok", f"{prompt}, joy")


def run(folder: Path, rewriter: Any, **more: Any) -> Any:
    settings = {**SMALL, "control_encoder": "none", "output_dir": folder, **more}
    return evaluate("toyland", TASK, rewriter=rewriter, **settings)


def speak(body: dict[str, Any]) -> tuple[int, Any]:
    """What a server makes of a prompt."""
    return 200, posted_text(body).rpartition("Prompt: ")[2] + ", joy"


def at_night(folder: Path) -> str:
    """A rewriter: a file with a rewriting of every prompt of TASK."""
    (task,) = load_tasks([TASK], ())
    prompts = [need.prompt for need in needs(task.spec, Settings()).prompts]
    words = "".join(f'"{one}","{one} at night"\n' for one in prompts)
    (folder / "words.csv").write_text(f"prompt,rewritten\n{words}", encoding="utf-8")
    return f"file:{folder / 'words.csv'}"


def texts_of(folder: Path) -> dict[str, str]:
    """Prompt to its rewriting."""
    found = hand.stored(folder, "rewrites")
    texts = {row["prompt"]: row["rewritten"] for row in found}
    assert len(texts) == len(found)
    return texts


def revised(folder: Path) -> set[tuple[str, str]]:
    """Prompts and what their images were made of."""
    return {
        (one["prompt"], one["revised_prompt"])
        for one in hand.stored(folder, "attempts")
    }


def test_balanced_rewritings_take_the_leans_away(tmp_path: Path) -> None:
    """The worked example of the docs: planted leans, and none behind a balancing rewriter."""
    few = {"images_per_prompt": 8, "n_permutations": 500, "n_bootstrap": 200}
    rewritten = {"rewriter": f"file:{BALANCED}", "rewriter_args": {"missing": "keep"}}
    without = evaluate("toyland", OCCUPATIONS, output_dir=tmp_path, **few)
    behind = evaluate("toyland", OCCUPATIONS, output_dir=tmp_path, **few, **rewritten)
    before, after = (results.tasks[OCCUPATIONS] for results in (without, behind))
    assert before.headline.square is not None and before.headline.square > 0.15
    assert after.headline.square is not None and after.headline.square < 0.03
    assert (
        after.inconclusive is None
        and after.headline.p is not None
        and after.headline.p > 0.01
    )
    # By group: the unmarked prompts are rewritten, those that name a gender are not.
    shares = {
        one.group: one.revised.share for one in after.prompt_outcomes if one.revised
    }
    assert (shares["no group named"], shares["male"], shares["female"]) == (
        1.0,
        0.0,
        0.0,
    )
    folders = without.folder, behind.folder
    assert folders[0] is not None and folders[1] is not None
    (headline, *_) = compare(without, behind, *map(read_paired, folders))
    assert (headline.verdict, headline.paired) == ("second", True)
    line = rewriting_line(without, behind)
    assert line is not None and line.startswith(
        "The rewriter differs: none in the first run"
    )
    page = (folders[1] / "report.html").read_text(encoding="utf-8")
    assert "→ “A photo of a female" in page and "file:balanced.jsonl" in page


def test_the_example_covers_the_unmarked_prompts_of_the_group() -> None:
    known = {
        row["prompt"]: row["rewritten"] for row in map(json.loads, BALANCED.open())
    }
    unmarked = {
        need.prompt
        for task in load_tasks(["occupations"], ())
        for need in needs(task.spec, Settings()).prompts
        if need.group == "no group named"
    }
    assert known.keys() == unmarked
    for prompt, (female, male) in known.items():
        assert female.replace("female ", "") == male.replace("male ", "")
        assert prompt.split()[-1] == male.split()[-1]


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    first = Counts()
    results = run(tmp_path, first)
    prompts = [request.prompt for request in first.asked]
    assert len(prompts) == len(set(prompts)) == results.tasks[TASK].n_prompts
    folder = results.folder
    assert texts_of(folder) == {prompt: f"{prompt}, joy" for prompt in prompts}
    assert revised(folder) == set(texts_of(folder).items())
    assert results.model.rewriter.name == "counts"
    again = Counts()
    assert run(tmp_path, again) == results and not again.asked
    # More images of the same prompts are made from the same rewritings.
    assert (
        run(tmp_path, again, images_per_prompt=3).folder == folder and not again.asked
    )


def test_lost_rewritings_are_asked_for_again_where_images_are_missing(
    tmp_path: Path,
) -> None:
    results = run(tmp_path, Counts())
    before = texts_of(results.folder)
    hand.damage(
        results.folder,
        "UPDATE rewrites SET rewritten = 'x' WHERE text = (SELECT min(text) FROM rewrites)",
    )
    again = Counts()
    with pytest.warns(UserWarning, match=r"damaged rows \(rewrites 1\)"):
        run(tmp_path, again, images_per_prompt=3)
    assert len(again.asked) == 1 and texts_of(results.folder) == before


@pytest.mark.parametrize(
    ("how", "status"), [("refuses", "refused"), ("fails", "failed")]
)
def test_one_prompt_costs_its_own_images_alone(
    tmp_path: Path, how: str, status: str
) -> None:
    # The first prompt of all: more of its images than would stop a run if the model failed.
    with pytest.warns(UserWarning, match="counts (refused to|could not) rewrite"):
        rewriter = Counts(**{how: "a photo of ant"})
        results = run(tmp_path, rewriter, images_per_prompt=10, allow_missing=True)
    lost = [
        one for one in hand.stored(results.folder, "attempts") if one["status"] != "ok"
    ]
    assert {one["status"] for one in lost} == {status}
    assert all("a photo of ant" in one["prompt"] for one in lost)
    task = results.tasks[TASK]
    assert task.excluded[status] == len(lost) and task.n_images > len(lost)
    again = Counts()
    run(tmp_path, again, images_per_prompt=10, allow_missing=True)
    # A refusal stays; a failure is asked for again.
    assert bool(again.asked) == (status == "failed")


def test_a_rewriter_that_always_fails_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(
        T2IBenchError, match=r"The first \d+ prompts could all not be rewritten"
    ):
        run(tmp_path, Counts(fails=""), limit=None)
    assert not list(tmp_path.glob("*/images/*/*.png"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["text"], "gave a str, not a Rewriting"),
        ([Rewriting("ok", " ")], "gave no text"),
        ([Rewriting("odd", "x")], "gave the status 'odd'"),  # type: ignore[arg-type]
        ([], "0 rewritings of"),
    ],
)
def test_invalid_results_of_a_rewriter_are_refused(
    tmp_path: Path, given: list[Any], says: str
) -> None:
    rewriter: Any = Counts()
    rewriter.rewrite = lambda requests: given * len(requests)
    with pytest.raises(T2IBenchError, match=says):
        run(tmp_path, rewriter)


def test_invalid_rewriters_are_refused_before_anything_is_generated(
    cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "few.csv"
    file.write_text(
        "prompt,rewritten\na photo of ant,a photo of a bee\n", encoding="utf-8"
    )
    out = ("--output-dir", tmp_path / "runs")
    for more, says in (
        (("--rewriter", f"file:{file}"), "few.csv lacks"),
        (("--rewriter", "flie:x"), "Did you mean 'file:'?"),
        (("--rewriter-args", "per=image"), "--rewriter-args needs a --rewriter"),
    ):
        status, _, said = cli(*FLAGS, *out, *more)
        assert (status, len(said.strip().splitlines())) == (1, 1), said
        assert says in said
    status, _, said = cli(
        "--encoder", "toyland", "--tasks", "weat", "--rewriter", f"file:{file}"
    )
    assert status == 1 and "--rewriter needs a --model" in said
    assert not (tmp_path / "runs").exists()


def planned(cli: Cli, flags: Sequence[Any], *more: str) -> str:
    status, said, _ = cli(*flags, "--dry-run", *more)
    assert status == 0
    return " ".join(said.split())


def test_a_server_rewrites_once(cli: Cli, tmp_path: Path) -> None:
    flags = (*FLAGS, "--output-dir", tmp_path / "a", "--rewriter", "openai:m")
    said = planned(cli, flags)
    assert "Rewriter: openai:m, one rewriting a prompt; " in said
    prompts = int(said.partition("each image once: ")[2].split()[0])
    assert f"{prompts} rewritings have to be made" in said
    said = planned(cli, flags, "--rewriter-args", "per=image")
    assert f"{2 * prompts} rewritings have to be made" in said
    with serving(speak) as (url, posted):
        flags += ("--rewriter-args", f"base_url={url}")
        assert cli(*flags)[0] == 0
    (folder,) = (tmp_path / "a").iterdir()
    results = (folder / "results.json").read_bytes()
    assert len(posted) == prompts == read_results(folder).tasks[TASK].n_prompts
    # The server is gone: what is stored is enough to go on, and to score.
    assert cli(*flags)[0] == cli("score", folder)[0] == 0
    assert (folder / "results.json").read_bytes() == results
    # Another generator takes the rewritings over.
    status, _, said = cli(
        *FLAGS, "--output-dir", tmp_path / "b", "--rewriter", f"file:{folder}"
    )
    assert status == 0, said


@pytest.mark.nightly
def test_workers_do_not_rewrite(tmp_path: Path) -> None:
    found = []
    with serving(speak) as (url, posted):
        flags = (*FLAGS, "--rewriter", "openai:m", "--rewriter-args", f"base_url={url}")
        for name, more in (("one", ()), ("two", TWO)):
            one, before = Runs(tmp_path / name), len(posted)
            one.end(one.start(*more, flags=flags))
            (folder,) = one.run.parent.iterdir()
            found.append((len(posted) - before, hand.outputs(folder)))
    assert found[0] == found[1]


@pytest.mark.nightly
def test_processes_that_start_together_rewrite_once(runs: Runs) -> None:
    def another(body: dict[str, Any]) -> tuple[int, Any]:
        # A server that never says the same twice: the run has one text of each prompt all the same.
        return 200, f"{speak(body)[1]} {os.urandom(4).hex()}"

    with serving(another) as (url, posted):
        flags = (*FLAGS, "--rewriter", "openai:m", "--rewriter-args", f"base_url={url}")
        for process in [runs.start(flags=flags) for _ in range(2)]:
            runs.end(process)
    (folder,) = runs.run.parent.iterdir()
    assert len(posted) == len(texts_of(folder))
    assert revised(folder) == set(texts_of(folder).items())


def test_the_explorer_shows_a_rewriting(tmp_path: Path) -> None:
    args = {"missing": "keep"}
    results = run(tmp_path / "runs", at_night(tmp_path), rewriter_args=args)
    collection = opened(results.folder)
    with explore(collection, tmp_path / "session.json") as client:
        prompt = collection.gallery.pictures[0].prompt
        assert client.get("/api/image/0")["rewritten"] == f"{prompt} at night"


def test_a_comparison_says_what_else_differs(tmp_path: Path) -> None:
    first = run(tmp_path / "a", Counts())
    assert rewriting_line(first, first) == "Both runs have the same rewriter, counts."
    other = Counts()
    other.fingerprint = "d" * 64
    second = run(tmp_path / "b", other, seed=1, model_args={"all.gender.female": 0.5})
    line = rewriting_line(first, second)
    assert line is not None and line.endswith(
        "These differ, too: the generator and the seed."
    )
    plain = run(tmp_path / "c", None)
    assert rewriting_line(plain, plain) is None
