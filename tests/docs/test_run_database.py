"""docs/run-database.md: each query and each piece of Python runs on a run, and finds something."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from t2ibench.identity import ImageKey
from t2ibench.results.run import open_run
from t2ibench.store.database import Database
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.labels import Label, LabelStore
from tests import hand
from tests.conftest import copied

PAGE = (Path(__file__).parents[2] / "docs" / "run-database.md").read_text(
    encoding="utf-8"
)
QUERIES = [
    query.strip()
    for block in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    for query in block.split(";\n")
    if query.strip()
]
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def run(shared_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with everything that the page asks for."""
    run = copied(shared_run, tmp_path_factory.mktemp("run"))
    generator = open_run(run).record.generator
    assert generator is not None
    images = ImageStore(Database(run), generator.fingerprint)
    first = next(one for one in images.attempts() if one.status == "ok")
    refused = Attempt(
        ImageKey.of(first.prompt, 98), 1, "refused", reason="it is a person"
    )
    images.record(
        [
            refused,
            images.add_image(
                ImageKey.of("a", 0), 1, images.image(first).data(), ".png"
            ),
        ]
    )
    images.record([replace(first, revised_prompt="other words")])
    answer = hand.stored(run, "answers")[0]
    question = (answer["question"], tuple(json.loads(answer["classes"])))
    LabelStore(Database(run)).add(
        [Label(*question, answer["image"], "anna", "not this")]
    )
    return run


def test_there_are_ten_questions() -> None:
    assert len(re.findall(r"^[A-Z].*\?\n\n```sql$", PAGE, re.MULTILINE)) == 10


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_a_query_finds_something(query: str, run: Path) -> None:
    with closing(
        sqlite3.connect(f"file:{run / 'run.db'}?mode=ro", uri=True)
    ) as connection:
        rows = connection.execute(query).fetchall()
    assert rows and (
        query.startswith("SELECT json_extract(value, '$.cost')") or any(rows[0])
    )


def test_pandas_and_embeddings_are_read_as_the_page_says(run: Path) -> None:
    names: dict[str, Any] = {}
    frame, embeddings = (block.replace("runs/toyland", str(run)) for block in PYTHON)
    exec(
        frame.replace("pandas.read_sql", "frame = pandas.read_sql") + embeddings, names
    )
    assert set(names["frame"].status) == {"ok", "refused"}
    vectors, hashes = names["vectors"], names["hashes"]
    assert (
        len(hashes) == len(vectors) and abs(float((vectors[0] ** 2).sum()) - 1) < 0.01
    )
    assert {len(one) for one in hashes} == {64}
