"""Attacks on the command line: one line, the right exit status, nothing stored lost."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.cli import VERBS
from t2ibench.results.run import open_run

Cli = Callable[..., tuple[int, str, str]]
TASK = "t2iat_flowers_insects"
SMALL = (
    *("--model", "toyland", "--tasks", TASK, "--limit", "1", "--images-per-prompt", "1"),
    *("--permutations", "99", "--bootstrap", "50", "--control-encoder", "none"),
)
DEEP = "[" * 100_000 + "]" * 100_000


def contents(root: Path) -> dict[str, str]:
    """Every file below a folder, by the hash of what is in it."""
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
def run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run in a folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    status, _, err = cli(*SMALL)
    assert status == 0, err
    return tmp_path / "runs" / "toyland"


def subprocess_of(
    *argv: str | bytes, cwd: Path, code: str | None = None, **options: object
) -> subprocess.CompletedProcess[bytes]:
    start = ["-c", code] if code else ["-m", "t2ibench"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        **options.pop("env", {}),  # type: ignore[dict-item]
    }
    return subprocess.run(
        [sys.executable, *start, *argv],
        cwd=cwd,
        env=environment,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},  # type: ignore[call-overload]
    )


# --- where results go ---------------------------------------------------------------------------

PLACES = {
    "nothing can be made there": ("/proc/nothere", "does not exist, and cannot be made there"),
    "a name of 300 characters": ("n" * 300, "too long"),
    "a broken link": ("broken", "'broken' is a link to 'gone', which does not exist"),
    "a link to itself": ("loop", "'loop' is a link that leads to itself"),
    "a file": ("file", "'file' is a file, not a folder"),
    "below a file": ("file/runs", "'file' is a file, not a folder"),
    "a device": ("/dev/null", "'/dev/null' is a file, not a folder"),
    "results.json is a folder": ("taken", "results.json is a folder"),
    "run.db is a folder": ("recorded", "run.db cannot be written: it is a folder"),
    "images is a file": ("pictures", "images' is a file, not a folder"),
}


@pytest.mark.parametrize(("place", "message"), PLACES.values(), ids=list(PLACES))
def test_an_output_folder_that_cannot_be(
    place: str, message: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken").symlink_to("gone")
    Path("loop").symlink_to("loop")
    Path("file").write_text("mine")
    Path("taken/toyland/results.json/inner").mkdir(parents=True)
    Path("recorded/toyland/run.db/inner").mkdir(parents=True)
    Path("pictures/toyland").mkdir(parents=True)
    Path("pictures/toyland/images").write_text("mine")
    status, _, err = cli(*SMALL, "--output-dir", place)
    assert status == 1
    assert message in one_line(err)
    assert Path("file").read_text() == Path("pictures/toyland/images").read_text() == "mine"


@pytest.mark.slow  # starts processes
def test_a_name_that_is_not_utf8_loses_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = os.fsdecode(b"n\xff")
    argv = [*SMALL, "--output-dir", folder]
    assert cli(*argv)[0] == 0
    assert cli("score", f"{folder}/toyland")[0] == 0
    for words in (argv, ["report", f"{folder}/toyland"]):  # as a shell gives the name, and shows it
        done = subprocess_of(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    assert b"\\udcff" in done.stdout
    record = open_run(tmp_path / folder / "toyland").record
    assert record.status == "complete" and len(record.history) == 2
    assert "\\udcff" in record.history[0].command


@pytest.mark.slow  # starts processes
def test_a_current_folder_that_was_deleted(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = (
        f"import os, sys\nos.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
        "\nfrom t2ibench.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    done = subprocess_of(*SMALL, cwd=tmp_path, code=code)
    assert done.returncode == 1
    assert "the current folder has been deleted" in one_line(done.stderr.decode())
    done = subprocess_of(*SMALL, "--output-dir", str(tmp_path / "runs"), cwd=tmp_path, code=code)
    assert done.returncode == 0, done.stderr.decode()


def test_other_places_that_cannot_be_written(
    cli: Cli, stored: Path, stored_answers: Path, tmp_path: Path
) -> None:
    submissions = Path(__file__).resolve().parents[2] / "leaderboard" / "submissions"
    before = contents(stored), contents(stored_answers)
    attacks = [
        ("report", stored, "--output", "/proc/x/y.md"),
        ("report", stored, "--output", stored),
        ("report", stored, "--output", stored / "results.json" / "x.md"),
        ("leaderboard", "build", "--submissions", submissions, "--output", "/proc/x"),
        ("label", "export", stored_answers, "--output", "/proc/x"),
    ]
    for argv in attacks:
        status, _, err = cli(*argv)
        assert status == 1, argv
        line = one_line(err.strip().splitlines()[-1])
        assert "/proc/x" in line or str(stored) in line
    assert (contents(stored), contents(stored_answers)) == before


# --- standard output and error ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv", [("ls",), ("ls", "--json"), ("--help",), ("--version",), ("validate",)]
)
def test_a_full_standard_output(argv: tuple[str, ...], tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess_of(*argv, cwd=tmp_path, stdout=full)
    assert done.returncode == 1
    line = one_line(done.stderr.decode())
    assert "standard output cannot be written: the disk is full" in line


@pytest.mark.slow  # starts processes
def test_a_full_standard_output_loses_no_results(run: Path, tmp_path: Path) -> None:
    before = contents(run)
    for dated in ("run.db", "report.html"):
        before.pop(dated)
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess_of(*SMALL, cwd=tmp_path, stdout=full)
    assert done.returncode == 1
    err = done.stderr.decode()
    assert "Traceback" not in err and "standard output cannot be written" in err.splitlines()[-1]
    assert before.items() <= contents(run).items()


@pytest.mark.nightly
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_streams_that_are_closed(closed: str, tmp_path: Path) -> None:
    for argv in ("ls", "ls --json", " ".join(SMALL)):
        done = subprocess.run(
            ["sh", "-c", f"{sys.executable} -m t2ibench {argv} {closed}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert b"Traceback" not in done.stderr
    assert (tmp_path / "runs" / "toyland" / "results.json").is_file()
    pictures = list((tmp_path / "runs").rglob("*.png"))
    assert pictures and all(p.read_bytes()[:4] == b"\x89PNG" for p in pictures)


@pytest.mark.slow  # starts processes
def test_a_reader_that_has_enough(tmp_path: Path) -> None:
    for argv in ("ls --json", " ".join(SMALL)):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m t2ibench {argv} | head -c 10"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert b"Error" not in done.stderr


@pytest.mark.slow
def test_an_ascii_terminal_gets_escapes(tmp_path: Path) -> None:
    environment = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    done = subprocess_of("--model", "né日", "--tasks", "all", cwd=tmp_path, env=environment)
    assert done.returncode == 1 and b"Unknown model" in done.stderr
    done = subprocess_of("ls", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr


# --- what is typed ------------------------------------------------------------------------------

TYPED: dict[str, tuple[tuple[str, ...], str]] = {
    "a model of 5000 characters": (("--model", "m" * 5000), "Unknown model 'mmm"),
    "a hub id of 5000 characters": (("--model", "a/" + "m" * 5000), "No such folder"),
    "a path of 5000 characters": (("--model", "/" + "m" * 5000), "No such folder"),
    "a Windows path": (("--model", "C:\\models\\sd"), "written with '/'"),
    "a Windows path with slashes": (("--model", "C:/models/sd"), "written with '/'"),
    "a backslash": (("--model", "models\\sd"), "written with '/'"),
    "a line break": (("--model", "a\nb"), "Unknown model 'a\\nb'"),
    "an escape": (("--model", "\x1b[2Jx"), "Unknown model '\\x1b[2Jx'"),
    "right to left": (("--model", "x\u202ey"), "Unknown model 'x\\u202ey'"),
    "another user's home": (("--model", "~nobodyhere/x"), "No such folder"),
    "a task of 1 MB": (("--tasks", "t" * 100_000), "Unknown task, group or tag 'ttt"),
    "an encoder of 5000": (("--encoder", "e" * 5000), "Unknown encoder"),
    "a judge of 5000": (("--tasks", "openbias", "--judge", "j" * 5000), "Unknown judge"),
    "arguments of 5000": (("--model-args", "k" * 5000), "not of the form"),
    "a device that is none": (("--device", "cdua"), "Did you mean 'cuda'?"),
    "a device's odd number": (("--device", "cuda:²"), "--device cuda:²: expected"),
    "a device's empty number": (("--device", "cuda:"), "expected cpu, cuda"),
    "a dtype that is none": (("--dtype", "flot16"), "Did you mean 'float16'?"),
    "an include path of 5000": (("--include-path", "i" * 5000), "too long"),
    "a config of 5000": (("--config", "c" * 5000), "too long"),
    "a config that is a folder": (("--config", "."), "is a folder"),
    "an engine of 5000": (("--engine", "e" * 5000), "Unknown engine"),
    "a gate of 5000": (("--fail-on", "g" * 5000), "--fail-on"),
    "vectors of 5000": (("--encoder", "vectors:" + "v" * 5000), "No such file"),
    "answers of 5000": (("--tasks", "openbias", "--judge", "answers:" + "v" * 5000), "No such"),
    "a folder of 5000": (("--model", "folder:" + "v" * 5000), "too long"),
    "weights of 5000": (("--encoder", "clip:/" + "v" * 5000), "No such folder"),
}


@pytest.mark.parametrize(("flags", "message"), TYPED.values(), ids=list(TYPED))
def test_what_is_typed_wrong_is_one_line(
    flags: tuple[str, ...],
    message: str,
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = dict(zip(SMALL[::2], SMALL[1::2], strict=True))
    words |= dict(zip(flags[::2], flags[1::2], strict=True))
    status, out, err = cli(*(word for pair in words.items() for word in pair))
    assert status == 1, out + err
    assert message in one_line(err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flag", "number", "message"),
    [
        ("--images-per-prompt", "1000000000", "images_per_prompt: expected a number of 1000000 or"),
        ("--guided-images-per-prompt", "1000001", "expected a number of 1000000 or less"),
        ("--bootstrap", "1000000000000", "n_bootstrap: expected a number of 10000000 or less"),
        ("--permutations", "9" * 400, "n_permutations: expected a number of 10000000 or less"),
        ("--times", "1e9", "times"),
        ("--level", "nan", "level"),
    ],
)
def test_numbers_that_no_machine_can_do(flag: str, number: str, message: str, cli: Cli) -> None:
    words = [*SMALL, flag, number]
    status, _, err = cli(*words)
    assert status == 1 and message in one_line(err)


def test_a_port_that_cannot_be(cli: Cli, stored: Path) -> None:
    status, _, err = cli("explore", stored, "--port", "99999")
    assert status == 1 and "Port 99999 cannot be used" in err.splitlines()[-1]


def test_a_device_is_no_table(cli: Cli) -> None:
    status, _, err = cli("label", "correlate", "/dev/zero", "--score", "a", "--rating", "b")
    assert status == 1 and "/dev/zero cannot be read: it is no ordinary file" in one_line(err)


@pytest.mark.parametrize(
    "argv",
    [
        ("x" * 5000,),
        ("--images-per-prompt", "9" * 5000, "--model", "toyland", "--tasks", "all"),
        ("--seed", "²", "--model", "toyland", "--tasks", "all"),
        ("--level", "9" * 5000, "--model", "toyland", "--tasks", "all"),
        ("--budget", "9" * 5000, "--model", "toyland", "--tasks", "all"),
        ("explore", "--port", "9" * 5000),
    ],
)
def test_wrong_usage_is_short_too(argv: tuple[str, ...], cli: Cli) -> None:
    status, out, err = cli(*argv)
    assert status in {1, 2} and not out
    one_line(err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--modle toy", "unknown flag '--modle'. Did you mean '--model'? `t2ibench run --help`"),
        ("--model toy --task all", "unknown flag '--task'. Did you mean '--tasks'?"),
        ("score runs/toy --fromat csv", "unknown flag '--fromat'. `t2ibench score --help`"),
        ("run toy", "unexpected 'toy'"),
        ("rnu", "unknown command 'rnu'. Did you mean 'run'? `t2ibench --help`"),
        ("ls modles", "'modles' is not one of tasks, groups"),
        ("ls modles", "Did you mean 'models'?"),
        ("leaderboard ad x", "Did you mean 'add'? `t2ibench leaderboard --help`"),
        ("--limit 0", "--limit: '0' is not a whole number of 1 or more."),
        ("--budget 2hours", "--budget: '2hours' is neither a number of images (4000) nor a time"),
        ("--seed abc", "--seed: 'abc' is not a whole number of 0 or more."),
        ("score", "the following arguments are required: RUN."),
    ],
)
def test_wrong_usage_is_one_line(words: str, said: str, cli: Cli) -> None:
    status, out, err = cli(*words.split())
    assert status == 2 and not out
    assert said in one_line(err)


def test_help_lists_every_command_once(cli: Cli) -> None:
    status, out, _ = cli("--help")
    listed = re.findall(r"^  ([a-z][a-z-]*)  +[a-z]", out, re.MULTILINE)
    assert status == 0 and sorted(listed) == sorted(VERBS)


# --- what is in the files that are given --------------------------------------------------------

RUNS = {
    "nested": DEEP,
    "long number": '{"schema": ' + "9" * 5000 + "}",
    "another version's setting": None,
    "another schema": '{"schema": 99}',
    "a schema that is text": '{"schema": "2"}',
    "infinite": '{"schema": 1e999}',
    "a list": "[]",
    "nothing": "",
    "half": '{"schema": 2, "set',
    "half a pair": '{"schema": 2, "t2ibench": "\\ud800", "x": {}}',
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("file", ["run.db", "results.json"])
@pytest.mark.parametrize("verb", ["score", "report", "compare"])
def test_records_of_other_versions_and_of_no_version(
    verb: str, file: str, name: str, cli: Cli, stored: Path, tmp_path: Path
) -> None:
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(stored, folder)
    text = RUNS[name]
    if text is None:
        data = json.loads((folder / "results.json").read_text())
        data["of_tomorrow"] = 1
        text = json.dumps(data)
    (folder / file).write_text(text)
    before = contents(folder)
    status, out, err = cli(verb, folder, *([stored] if verb == "compare" else []))
    assert "Traceback" not in out + err
    after = contents(folder)
    evidence = {name: digest for name, digest in before.items() if "/" in name}
    assert evidence.items() <= after.items()
    broken = f"{file}.broken"
    if verb == "score" and file == "results.json" and name != "another schema":
        # It is written anew from the evidence; what was there is kept beside it.
        assert status == 0 and after[broken] == before[file]
        assert "is kept as results.json.broken" in err
        return
    assert after == before
    assert status == 1
    one_line(err)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that no test changes."""
    from t2ibench.cli import main

    root = tmp_path_factory.mktemp("stored")
    assert main([*SMALL, "--output-dir", str(root)]) == 0
    return root / "toyland"


