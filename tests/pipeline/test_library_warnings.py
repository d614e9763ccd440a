"""A run's record has what libraries warned of about its own models, whatever ran before it."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.library_messages import collect_messages
from t2ibench.pipeline.source_images import FOLDER
from t2ibench.results.run import open_run
from tests.pipeline.editing import Editor, write_task

pytestmark = pytest.mark.networks

HERE = "tests.pipeline.test_library_warnings"
WARNED = "an odd thing"
FEW: dict[str, Any] = {
    "encoder": "toyland",
    "limit": 2,
    "images_per_prompt": 2,
    "n_permutations": 100,
    "n_bootstrap": 100,
}


class Quiet(ToylandGenerator):
    """Toyland, under another name."""

    def __init__(self) -> None:
        super().__init__({})
        self.name = "quiet"


class Loud(Quiet):
    """Toyland, of which a library warns when it is made."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "loud"
        with collect_messages("loud"):
            logging.getLogger("diffusers.models").warning(WARNED)


class LoudOnce(Quiet):
    """Toyland, of which libraries warn only the first time in a process."""

    def __init__(self) -> None:
        from transformers.utils.logging import get_logger

        super().__init__()
        self.name = "loud-once"
        with collect_messages("loud"):
            get_logger("transformers.models").warning_once("a thing told once")
            warnings.warn("a warning told once", stacklevel=1)


class LoudEditor(Editor):
    """An editor, of which a library warns when it is made."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        with collect_messages("editor"):
            logging.getLogger("diffusers.models").warning(WARNED)


def warned_of(folder: Path, model: Any, **settings: Any) -> list[str]:
    """The warnings of libraries in the results of a run."""
    given = {"tasks": "t2iat_flowers_insects", **FEW, **settings}
    results = evaluate(model, output_dir=folder, **given)
    return [warning.text for warning in results.library_warnings]


def test_a_model_that_was_made_for_no_run_is_in_no_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_generator(f"{HERE}:Loud")
    assert capsys.readouterr().err.endswith(f"{WARNED}\n")
    assert warned_of(tmp_path, f"{HERE}:Quiet") == []


def test_a_run_that_could_not_begin_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match="no_such_task"):
        warned_of(tmp_path, f"{HERE}:Loud", tasks="no_such_task")
    assert warned_of(tmp_path, f"{HERE}:Quiet") == []


def test_every_run_of_a_process_has_the_warnings_of_its_model(tmp_path: Path) -> None:
    for number in (1, 2):
        loud = warned_of(tmp_path / f"{number}", f"{HERE}:Loud")
        quiet = warned_of(tmp_path / f"{number}", f"{HERE}:Quiet")
        once = warned_of(tmp_path / f"{number}", f"{HERE}:LoudOnce")
        assert (loud, quiet) == ([WARNED], []), number
        assert sorted(once) == ["a thing told once", "a warning told once"], number


@pytest.mark.parametrize(
    ("editor", "sources", "of_edits", "of_sources"),
    [
        ("LoudEditor", None, [WARNED], [WARNED]),
        ("LoudEditor", "Quiet", [WARNED], []),
        ("Editor", "Loud", [], [WARNED]),
    ],
)
def test_edits_and_their_source_images_have_the_warnings_of_their_own_models(
    editor: str,
    sources: str | None,
    of_edits: list[str],
    of_sources: list[str],
    tmp_path: Path,
) -> None:
    tasks = write_task(tmp_path / "tasks")
    results = evaluate(
        f"{HERE}:{editor}",
        "edited",
        **FEW,
        judge="toyland",
        include_path=[tasks],
        sources=None if sources is None else f"{HERE}:{sources}",
        output_dir=tmp_path / "runs",
    )
    assert [warning.text for warning in results.library_warnings] == of_edits
    assert results.folder is not None
    record = open_run(results.folder / FOLDER).record
    assert [warning.text for warning in record.library_warnings] == of_sources
