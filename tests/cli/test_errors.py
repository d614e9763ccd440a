"""Attacks on the command line: one line, the right exit status, nothing stored lost."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from t2ibench.cli import VERBS, main
from t2ibench.results.run import open_run
from tests.conftest import Cli
from tests.tasks.files import JOBS

ROOT = Path(__file__).resolve().parents[2]
TASK = "t2iat_flowers_insects"
SMALL = (
    *(
        "--model",
        "toyland",
        "--tasks",
        TASK,
        "--limit",
        "1",
        "--images-per-prompt",
        "1",
    ),
    *("--permutations", "99", "--bootstrap", "50", "--control-encoder", "none"),
)
DEEP = "[" * 100_000 + "]" * 100_000


def contents(root: Path) -> dict[str, str]:
    """Every ordinary file below a folder, by the hash of what is in it."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


def one_line(err: str) -> str:
    """The one line of an error."""
    lines = err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("t2ibench: "), err
    assert "Traceback" not in err and len(err) < 2500
    assert lines[0].isprintable()
    return lines[0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a judge's answers, that no test changes."""
    root = tmp_path_factory.mktemp("stored")
    tasks = ("--tasks", f"{TASK},openbias_examples")
    assert main([*SMALL, *tasks, "--output-dir", str(root)]) == 0
    return root / "toyland"


def process(cwd: Path, *argv: str, **options: Any) -> Any:
    """A command in a process; by itself t2ibench's."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    if argv[0] not in {"bash", sys.executable}:
        argv = (sys.executable, "-m", "t2ibench", *argv)
    return subprocess.run(argv, cwd=cwd, env=environment, check=False, **streams)


# --- where results go ---------------------------------------------------------------------------

PLACES = {
    "nothing can be made there": ("/proc/nothere", "no such file or directory"),
    "a name of 300 characters": ("n" * 300, "too long"),
    "a broken link": ("broken", "'broken' is a link that leads nowhere"),
    "a link to itself": ("loop", "'loop' is a link that leads nowhere"),
    "a file": ("file", "'file' is a file, not a folder"),
    "below a file": ("file/runs", "'file' is a file, not a folder"),
    "a device": ("/dev/null", "'/dev/null' is a file, not a folder"),
    "results.json is a folder": ("taken", "results.json is a folder"),
    "run.db is a folder": ("recorded", "run.db is no file. Remove it"),
    "images is a file": ("pictures", "images' is a file, not a folder"),
}


@pytest.mark.parametrize(("place", "message"), PLACES.values(), ids=list(PLACES))
def test_an_output_folder_that_cannot_be(
    place: str, message: str, cli: Cli, here: Path
) -> None:
    Path("broken").symlink_to("gone")
    Path("loop").symlink_to("loop")
    for folder in (
        "taken/toyland/results.json/in",
        "recorded/toyland/run.db/in",
        "pictures",
    ):
        Path(folder).mkdir(parents=True)
    Path("pictures/toyland").mkdir()
    for file in ("file", "pictures/toyland/images"):
        Path(file).write_text("mine")
    before = contents(here)
    status, _, err = cli(*SMALL, "--output-dir", place)
    assert status == 1 and message in one_line(err)
    assert before.items() <= contents(here).items()


@pytest.mark.nightly  # starts processes
def test_a_name_that_is_not_utf8_loses_nothing(cli: Cli, here: Path) -> None:
    folder = os.fsdecode(b"n\xff")
    argv = [*SMALL, "--output-dir", folder]
    assert cli(*argv)[0] == 0
    assert cli("score", f"{folder}/toyland")[0] == 0
    # as a shell gives the name, and shows it
    for words in (argv, ["report", f"{folder}/toyland"]):
        done = process(here, *words)
        assert done.returncode == 0, done.stderr.decode()
    assert b"\\udcff" in done.stdout
    record = open_run(here / folder / "toyland").record
    assert record.status == "complete" and len(record.history) == 2
    assert "\\udcff" in record.history[0].command


@pytest.mark.nightly  # starts processes
def test_a_current_folder_that_was_deleted(tmp_path: Path) -> None:
    gone = repr(str(tmp_path / "gone"))
    code = f"import os, sys\nos.mkdir({gone}); os.chdir({gone}); os.rmdir({gone})\n"
    code += "from t2ibench.cli import main\nsys.exit(main(sys.argv[1:]))"
    program = (sys.executable, "-c", code, *SMALL)
    done = process(tmp_path, *program)
    assert done.returncode == 1
    # A slow machine says before what it is doing.
    assert "the current folder has been deleted" in one_line(
        done.stderr.decode().splitlines()[-1]
    )
    done = process(tmp_path, *program, "--output-dir", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    "words",
    [
        "report RUN --output /proc/x/y.md",
        "report RUN --output RUN",
        "report RUN --output RUN/results.json/x.md",
        "leaderboard build --submissions ROOT/leaderboard/submissions --output /proc/x",
        "label export RUN --output /proc/x",
    ],
)
def test_other_places_that_cannot_be_written(
    words: str, cli: Cli, stored: Path
) -> None:
    before = contents(stored)
    status, _, err = cli(
        *words.replace("RUN", str(stored)).replace("ROOT", str(ROOT)).split()
    )
    line = one_line(err.strip().splitlines()[-1])
    assert status == 1 and ("/proc/x" in line or str(stored) in line)
    assert contents(stored) == before


# --- standard output and error ------------------------------------------------------------------


@pytest.mark.slow  # starts processes
@pytest.mark.parametrize(
    "argv",
    [
        pytest.param((), id="run", marks=pytest.mark.nightly),  # it draws every figure
        pytest.param(("ls",), id="ls"),
        pytest.param(("--help",), id="help"),
    ],
)
def test_a_full_standard_output_loses_no_results(
    argv: tuple[str, ...], cli: Cli, here: Path
) -> None:
    assert cli(*SMALL)[0] == 0
    before = contents(here)
    for dated in ("run.db", "report.html"):
        before.pop(f"runs/toyland/{dated}")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = process(here, *(argv or SMALL), stdout=full)
    assert done.returncode == 1
    line = one_line(done.stderr.decode().splitlines()[-1])
    assert "standard output cannot be written: the disk is full" in line
    assert before.items() <= contents(here).items()


RUN = " ".join(SMALL)


@pytest.mark.nightly  # starts processes
@pytest.mark.parametrize(
    "line",
    [
        *(f"{words} {closed}" for words in ("ls", "ls --json", RUN)
          for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full")),
        *("ls --json | head -c 10", f"{RUN} | head -c 10"),
    ],
)  # fmt: skip
def test_streams_of_a_shell(line: str, tmp_path: Path) -> None:
    start = f't2ibench() {{ {sys.executable} -m t2ibench "$@"; }}; set -o pipefail; t2ibench {line}'
    done = process(tmp_path, "bash", "-c", start)
    assert done.returncode == 0 and b"Error" not in done.stderr, done.stderr.decode()
    if line.startswith(RUN):
        (record,) = (tmp_path / "runs").glob("*/run.db")
        assert open_run(record).record.settings.seed == 0
        pictures = list((tmp_path / "runs").rglob("*.png"))
        assert pictures and all(p.read_bytes()[:4] == b"\x89PNG" for p in pictures)


# --- what is typed ------------------------------------------------------------------------------

# A flag after those of SMALL, its value, and what the error says.
TYPED = [
    ("--model", "m" * 5000, "Unknown model 'mmm"),
    ("--model", "a\nb", "Unknown model 'a\\nb'"),
    ("--model", "\x1b[2Jx", "Unknown model '\\x1b[2Jx'"),
    ("--model", "~nobodyhere/x", "No such folder"),
    ("--model-args", "k" * 5000, "not of the form"),
    ("--tasks", "t" * 100_000, "Unknown task, group or tag 'ttt"),
    ("--encoder", "vectors:" + "v" * 5000, "No such file"),
    ("--device", "cdua", "Did you mean 'cuda'?"),
    ("--include-path", "i" * 5000, "too long"),
    ("--engine", "e" * 5000, "--engine: expected 'local' or 'ray'"),
    (
        "--images-per-prompt",
        "1000000000",
        "--images-per-prompt: expected less than or equal to 1000000",
    ),
    (
        "--permutations",
        "9" * 400,
        "--permutations: expected less than or equal to 10000000",
    ),
    ("--level", "nan", "level"),
]


@pytest.mark.parametrize(("flag", "value", "message"), TYPED)
def test_a_value_that_cannot_be_is_one_line(
    flag: str, value: str, message: str, cli: Cli, here: Path
) -> None:
    status, out, err = cli(*SMALL, *flag.split(), value)
    assert status == 1, out + err
    assert message in one_line(err)
    assert not list(here.iterdir())


# Words, and what the error says.
USAGE = [
    (
        "--modle toy",
        "unknown flag '--modle'. Did you mean '--model'? `t2ibench run --help`",
    ),
    ("--model toy --task all", "unknown flag '--task'. Did you mean '--tasks'?"),
    ("score runs/toy --fromat csv", "unknown flag '--fromat'. `t2ibench score --help`"),
    ("run toy", "unexpected 'toy'"),
    ("rnu", "unknown command 'rnu'. Did you mean 'run'? `t2ibench --help`"),
    ("x" * 5000, "xxx"),
    ("leaderboard ad x", "Did you mean 'add'? `t2ibench leaderboard --help`"),
    ("--batch-size x", "--batch-size"),
    ("--limit 0", "--limit: '0' is not a whole number of 1 or more."),
    ("--seed abc", "--seed: 'abc' is not a whole number of 0 or more."),
    ("explore --port " + "9" * 5000, "--port"),
    ("score", "the following arguments are required: RUN."),
]


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_wrong_usage_is_one_line(words: str, message: str, cli: Cli) -> None:
    status, out, err = cli(*words.split())
    assert status == 2 and not out
    assert message in one_line(err)


def test_help_lists_every_command_once(cli: Cli) -> None:
    status, out, _ = cli("--help")
    assert cli()[1] == out and "t2ibench --model toy --tasks all" in out
    assert (
        "exit status" in cli("run", "--help")[1]
        and "t2ibench 0." in cli("--version")[1]
    )
    listed = re.findall(r"^  ([a-z][a-z-]*)  +[a-z]", out, re.MULTILINE)
    assert status == 0 and sorted(listed) == sorted(VERBS)


# --- what is in the files that are given --------------------------------------------------------

RUNS = {
    "nested": DEEP,
    "another version's setting": None,
    "another schema": '{"schema": 99}',
    "nothing": "",
    "half a pair": '{"schema": 2, "t2ibench": "\\ud800", "x": {}}',
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("file", ["run.db", "results.json"])
@pytest.mark.parametrize("verb", ["score", "report", "compare"])
def test_records_of_other_versions_and_of_no_version(
    verb: str, file: str, name: str, cli: Cli, stored: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(stored, folder)
    results = json.loads((folder / "results.json").read_text())
    tomorrow = json.dumps({**results, "of_tomorrow": 1})
    (folder / file).write_text(tomorrow if RUNS[name] is None else RUNS[name])
    before = contents(folder)
    status, out, err = cli(verb, folder, *([stored] if verb == "compare" else []))
    assert "Traceback" not in out + err
    after = contents(folder)
    evidence = {name: digest for name, digest in before.items() if "/" in name}
    assert evidence.items() <= after.items()
    if verb == "score" and file == "results.json" and name != "another schema":
        # It is written anew from the evidence; what was there is kept beside it.
        assert status == 0 and after[f"{file}.broken"] == before[file]
        assert "is kept as results.json.broken" in err
        return
    assert after == before
    assert status == 1
    one_line(err)


PROPOSE = "propose openbias --output o.yaml --captions"
TIBET = "propose tibet --output o.yaml --proposer openai:x"
TOYLAND = "--model toyland --tasks weat"
ANSWERS = "--model toyland --tasks openbias --judge answers:x.csv"
WEAT = "--tasks weat_1_flowers_insects --encoder vectors:"
SHEET = "label import STORED x.csv --labeller me"
HEAD, VECTORS = b"prompt,index,answer\na,", b"rose 1 0 0\ntulip 0 1 0\n"
ZIPPED = gzip.compress(VECTORS)
# A command, what is in the file x that it reads, and what the error says.
GIVEN: list[tuple[str, bytes | str, str]] = [
    ("--model toyland", "", "Which tasks?"),
    ("--tasks all", "", "Nothing to measure"),
    (
        "--model toyland --tasks t2iat_flowers_insect",
        "",
        "Did you mean 't2iat_flowers_insects'?",
    ),
    (f"{TOYLAND} --model-args flower.wether.pleasant=1", "", "Did you mean 'weather'?"),
    (f"{TOYLAND} --include-path nowhere", "", "No such folder: 'nowhere'"),
    ("score nowhere", "", "is not a run folder"),
    ("validate nowhere", "", "No such file or folder"),
    ("explore STORED --port 99999", "", "Port 99999 cannot be used"),
    (f"{PROPOSE} x.json", DEEP, "nested too deeply"),
    (f"{PROPOSE} x.txt", b"a\nm\x81n rides", "x.txt:2 is not UTF-8"),
    (f"{TIBET} --prompts x.txt", b"\xff\xfea", "x.txt:1 is not UTF-8"),
    (
        SHEET.replace("x.csv", "/dev/zero"),
        b"",
        "/dev/zero cannot be read: it is no ordinary file",
    ),
    (ANSWERS, HEAD + "²,x\n".encode(), "x.csv:2: a row needs"),
    (f"{WEAT}x.gz", ZIPPED[:12] + b"\xff" * 30, "x.gz cannot"),
    (f"{WEAT}x.txt", b"rose 1 0 0\ntulip\t0\t1\t0\n", "x.txt:2: expected"),
    (
        f"{WEAT}x.txt",
        b"flower 1 0 0\nrose 1 x 0\n",
        "x.txt:2: expected a word and 3 numbers",
    ),
    (f"{WEAT}x.bin", b"x", "binary format"),
    (f"{WEAT}x.txt", b"", "has no word vectors"),
    (SHEET, "id;answer\n", "holds no answer"),
]


@pytest.mark.parametrize(("words", "data", "message"), GIVEN, ids=range(len(GIVEN)))
def test_files_that_cannot_be_read_are_one_line(
    words: str, data: bytes | str, message: str, cli: Cli, here: Path, stored: Path
) -> None:
    file = re.search(r"\bx\.\w+", words)
    Path(file[0] if file else "x").write_bytes(
        data if isinstance(data, bytes) else data.encode()
    )
    before = contents(here), contents(stored)
    status, out, err = cli(*words.replace("STORED", str(stored)).split())
    assert status == 1, out + err
    assert message in one_line(err)
    after = contents(here)
    if "vectors:" in words:  # they are read when the run has begun
        after = {
            name: one
            for name, one in after.items()
            if not name.startswith("runs/texts-")
        }
    assert (after, contents(stored)) == before


def test_words_with_spaces_are_words(tmp_path: Path) -> None:
    from t2ibench.models.encoders import create_encoder

    path = tmp_path / "v.txt"
    path.write_text("2 3\nrose 1 0 0 \nat home 0 1 0\nat 0 0 1\n")
    rows = create_encoder(f"vectors:{path}").encode_texts(["rose", "at", "at home"])
    assert rows.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_file_without_end_is_not_read(kind: str, cli: Cli, here: Path) -> None:
    Path("mine").mkdir()
    path = Path("mine/x.yaml")
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    # A task file that cannot be read does not stop the tasks that do not need it.
    status, _, err = cli(*SMALL, "--include-path", "mine", "--dry-run")
    assert status == 0 and "mine/x.yaml: is no ordinary file" in err.splitlines()[0]


@pytest.mark.parametrize("name", ["x\x1b[2J", "a\u202eb", "a\u2028b"])
@pytest.mark.parametrize("form", ["md", "csv", "latex"])
def test_names_that_mislead_are_seen_in_tables(
    form: str, name: str, cli: Cli, stored: Path, tmp_path: Path
) -> None:
    data = json.loads((stored / "results.json").read_text())
    del data["checksum"]
    data["model"]["name"] = name
    data["tasks"][name] = data["tasks"][TASK]
    (tmp_path / "results.json").write_text(json.dumps(data))
    for words in (("report", tmp_path), ("compare", tmp_path, stored)):
        status, out, err = cli(*words, "--format", form)
        assert status == 0, err
        assert all(
            line.replace("\t", "").isprintable() for line in (out + err).split("\n")
        )


# --- tasks in another language ------------------------------------------------------------------


def test_no_run_starts_with_english_articles_in_german_prompts(
    cli: Cli, here: Path
) -> None:
    """It planned 'Ein Foto von a Pflegekraft' and drew it."""
    text = JOBS.replace("A photo of {a stimulus}", "Ein Foto von {a stimulus}")
    Path("mytasks").mkdir()
    Path("mytasks/jobs.yaml").write_text(
        text.replace("A photo of a {attribute}", "{attribute}")
    )
    status, out, _ = cli("validate", "mytasks")
    assert status == 0 and "mytasks/jobs.yaml:12: warning: this reads as German" in out
    run = ("--model", "toyland", "--include-path", "mytasks", "--tasks", "jobs")
    for more in (("--dry-run",), ("--output-dir", "runs")):
        status, _, err = cli(*run, *more)
        assert status == 1 and "mytasks/jobs.yaml:12: this reads as German" in err
        assert "write 'language: de'" in err and "Traceback" not in err
    assert not Path("runs").exists()
    status, _, err = cli("--model", "toyland", "--tasks", TASK, "--include-path", "mytasks",
                         "--limit", "1", "--dry-run")  # fmt: skip
    assert status == 0  # other tasks do not suffer for it
