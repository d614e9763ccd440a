"""Submissions whose prompts were rewritten: what is stated of them is not shown as verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.claims import settings_of
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.regenerate import REWRITINGS as NAME
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.apps.leaderboard.views import provenance
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.models.generators import create_generator
from t2ibench.models.rewritten_generator import RewriterInfo, rewritten
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.settings import Settings
from t2ibench.store.evidence import text_key
from t2ibench.store.schema import content_id
from t2ibench.tasks.index import load_tasks
from tests.apps.leaderboard.conftest import board_of
from tests.apps.leaderboard.forging import (
    Rows,
    edit,
    edit_attempts,
    edit_embeddings,
    edit_table,
    refusal,
    seal,
)
from tests.models import tiny

TASK = "t2iat_flowers_insects"
FEW: dict[str, Any] = {"images_per_prompt": 2, "encoder": "toyland"}


def words(file: Path, texts: int = 1) -> Path:
    (task,) = load_tasks([TASK], ())
    prompts = [need.prompt for need in needs(task.spec, Settings()).prompts]
    found = [[f"{one} at night", f"{one} at dawn"][:texts] for one in prompts]
    rows = ({"prompt": one, "rewritten": two} for one, two in zip(prompts, found, strict=True))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run behind a file of rewritings, some of which images draw, and the file."""
    root = tmp_path_factory.mktemp("rewritten")
    file = words(root / "words.jsonl", 2)
    evaluate("toyland", TASK, rewriter=f"file:{file}", output_dir=root / "runs", **FEW)
    (run,) = (root / "runs").iterdir()
    return run


@pytest.fixture
def rewriting(made: Path, tmp_path: Path) -> Path:
    return pack(made, tmp_path, SilentReporter())


def test_the_rewritings_of_a_file_travel_and_are_made_again(rewriting: Path) -> None:
    verdict = verify(rewriting, draw=5)
    assert (verdict.level, verdict.problems, verdict.lacking) == ("reproduced", [], [])
    assert verdict.parts["rewritings"] == 5 and "rewritings" not in verdict.stated
    assert "5 rewritings" in verdict.notes[0]
    assert "rewritings" in verify(rewriting).stated


def change_words(rewriting: Path) -> None:
    file = rewriting / NAME
    file.write_text(file.read_text(encoding="utf-8").replace(" at dawn", " at noon, joy"))
    seal(rewriting)


def leave_words_out(rewriting: Path) -> None:
    (rewriting / NAME).unlink()
    seal(rewriting)


@pytest.mark.parametrize(
    ("change", "why"),
    [(change_words, "other weights, settings or words"), (leave_words_out, "does not hold them")],
)
def test_other_rewritings_than_the_fingerprint_names_are_as_stated(
    change: Any, why: str, rewriting: Path
) -> None:
    change(rewriting)
    verdict = verify(rewriting, draw=4)
    assert (verdict.level, verdict.problems) == ("partly reproduced", [])
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
    number = {content_id("generator", "", one): content_id("generator", "", new) for one in [old]}

    def rename(key: str) -> Any:
        def change(rows: Rows) -> None:
            for row in rows:
                row[key] = number.get(row[key], row[key])
                if row.get("fingerprint") == old:
                    row["fingerprint"] = new

        return change

    edit_table(rewriting, "models", rename("id"))
    edit_table(rewriting, "attempts", rename("generator"))


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


def test_a_rewriter_describes_itself(rewriting: Path) -> None:
    relabel(rewriting, settings={"by": "people"})
    assert "describes its rewriter otherwise" in refusal(rewriting, 2)


def test_the_model_behind_a_rewriter_is_compared(rewriting: Path) -> None:
    relabel(rewriting, generator_name="dall-e-3")
    assert "another model behind its rewriter" in refusal(rewriting, 2)


def test_the_command_names_the_rewriter(rewriting: Path) -> None:
    def change(results: Any) -> None:
        results["model"]["rewriter"]["name"] = "hf:Qwen/Qwen3-8B"

    edit(rewriting, "results.json", change)
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


def test_an_invented_revised_prompt_is_found_out(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "forged"))

    def invent(rows: Rows) -> None:
        for row in rows:
            row["revised_prompt"] = f"{row['text']}, diverse"

    edit_attempts(copy, invent)
    submission = pack(copy, tmp_path / "submissions", SilentReporter())
    verdict = verify(submission)
    assert verdict.level == "recomputed" and "rewritings" in verdict.stated
    assert "is said to be of the prompt '" in refusal(submission, 2)


def test_no_text_may_be_left_out(tmp_path: Path) -> None:
    """Without the embedding of one prompt, agreement with all prompts was not shown."""
    evaluate("toyland", "mcas_sports", output_dir=tmp_path, **FEW)
    run = tmp_path / "toyland"
    copy = Path(shutil.copytree(run, tmp_path / "forged"))
    plan = make_plan(load_tasks("mcas_sports"), Settings(images_per_prompt=2))
    prompt = text_key(plan.prompt_texts[0])

    def leave_out(keys: list[str], rows: Any) -> Any:
        at = keys.index(prompt)
        del keys[at]
        return np.delete(rows, at, axis=0)

    edit_embeddings(copy, "texts", leave_out)
    with pytest.raises(T2IBenchError, match="Run the command again to complete the run"):
        pack(copy, tmp_path / "submissions", SilentReporter())
    submission = pack(run, tmp_path / "submissions", SilentReporter())
    edit_embeddings(submission, "texts", leave_out)
    assert "1 texts have no embedding by toyland" in refusal(submission)


def test_few_invented_revised_prompts_stay_stated(run: Path, tmp_path: Path) -> None:
    """What was not among the images made again is not called verified."""
    copy = Path(shutil.copytree(run, tmp_path / "forged"))

    def invent(rows: Rows) -> None:
        rows[0]["revised_prompt"] = f"{rows[0]['text']}, diverse"

    edit_attempts(copy, invent)
    submission = pack(copy, tmp_path / "submissions", SilentReporter())
    found = [verify(submission, 2, seed) for seed in range(3)]
    missed = [verdict for verdict in found if not verdict.problems]
    assert missed and all("rewritings" in verdict.stated for verdict in missed)
