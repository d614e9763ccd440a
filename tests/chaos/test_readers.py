"""Whatever a file holds, who reads it gets a value or one clear line."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from t2ibench import evaluate
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError, visible
from t2ibench.models.judges.answers import AnswersJudge
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.run import open_run
from t2ibench.store.checksums import KEY, sealed
from t2ibench.store.database import Database
from t2ibench.store.schema import TABLES, row_checksum, to_text
from t2ibench.tasks import load_tasks
from tests.apps.leaderboard.forging import seal
from tests.chaos.tools import (
    FLAGS,
    RUN,
    WORDS,
    altered,
    any_text,
    dumped,
    one_line,
    spliced,
)
from tests.chaos.tries import Tries, sizes
from tests.conftest import Cli
from tests.tasks.files import JOBS, TEA

pytestmark = pytest.mark.nightly

YAML = any_text(
    [
        *(
            "- ",
            "? ",
            "a: ",
            "<<: ",
            "&a ",
            "*a ",
            "!!set ",
            "!x ",
            "{",
            "}",
            "[",
            "]",
            "|\n",
        ),
        *(
            "\n",
            "\n  ",
            "\t",
            "#",
            "'",
            '"',
            "---\n",
            "!!binary x",
            "1e999",
            "2024-13-45",
            "~",
        ),
        *(
            "id: all",
            "method: weat\n",
            "{stimulus}",
            "{a stimulus}",
            "concepts:",
            "no",
            ".inf",
        ),
    ]
)
TABLE = any_text(
    [
        *(
            ",",
            "\n",
            "\r",
            '"',
            "\t",
            "{",
            "}",
            '{"prompt": "a"',
            '"index": 1',
            ": ",
            "answer",
        ),
        *(
            "prompt,index,answer\n",
            "a,0,b\n",
            "²",
            "9" * 5000,
            "\ufeff",
            "NaN",
            "1e999",
            "image",
        ),
    ]
)
# What reads a run that somebody spoilt.
COMMANDS: Sequence[Sequence[str | Path]] = [
    *(("report", RUN), ("score", RUN), ("power", RUN), FLAGS, (*FLAGS, "--dry-run")),
    *(("report", RUN, "--format", form) for form in ("md", "latex")),
    ("report", RUN, "--format", "csv"),
    ("compare", "whole/toyland", RUN, "--rows"),
    ("leaderboard", "add", RUN, "--to", "board"),
    *(("label", "export", RUN, "--images", "1"), ("label", "agree", RUN)),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, its labels and its submission."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(FLAGS) == 0
        # One that the leaderboard takes: the default numbers of draws, and no limit.
        evaluate(
            "toyland", "openbias_examples", images_per_prompt=2, output_dir="whole"
        )
        pack(Path("whole/toyland"), Path("packed"), SilentReporter())
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working folder."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def value_or_line(read: Callable[[], object]) -> None:
    try:
        read()
    except T2IBenchError as error:
        assert all(visible(line) == line for line in str(error).split("\n"))


def tried(
    tries: Tries, cli: Cli, spoil: Callable[[DataObject], object], read: Callable[[], object]
) -> None:  # fmt: skip
    """Spoil something of a run as it was made, read it, and give it to one of several commands."""
    kept = {file: file.read_bytes() for file in (RUN / "run.db", RUN / "results.json")}

    def check(data: DataObject) -> None:
        for file, whole in kept.items():
            file.unlink(missing_ok=True)
            file.write_bytes(whole)
        spoil(data)
        value_or_line(read)
        one_line(*cli(*data.draw(st.sampled_from(COMMANDS)))[::2])

    tries.of(check)


def spoilt(data: DataObject, whole: bytes, *, seal: bool = False) -> bytes:
    """A JSON file that says something else, or whose bytes are others."""
    if data.draw(st.integers(0, 3)):
        value = json.loads(whole)
        value.pop(KEY, None)
        value = altered(data, value)
        return dumped(sealed(value) if seal and isinstance(value, dict) else value)
    return (
        data.draw(any_text(["{", "}", '"', ":", ",", "[", "]", "1e999", "NaN", "null"]))
        or b"{"
    )


@sizes(15, 400)
def test_task_files(tries: Tries, here: Path, cli: Cli) -> None:
    file = here / "tasks" / "task.yaml"
    file.parent.mkdir()

    def check(data: DataObject) -> None:
        whole = data.draw(st.sampled_from([TEA, JOBS])).encode()
        file.write_bytes(spliced(data, whole, YAML))
        value_or_line(
            lambda: load_tasks(["all"], [file.parent], on_left_out=lambda _: None)
        )
        status, _, errors = cli("validate", file)
        assert status in {0, 1} and "fault of t2ibench" not in errors, errors
        if status == 0:
            mine = ("--tasks", "tag:benign", "--include-path", "tasks", "--dry-run")
            one_line(*cli(*FLAGS, *mine)[::2])

    tries.of(check)


def test_results_of_a_kind(here: Path) -> None:
    """What the next test alters is read as it is."""
    assert read_results(RUN).tasks and open_run(RUN).record.tasks
    assert verify(next(Path("packed").iterdir())).level == "recomputed"


@sizes(15, 400)
def test_results(tries: Tries, here: Path, cli: Cli) -> None:
    file = RUN / "results.json"
    whole = file.read_bytes()

    def spoil(data: DataObject) -> None:
        file.write_bytes(spoilt(data, whole, seal=True))

    tried(tries, cli, spoil, lambda: read_results(file))


@sizes(15, 400)
def test_records(tries: Tries, here: Path, cli: Cli) -> None:
    record = open_run(RUN).record.model_dump(mode="json")

    def spoil(data: DataObject) -> None:
        changed = altered(data, record)
        fields = changed.items() if isinstance(changed, dict) else ()
        rows = [(to_text(str(key)), json.dumps(value)) for key, value in fields]
        database = Database(RUN)
        database.execute("DELETE FROM run WHERE key <> 'labels'")
        database.write("run", rows)
        database.close()

    tried(tries, cli, spoil, lambda: open_run(RUN))


@sizes(12, 400)
def test_rows_of_the_database(tries: Tries, here: Path, cli: Cli) -> None:
    """Values that somebody wrote on purpose, with checksums that fit, and bytes of any kind."""
    file = RUN / "run.db"
    whole = file.read_bytes()

    def spoil(data: DataObject) -> None:
        if data.draw(st.integers(0, 3)):
            table = data.draw(
                st.sampled_from(sorted(set(TABLES) - {"embeddings", "scores"}))
            )
            with closing(sqlite3.connect(file)) as connection, connection:
                rows = connection.execute(f"SELECT * FROM {table}").fetchall()
                if rows:
                    row = list(data.draw(st.sampled_from(rows)))[:-1]
                    place = data.draw(st.integers(0, len(row) - 1))
                    numbers = (
                        st.integers(-(2**63), 2**63 - 1)
                        | st.floats()
                        | st.binary(max_size=9)
                    )
                    row[place] = data.draw(numbers | WORDS.map(to_text) | st.none())
                    marks = ", ".join("?" * (len(row) + 1))
                    with suppress(sqlite3.IntegrityError):
                        connection.execute(
                            f"REPLACE INTO {table} VALUES ({marks})",
                            (*row, row_checksum(row)),
                        )
        else:
            file.write_bytes(spliced(data, whole, TABLE))

    tried(tries, cli, spoil, lambda: read_paired(RUN))


@sizes(10, 400)
def test_submissions(tries: Tries, here: Path, cli: Cli) -> None:
    (folder,) = Path("packed").iterdir()
    kept = {
        file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }
    manifest = folder / "submission.json"

    def check(data: DataObject) -> None:
        file = data.draw(st.sampled_from([manifest, folder / "results.json", *kept]))
        file.write_bytes(other(data, file.name, kept[file]))
        if file != manifest and data.draw(st.integers(0, 4)):
            seal(folder)
        try:
            verdict = verify(folder)
            same = file.read_bytes() == kept[file]
            assert verdict.problems or verdict.level == "recomputed" or same
            status, out, errors = cli("leaderboard", "verify", folder)
            assert status in {0, 1} and "fault of t2ibench" not in errors + out
            one_line(
                *cli(
                    "leaderboard",
                    "build",
                    "--submissions",
                    "packed",
                    "--output",
                    "site",
                )[::2]
            )
        finally:
            for path, content in kept.items():
                path.write_bytes(content)

    tries.of(check)


def other(data: DataObject, name: str, whole: bytes) -> bytes:
    if name.endswith(".json"):
        return spoilt(data, whole, seal=True)
    if name.endswith(".jsonl") and whole and data.draw(st.booleans()):
        rows = [json.loads(line) for line in whole.splitlines()]
        place = data.draw(st.integers(0, len(rows) - 1))
        rows[place] = altered(data, rows[place])
        return b"".join(dumped(row) + b"\n" for row in rows)
    return spliced(data, whole, TABLE)


@sizes(24, 400)
def test_answers(tries: Tries, here: Path, cli: Cli) -> None:
    row = {"prompt": "a person", "index": 0, "question": "Which?", "answer": "male"}

    def check(data: DataObject) -> None:
        file = here / data.draw(st.sampled_from(["answers.jsonl", "answers.csv"]))
        rows = b"".join(dumped(altered(data, row)) + b"\n" for _ in range(2))
        file.write_bytes(data.draw(TABLE | st.just(rows) | st.just(rows)))
        value_or_line(lambda: AnswersJudge(file))
        if not data.draw(st.integers(0, 5)):
            words = ("--judge", f"answers:{file.name}", "--output-dir", "answered")
            one_line(*cli(*FLAGS, "--tasks", "openbias_examples", *words)[::2])

    tries.of(check)


@sizes(20, 400)
def test_sheets_captions_vectors_and_settings(
    tries: Tries, here: Path, cli: Cli
) -> None:
    assert cli("label", "export", RUN, "--images", "2")[0] == 0
    sheet = (RUN / "labels" / "sheet.csv").read_bytes()
    vectors = b"3 2\nman 1 0\nwoman 0 1\nart .5 .5\n"
    captions = b'{"annotations": [{"caption": "a man"}, {"caption": "a dog"}]}'
    weat = (
        "--tasks",
        "weat_8_science_arts",
        "--permutations",
        "200",
        "--bootstrap",
        "50",
    )
    propose = (
        "propose",
        "openbias",
        "--proposer",
        "word-lists",
        "--output",
        "out.yaml",
    )
    readers: dict[str, tuple[bytes, Sequence[str | Path]]] = {
        "sheet.csv": (sheet, ("label", "import", RUN, "sheet.csv")),
        "words.txt": (vectors, ("--encoder", "vectors:words.txt", *weat)),
        "captions.json": (captions, (*propose, "--captions", "captions.json")),
        "captions.csv": (b"caption\na man\n", (*propose, "--captions", "captions.csv")),
    }

    def check(data: DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(readers)))
        whole, command = readers[name]
        Path(name).write_bytes(spliced(data, whole, TABLE))
        one_line(*cli(*command)[::2])

    tries.of(check)


@sizes(20, 400)
def test_values_of_the_command_line(tries: Tries, here: Path, cli: Cli) -> None:
    plain = WORDS.filter(lambda word: "\x00" not in word)  # no process can be given it
    flags = [
        *("--model", "--tasks", "--model-args", "--encoder", "--judge", "--judge-args"),
        *(
            "--include-path",
            "--control-encoder",
            "--batch-size",
            "--device",
            "--dtype",
            "--engine",
        ),
        *("--times", "--limit", "--seed", "--permutations", "--bootstrap", "--level"),
        *("--until-precise", "--max-images-per-prompt"),
    ]
    numbers = st.sampled_from(
        ["0", "-1", "nan", "inf", "1e400", "9" * 30, "٣", "1_0", "1,2", "a=b"]
    )
    odd = st.sampled_from(
        ["toy:", "folder:", "vectors:", ":", "a:b", "openai:x", "vlm:/dev/null"]
    )

    def check(data: DataObject) -> None:
        flag = data.draw(st.sampled_from(flags))
        value = data.draw(plain | numbers | odd).encode("utf-8", "replace").decode()
        words: tuple[Any, ...] = (*FLAGS, f"{flag}={value}", "--dry-run")
        status, _, errors = cli(*words)
        if status == 2:  # wrong usage
            assert errors.startswith("t2ibench: ") and len(errors.splitlines()) == 1, (
                errors
            )
        else:
            one_line(status, errors)

    tries.of(check)