GIVEN: dict[str, tuple[tuple[str, ...], str, bytes, str]] = {
    "nested captions": (
        ("propose", "openbias", "--proposer", "replay:r.jsonl", "--output", "o.yaml",
         "--captions", "c.json"),
        "c.json", DEEP.encode(), "nested too deeply"),
    "captions of another encoding": (
        ("propose", "openbias", "--proposer", "replay:r.jsonl", "--output", "o.yaml",
         "--captions", "c.txt"),
        "c.txt", "a\nmän rides".encode("latin-1"), "c.txt:2 is not UTF-8"),
    "captions with a huge cell": (
        ("propose", "openbias", "--proposer", "replay:r.jsonl", "--output", "o.yaml",
         "--captions", "c.csv"),
        "c.csv", b"caption\n" + b"x" * 200_000, "field larger"),
    "prompts of another encoding": (
        ("propose", "tibet", "--proposer", "replay:r.jsonl", "--output", "o.yaml",
         "--prompts", "p.txt"),
        "p.txt", b"\xff\xfea", "p.txt:1 is not UTF-8"),
    "ratings of another encoding": (
        ("label", "correlate", "r.csv", "--score", "a", "--rating", "b"), "r.csv", b"a,b\n\xff,1\n",
        "r.csv:2 is not UTF-8"),
    "ratings with an endless cell": (
        ("label", "correlate", "r.csv", "--score", "a", "--rating", "b"), "r.csv",
        b'a,b\n"' + b"9" * 200_000, "field larger"),
    "ratings that are no numbers": (
        ("label", "correlate", "r.csv", "--score", "a", "--rating", "b"), "r.csv",
        b"a,b\n1,2\n" + b"9" * 5000 + b"x,1\n", "r.csv:3: '999"),
    "config nested": (
        (*SMALL, "--config", "c.yaml"), "c.yaml", DEEP.encode(), "c.yaml:1: is nested"),
    "config of another encoding": (
        (*SMALL, "--config", "c.yaml"), "c.yaml", b"model: \xff", "is not UTF-8"),
    "config with a long number": (
        (*SMALL, "--config", "c.yaml"), "c.yaml", b"seed: " + b"9" * 5000, "c.yaml:1: "),
    "config with a NUL in a path": (
        (*SMALL, "--config", "c.yaml"), "c.yaml", b'output_dir: "a\\0b"', "such a name"),
    "config with a NUL in a model": (
        (*SMALL[2:], "--config", "c.yaml"), "c.yaml", b'model: "./a\\0b"', "No such folder"),
    "config with half a pair": (
        (*SMALL, "--config", "c.yaml"), "c.yaml", b'output_dir: "a\\ud800"', "c.yaml:1: "),
    "config with a key of 1 MB": (
        (*SMALL, "--config", "c.yaml"), "c.yaml", b'"' + b"k" * 1000 + b'": 1', "unknown key 'kkk"),
    "replies nested": (
        ("propose", "tibet", "--prompt", "a chef", "--output", "o.yaml", "--proposer",
         "replay:r.jsonl"),
        "r.jsonl", DEEP.encode(), "r.jsonl:1: not a JSON object"),
    "replies with other messages": (
        ("propose", "tibet", "--prompt", "a chef", "--output", "o.yaml", "--proposer",
         "replay:r.jsonl"),
        "r.jsonl", b'{"messages": [1], "reply": 2}', "r.jsonl:1: expected an object"),
    "prompts file that is a folder": (
        ("propose", "tibet", "--proposer", "replay:r.jsonl", "--output", "o.yaml", "--prompts",
         "."),
        "x", b"", "is a folder"),
}  # fmt: skip


