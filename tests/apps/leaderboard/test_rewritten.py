"""Submissions whose prompts were rewritten: what is stated of them is not shown as verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.claims import settings_of
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.regenerate import REWRITINGS as NAME
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.apps.leaderboard.views import provenance
from t2ibench.methods import needs
from t2ibench.models.generators import create_generator
from t2ibench.models.rewritten_generator import RewriterInfo, rewritten
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.settings import Settings
from t2ibench.store.schema import content_id
from t2ibench.tasks.index import load_tasks
from tests.apps.leaderboard.conftest import board_of
from tests.apps.leaderboard.forging import (
    Rows,
    edit,
    edit_attempts,
    edit_table,
    refusal,
    seal,
    set_in,
)
from tests.models import tiny

TASK = "t2iat_flowers_insects"
FEW: dict[str, Any] = {"images_per_prompt": 2, "encoder": "toyland"}


def words(file: Path) -> Path:
    """Two rewritings of each prompt."""
    (task,) = load_tasks([TASK], ())
    rows = (
        {
            "prompt": need.prompt,
            "rewritten": [f"{need.prompt} at {when}" for when in ("night", "dawn")],
        }
        for need in needs(task.spec, Settings()).prompts
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run behind a file of rewritings, some of which images draw, and the file."""
    root = tmp_path_factory.mktemp("rewritten")
    file = words(root / "words.jsonl")
    evaluate("toyland", TASK, rewriter=f"file:{file}", output_dir=root / "runs", **FEW)
    (run,) = (root / "runs").iterdir()
    return run


@pytest.fixture(scope="module")
def packed_rewriting(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(made, tmp_path_factory.mktemp("packed"), SilentReporter())


@pytest.fixture
def rewriting(packed_rewriting: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(packed_rewriting, tmp_path / packed_rewriting.name))


def test_the_rewritings_of_a_file_travel_and_are_made_again(rewriting: Path) -> None:
    verdict = verify(rewriting, draw=5)
    assert (verdict.level, verdict.problems, verdict.lacking) == ("reproduced", [], [])
    assert verdict.parts["rewritings"] == 5 and "rewritings" not in verdict.stated
    assert "5 rewritings" in verdict.notes[0]
    assert "rewritings" in verify(rewriting).stated


@pytest.mark.parametrize("there", [True, False])
def test_other_rewritings_than_the_fingerprint_names_are_as_stated(
    there: bool, rewriting: Path
) -> None:
    file = rewriting / NAME
    file.write_text(file.read_text(encoding="utf-8").replace(" at dawn", " at noon, joy"))
    if not there:
        file.unlink()
    seal(rewriting)
    verdict = verify(rewriting, draw=4)
    assert (verdict.level, verdict.problems) == ("partly reproduced", [])
    why = "other weights, settings or words" if there else "does not hold them"
    assert "rewritings" in verdict.stated and why in verdict.lacking[0]


def test_a_chosen_rewriting_of_a_file_is_found_out(rewriting: Path) -> None:
    """The file gives each image one of two; all images of the better one are a choice."""

    def choose(rows: Rows) -> None:
        for row in rows:
            row["revised_prompt"] = row["revised_prompt"].replace(" at dawn", " at night")

    edit_attempts(rewriting, choose)
    assert "another rewriting" in refusal(rewriting, 12)


def relabel(rewriting: Path, **claimed: Any) -> None:
    """Say of images behind a rewriter of one's own that another rewriter made their prompts."""
    results = json.loads((rewriting / "results.json").read_text())
    results.pop("checksum", None)
    model = results["model"]
    model["rewriter"] |= claimed
    info = RewriterInfo.model_validate(model["rewriter"])
    old, new = model["fingerprint"], rewritten(create_generator("toyland"), info).fingerprint
    command = results["command"]
    command[command.index("--rewriter") + 1] = info.name
    text = json.dumps(results).replace(old, new)
    (rewriting / "results.json").write_text(text)
    manifest = (rewriting / "submission.json").read_text()
    (rewriting / "submission.json").write_text(manifest.replace(old, new))
    was, now = (content_id("generator", "", one) for one in (old, new))

    def rename(rows: Rows) -> Rows:
        names = {old: new, was: now}
        return [{key: names.get(value, value) for key, value in row.items()} for row in rows]

    edit_table(rewriting, "models", rename)
    edit_table(rewriting, "attempts", rename)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hf:./nowhere/Qwen3-8B", "is a path of this machine"),
        ("openai:gpt-4o", "it is on a server, which is not called"),
    ],
)
def test_a_relabelled_rewriter_is_never_reproduced(name: str, why: str, rewriting: Path) -> None:
    (rewriting / NAME).unlink()
    relabel(rewriting, name=name, fingerprint="ab" * 32, settings={})
    verdict = verify(rewriting, draw=6)
    assert (verdict.level, verdict.problems) == ("partly reproduced", [])
    assert "rewritings" in verdict.stated and "rewritings" not in verdict.parts
    assert f"prompts were not rewritten again by {name}" in verdict.lacking[0]
    assert why in verdict.lacking[0]


