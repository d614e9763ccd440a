"""What libraries warn of while a model is loaded: an error, recorded, or dropped by name."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import create_encoder
from t2ibench.models.library_messages import (
    RULES,
    Journal,
    LibraryMessage,
    collect_messages,
    summary,
    treatment_of,
)
from tests.conftest import Cli
from tests.models import tiny

pytestmark = pytest.mark.networks

MISSING = (
    "\x1b[1mCLIPModel LOAD REPORT\x1b[0m from: ./x\n"
    "Key                     | Status  | | \n"
    "------------------------+---------+-+-\n"
    "text.layers.{0, 1}.bias | MISSING | | \n"
)


@pytest.mark.parametrize(
    ("text", "treatment"),
    [
        (MISSING, "wrong"),
        (MISSING.replace("MISSING", "MISMATCH"), "wrong"),
        (MISSING.replace("MISSING", "UNEXPECTED"), "recorded"),
        (
            "BertModel LOAD REPORT from: x\nbert.position_ids | UNEXPECTED | |\n",
            "harmless",
        ),
        (
            "Some weights of X were not initialized from the model checkpoint at y and are",
            "wrong",
        ),
        (
            "QuickGELU mismatch between final model config (quick_gelu=False) and pretrained tag "
            "'openai' (quick_gelu=True).",
            "wrong",
        ),
        ("Model RN50 initialized partially.", "wrong"),
        (
            "BertModel LOAD REPORT from: x\npooler.dense.bias | MISSING | |\n",
            "recorded",
        ),
        (
            "BertModel LOAD REPORT from: x\npooler.dense.bias | MISSING | |\nb | MISSING | |\n",
            "wrong",
        ),
        (
            "Keyword arguments {'stepz': 3} are not expected by X and will be ignored.",
            "recorded",
        ),
        (
            "Token indices sequence length is longer than the specified maximum",
            "recorded",
        ),
        ("`torch_dtype` is deprecated! Use `dtype` instead!", "harmless"),
        ("`size` is deprecated and has no effect on this processor.", None),
        ("What no rule has foreseen", None),
    ],
)
def test_a_message_is_wrong_recorded_harmless_or_not_known(
    text: str, treatment: str | None
) -> None:
    assert treatment_of(text) == treatment


def test_every_rule_gives_its_reason() -> None:
    assert all(rule.reason and rule.pattern for rule in RULES)
    assert {rule.treatment for rule in RULES} == {"wrong", "recorded", "harmless"}


def test_a_table_of_weights_becomes_a_sentence() -> None:
    assert summary(MISSING) == (
        "CLIPModel: 1 weight missing, and initialised at random (text.layers.{0, 1}.bias)"
    )


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def shown_messages(journal: Journal) -> Any:
    """What is shown, line by line."""
    lines: list[LibraryMessage] = []
    with journal.listening(lines.append):
        yield lines


def test_unknown_messages_are_shown_once_with_their_library(
    shown_messages: list[LibraryMessage], journal: Journal
) -> None:
    for _ in range(2):
        with collect_messages("my/model"):
            logging.getLogger("diffusers.loaders").warning("an\nodd thing")
            logging.getLogger("diffusers.loaders").info("a detail")
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            logging.getLogger("transformers").warning("`x` is deprecated")
    assert shown_messages == [LibraryMessage("diffusers", "my/model", "an odd thing")]
    assert journal.messages() == shown_messages
    assert (
        shown_messages[0].line == "diffusers, while my/model was loaded: an odd thing"
    )


def test_a_library_that_is_imported_meanwhile_is_heard(
    shown_messages: list[LibraryMessage], capfd: pytest.CaptureFixture[str]
) -> None:
    with collect_messages("m"):
        logger = logging.getLogger("a_library_of_tests")
        logger.addHandler(logging.StreamHandler())
        logger.propagate = False
        logger.warning("from a handler of its own")
    assert [message.library for message in shown_messages] == ["a_library_of_tests"]
    assert capfd.readouterr().err == ""
    logger.warning("and afterwards as before")
    assert "as before" in capfd.readouterr().err


def test_a_wrong_result_is_an_error_also_where_the_library_raises_its_own() -> None:
    wrong = "'m' would give wrong results, as transformers says"
    with pytest.raises(T2IBenchError, match=wrong), collect_messages("m"):
        logging.getLogger("transformers.x").warning(MISSING)
    with pytest.raises(T2IBenchError, match="1 weight missing"), collect_messages("m"):
        logging.getLogger("transformers.x").warning(MISSING)
        raise RuntimeError("for details look at the above report")
    with collect_messages("m", expected=("MISSING",)):
        logging.getLogger("transformers.x").warning(MISSING)


def _without(folder: Path, weight: str) -> None:
    """Take a weight out of a model's file."""
    from safetensors.numpy import load_file, save_file

    path = folder / "model.safetensors"
    weights = load_file(path)
    del weights[weight]
    save_file(weights, path, metadata={"format": "pt"})