@pytest.mark.parametrize(("argv", "name", "data", "message"), GIVEN.values(), ids=list(GIVEN))
def test_files_that_cannot_be_read_are_one_line(
    argv: tuple[str, ...],
    name: str,
    data: bytes,
    message: str,
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text('{"messages": [], "reply": ""}\n')
    Path(name).write_bytes(data)
    before = contents(tmp_path)
    status, out, err = cli(*argv)
    assert status == 1, out + err
    assert message in one_line(err)
    assert contents(tmp_path) == before


ANSWERS = {
    "an index that is a power": ("prompt,index,answer\na,²,x\n", "a.csv:2: a row needs"),
    "an index of 5000 digits": (f"prompt,index,answer\na,{'9' * 5000},x\n", "a.csv:2: a row needs"),
    "an Arabic index": ("prompt,index,answer\na,٣,x\n", "a.csv:2: a row needs"),
    "a long column": (f"answer,{'c' * 5000}\nx,1\n", "a.csv:2: a row needs"),
    "a huge cell": (f"prompt,answer\na,{'x' * 200_000}\n", "field larger"),
    "NUL": ("prompt,answer\na\0b,x\n,y\n", "a.csv"),
}


@pytest.mark.parametrize(("text", "message"), ANSWERS.values(), ids=list(ANSWERS))
def test_answers_that_are_none(
    text: str, message: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(text)
    status, _, err = cli("--model", "toyland", "--tasks", "openbias", "--judge", "answers:a.csv")
    assert status == 1 and message in one_line(err)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


WORDS = "rose 1 0 0\ntulip 0 1 0\n"
VECTORS = {
    "no gzip": ("v.gz", WORDS.encode(), "Not a gzipped file"),
    "half a gzip": ("v.gz", gzip.compress(WORDS.encode())[:-12], "v.gz cannot"),
    "a broken gzip": ("v.gz", gzip.compress(WORDS.encode())[:12] + b"\xff" * 30, "v.gz cannot"),
    "tabs": ("v.txt", b"rose\t1\t0\t0\ntulip\t0\t1\t0\n", "v.txt:1: expected a word"),
    "tabs after the first line": ("v.txt", b"rose 1 0 0\ntulip\t0\t1\t0\n", "v.txt:2: expected"),
    "a line that was cut": ("v.txt", WORDS.encode() + b"moth 1", "v.txt:3: expected a word and 3"),
    "a line without numbers": ("v.txt", b"rose 1 0 0\nmoth\n", "v.txt:2: expected a word and 3"),
    "commas": ("v.txt", b"rose,1,0,0\n", "v.txt:1: expected a word and its numbers"),
    "another width than promised": ("v.txt", b"2 300\n" + WORDS.encode(), "v.txt:2: expected"),
    "words for numbers": ("v.txt", b"flower 1 0 0\nrose 1 x 0\n", "v.txt:2: 'x' is not a number"),
    "not a number": ("v.txt", b"flower 1 0 0\nrose nan 0 0\n", "v.txt:2: 'nan' is not a number"),
    "infinite": ("v.txt", b"flower 1 0 0\nrose 1e999 0 0\n", "v.txt:2: '1e999'"),
    "a header alone": ("v.txt", b"400000 50\n", "has no word vectors"),
    "nothing": ("v.txt", b"", "has no word vectors"),
    "a long header": ("v.txt", b"9" * 5000 + b" 3\n", "v.txt:1: expected"),
    "binary": ("v.txt", bytes(range(256)) * 40, "v.txt:"),
}


@pytest.mark.parametrize(("name", "data", "message"), VECTORS.values(), ids=list(VECTORS))
def test_word_vectors_that_are_none(
    name: str,
    data: bytes,
    message: str,
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    status, _, err = cli("--encoder", f"vectors:{name}", "--tasks", "weat_1_flowers_insects")
    assert status == 1 and message in one_line(err)


def test_words_with_spaces_are_words(cli: Cli, tmp_path: Path) -> None:
    from t2ibench.models.encoders import create_encoder

    path = tmp_path / "v.txt"
    path.write_text("2 3\nrose 1 0 0 \nat home 0 1 0\nat 0 0 1\n")
    rows = create_encoder(f"vectors:{path}").encode_texts(["rose", "at", "at home"])
    assert rows.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,answer\nx," + "9" * 5000 + "\n", "sheet.csv:2: no image of this run"),
        ('id,answer\n"' + "9" * 200_000, "field larger"),
        ("id;answer\n", "holds no answer"),
        ("id,answer\n" + "i" * 5000 + ",x\n", "has the id 'iii"),
    ],
)
def test_sheets_that_are_none(
    text: str, message: str, cli: Cli, tmp_path: Path, stored_answers: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(text)
    before = contents(stored_answers)
    status, _, err = cli("label", "import", stored_answers, sheet, "--labeller", "me")
    assert status == 1 and message in one_line(err)
    assert contents(stored_answers) == before


@pytest.fixture(scope="module")
def stored_answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a judge's answers."""
    from t2ibench.cli import main

    root = tmp_path_factory.mktemp("answers")
    argv = ["openbias_examples" if word == TASK else word for word in SMALL]
    assert main([*argv, "--output-dir", str(root)]) == 0
    return root / "toyland"


@pytest.mark.parametrize("where", ["tasks", "config"])
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_file_without_end_is_not_read(
    where: str, kind: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    path = Path("mine/x.yaml")
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    flags = ("--include-path", "mine") if where == "tasks" else ("--config", path)
    status, _, err = cli(*SMALL, *flags, "--dry-run")
    # A task file that cannot be read does not stop the tasks that do not need it.
    assert status == (0 if where == "tasks" else 1)
    assert "mine/x.yaml: is no ordinary file" in err.splitlines()[0]


@pytest.mark.slow  # starts processes
def test_a_config_from_a_shell(tmp_path: Path) -> None:
    command = f"{sys.executable} -m t2ibench {' '.join(SMALL)} --config <(echo 'seed: 3')"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    (record,) = (tmp_path / "runs").glob("*/run.db")
    assert open_run(record).record.settings.seed == 3


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
    attacks = [("report", tmp_path, "--format", form)]
    attacks += [("compare", tmp_path, stored, "--format", form)]
    for argv in attacks:
        status, out, err = cli(*argv)
        assert status == 0, err
        assert all(line.replace("\t", "").isprintable() for line in (out + err).split("\n"))