def test_a_page_shows_a_rewriter_as_stated(rewriting: Path) -> None:
    relabel(rewriting, name="openai:gpt-4o", fingerprint="ab" * 32)
    (entry,) = board_of(rewriting.parent, "partly reproduced").entries
    entry.stated = ["rewritings"]
    assert "rewriter" in provenance(entry)["stated"]
    entry.level, entry.stated = "reproduced", []
    assert "rewriter" in provenance(entry)["checked"]


@pytest.mark.parametrize(
    ("claimed", "why"),
    [
        ({"settings": {"by": "people"}}, "describes its rewriter otherwise"),
        ({"generator_name": "dall-e-3"}, "another model behind its rewriter"),
    ],
)
def test_a_rewriter_is_compared(claimed: dict[str, Any], why: str, rewriting: Path) -> None:
    relabel(rewriting, **claimed)
    assert why in refusal(rewriting, 2)


def test_the_command_names_the_rewriter(rewriting: Path) -> None:
    named = set_in("model", "rewriter", "name", value="hf:Qwen/Qwen3-8B")
    edit(rewriting, "results.json", named)
    assert "its command names another rewriter" in refusal(rewriting)


def test_a_language_model_is_asked_again(tmp_path: Path) -> None:
    folder = tiny.llama(tmp_path / "llama")
    asked = tmp_path / "asked.txt"
    asked.write_text("Say it again: {prompt}", encoding="utf-8")
    evaluate(
        "toyland", TASK, rewriter=f"hf:{folder}", limit=None, output_dir=tmp_path / "runs",
        rewriter_args={"max_tokens": "4", "template": f"@{asked}"}, **FEW,
    )  # fmt: skip
    asked.unlink()  # the submission holds what was asked
    (run,) = (tmp_path / "runs").iterdir()
    submission = pack(run, tmp_path / "submissions", SilentReporter(), name="Drawn, rewritten")
    verdict = verify(submission, draw=3)
    assert verdict.problems == []
    assert verdict.level == "partly reproduced" and "rewritings" in verdict.stated
    assert "is a path of this machine; --local reads it" in verdict.lacking[0]
    verdict = verify(submission, draw=3, local=True)
    assert (verdict.level, verdict.problems, verdict.lacking) == ("reproduced", [], [])
    assert verdict.parts["rewritings"] == 3 and "rewritings" not in verdict.stated


def test_no_file_of_the_verifier_is_read(rewriting: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("{prompt} secret")

    relabel(rewriting, name="hf:./nowhere")

    def ask(results: Any) -> None:
        said = settings_of(results["command"])
        args = {"template": f"@{secret}"}
        results["command"] = said.model_copy(update={"rewriter_args": args}).command()

    edit(rewriting, "results.json", ask)
    verdict = verify(rewriting, draw=1)
    assert "in a file that the submission does not hold" in "".join(verdict.lacking), verdict


def invented(run: Path, to: Path, most: int | None = None) -> Path:
    """A submission that names revised prompts of images, which nobody revised."""
    copy = Path(shutil.copytree(run, to / "forged"))

    def invent(rows: Rows) -> None:
        for row in rows[:most]:
            row["revised_prompt"] = f"{row['text']}, diverse"

    edit_attempts(copy, invent)
    return pack(copy, to / "submissions", SilentReporter())


def test_an_invented_revised_prompt_is_found_out(run: Path, tmp_path: Path) -> None:
    submission = invented(run, tmp_path)
    verdict = verify(submission)
    assert verdict.level == "recomputed" and "rewritings" in verdict.stated
    assert "is said to be of the prompt '" in refusal(submission, 2)


def test_few_invented_revised_prompts_stay_stated(run: Path, tmp_path: Path) -> None:
    """What was not among the images made again is not called verified."""
    submission = invented(run, tmp_path, 1)
    found = [verify(submission, 2, seed) for seed in range(3)]
    missed = [verdict for verdict in found if not verdict.problems]
    assert missed and all("rewritings" in verdict.stated for verdict in missed)