@pytest.mark.slow
def test_a_model_without_some_weights_is_refused(tmp_path: Path) -> None:
    folder = tiny.clip_model(tmp_path / "clip")
    create_encoder(f"clip:{folder}", device="cpu")
    _without(folder, "visual_projection.weight")
    with pytest.raises(T2IBenchError) as caught:
        create_encoder(f"clip:{folder}", device="cpu")
    assert "1 weight missing, and initialised at random" in caught.value.message
    assert "visual_projection.weight" in caught.value.message


def _clip_with_a_weight_too_many(folder: Path) -> str:
    """The name of an encoder that transformers warns of."""
    from safetensors.numpy import load_file, save_file

    path = tiny.clip_model(folder) / "model.safetensors"
    weights = load_file(path) | {"vision_model.extra": np.zeros(3, np.float32)}
    save_file(weights, path, metadata={"format": "pt"})
    return f"clip:{folder}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        ("of transformers", "1"),
        ("without a library", "2"),
        pytest.param("of transformers", "2", marks=pytest.mark.nightly),
    ],
)
def test_recorded_messages_are_on_the_terminal_and_on_every_page(
    kind: str, workers: str, tmp_path: Path, cli: Cli
) -> None:
    """A weight that the network has no place for: told once, recorded, and shown on the pages."""
    encoder = (
        "tests.models.telling:Encoder"  # a worker that imports torch takes seconds
    )
    if kind == "of transformers":
        encoder = _clip_with_a_weight_too_many(tmp_path / "clip")
    command = (
        *("--model", "toyland", "--tasks", "t2iat_flowers_insects", "--limit", "2"),
        *("--encoder", encoder, "--output-dir", str(tmp_path / "runs")),
        *("--workers", workers, "--control-encoder", "none"),
    )
    status, _, errors = cli(*command)
    assert status == 0, errors
    assert errors.count("1 weight in the file that it has no place for") == 1
    assert "transformers, while" in errors
    run = tmp_path / "runs" / "toyland"
    (warning,) = json.loads((run / "results.json").read_text())["library_warnings"]
    assert warning["library"] == "transformers"
    assert "vision_model.extra" in warning["text"]
    for page in ("results.md", "report.html"):
        assert "vision_model.extra" in (run / page).read_text(), page
    # A run in which nothing is loaded leaves what is recorded.
    status, _, errors = cli(*command)
    assert "no place for" not in errors or status == 0
    again = json.loads((run / "results.json").read_text())["library_warnings"]
    assert again == [warning]


def test_outside_of_a_run_a_message_is_a_line_on_standard_error() -> None:
    code = (
        "import logging\n"
        "from t2ibench.models.library_messages import collect_messages\n"
        "with collect_messages('m'):\n"
        "    logging.getLogger('peft').warning('an odd thing')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == "t2ibench: peft, while m was loaded: an odd thing\n"
