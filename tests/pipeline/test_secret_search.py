"""What a run wrote is searched for known secrets when it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage
from t2ibench.pipeline.secret_search import secrets_written
from t2ibench.redaction import Redaction, known_secrets
from t2ibench.store.database import Database

SECRET = "kX7-very+secret/0123456789"


def test_a_run_says_where_a_secret_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any
) -> None:
    """A model that writes the environment's secret into what it says of a prompt."""
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    honest = ToylandGenerator.generate

    def generate(
        model: ToylandGenerator, requests: list[object]
    ) -> list[GeneratedImage]:
        images = honest(model, requests)  # type: ignore[arg-type]
        return [
            GeneratedImage("ok", image.image, revised_prompt=SECRET.encode().hex())
            for image in images
        ]

    monkeypatch.setattr(ToylandGenerator, "generate", generate)
    _, _, errors = cli(
        "--model", "toyland", "--tasks", "t2iat_flowers_insects", "--limit", "1",
        "--images-per-prompt", "1", "--output-dir", tmp_path,
    )  # fmt: skip
    assert "run.db (attempts.revised_prompt) holds a secret" in errors
    assert SECRET not in errors


def test_nothing_is_said_of_a_clean_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(tmp_path)
    with database.writing():
        database.add_model("judge", "a judge", "f" * 64)
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    assert list(secrets_written(database)) == []
    (tmp_path / "notes.md").write_text(f"the key, backwards: {SECRET[::-1]}")
    assert [
        "notes.md holds a secret" in line for line in secrets_written(database)
    ] == [True]
    database.close()


def test_texts_that_the_program_forms_itself_are_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million images have as many digests, each of which may be something encoded."""
    searched: list[str] = []

    def contains(_: Redaction, text: str) -> bool:
        searched.append(text)
        return False

    monkeypatch.setattr(Redaction, "contains", contains)
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    database = Database(tmp_path)
    attempts = [
        (1, 2, number, 0, 3, "ok", f"{number:064x}", f"{number}.png", None, "a prompt")
        for number in range(3)
    ]
    database.write("attempts", attempts)
    database.write("answers", [(1, 2, "e" * 64, "yes", "Yes, it does.")])
    database.add_model("judge", "a judge", "f" * 64)
    assert list(secrets_written(database)) == []
    assert sorted(searched) == ["Yes, it does.", "a judge", "a prompt", "yes"]
    database.close()


def test_a_call_that_stores_nothing_new_searches_the_record_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any
) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)

    def errors_of(images: int) -> str:
        _, _, errors = cli(
            "--model", "toyland", "--tasks", "t2iat_flowers_insects", "--limit", "1",
            "--images-per-prompt", images, "--output-dir", tmp_path,
        )  # fmt: skip
        return str(errors)

    assert "holds a secret" not in errors_of(1)
    (file,) = tmp_path.rglob("run.db")
    database = Database(file.parent)
    (file.parent / "notes.md").write_text(SECRET)
    database.write("models", [(7, "judge", SECRET, "f" * 64)])
    database.close()
    again = errors_of(1)
    assert "(models.name) holds a secret" in again
    assert "notes.md" not in again
    more = errors_of(2)
    assert "notes.md holds a secret" in more


def test_a_key_in_use_is_known_whatever_its_variable_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SERVICE", "unheard-of-0123456789")
    ApiKey("MY_SERVICE")
    assert "unheard-of-0123456789" in known_secrets()
