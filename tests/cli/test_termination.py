"""SIGTERM and SIGINT end every command with one line, from its first moment to its last."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LINE = "t2ibench: ended by SIGTERM. Everything done so far is kept.\n"
INTERRUPTED = (
    "\nt2ibench: interrupted. Everything done so far is kept. Run the same command again to "
    "continue.\n"
)
ENDINGS = [(signal.SIGTERM, 143, LINE), (signal.SIGINT, 130, INTERRUPTED)]
# What prints a mark, and waits, when it is imported: a slow library.
SLOW = "import time, sys\nprint('importing', flush=True)\ntime.sleep(30)\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM")


def ended(
    words: list[str], folder: Path, number: signal.Signals = signal.SIGTERM
) -> tuple[int, str]:
    """The status and standard error of a process that is sent a signal when it prints a line."""
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{Path.cwd()}"}
    with subprocess.Popen(
        [sys.executable, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().strip() == "importing"
        time.sleep(0.05)
        process.send_signal(number)
        errors = process.stderr.read()
        return process.wait(30), errors


def slow(module: str, folder: Path) -> None:
    """Put a slow module of this name into a folder."""
    path = folder.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(SLOW)
    if "." in module:
        (path.parent / "__init__.py").write_text("")


@pytest.mark.parametrize(("number", "status", "line"), ENDINGS)
@pytest.mark.parametrize("module", ["pydantic", "argparse", "html.entities"])
def test_while_libraries_are_imported(
    module: str, number: signal.Signals, status: int, line: str, tmp_path: Path
) -> None:
    """The modules are imported while a command works, and before any error is handled."""
    slow(module, tmp_path)
    words = ["-m", "t2ibench", "ls", "--include-path", str(tmp_path)]
    assert ended(words, tmp_path, number) == (status, line)


def started_as_installed(before: str = "") -> list[str]:
    """The arguments of Python that start `t2ibench ls nothing` as its installed script does."""
    script = Path("pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^t2ibench = "([\w.]+):(\w+)"$', script, re.MULTILINE)
    assert found is not None
    module, function = found.groups()
    code = (
        f"import sys\n{before}\nfrom {module} import {function}\nsys.exit({function}())"
    )
    return ["-c", code, "ls", "nothing"]


@pytest.mark.parametrize(("number", "status", "line"), ENDINGS)
def test_the_installed_script_in_its_first_moment(
    number: signal.Signals, status: int, line: str, tmp_path: Path
) -> None:
    slow("argparse", tmp_path)
    assert ended(started_as_installed(), tmp_path, number) == (status, line)


@pytest.mark.parametrize(("number", "status", "line"), ENDINGS)
def test_after_the_command(
    number: signal.Signals, status: int, line: str, tmp_path: Path
) -> None:
    """What Python does at a process's end can take long, too."""
    slow("slow", tmp_path)
    path = str(tmp_path / "slow.py")
    words = started_as_installed(
        f"import atexit, runpy; atexit.register(runpy.run_path, {path!r})"
    )
    ended_with, errors = ended(words, tmp_path, number)
    assert ended_with == status
    assert errors.startswith("t2ibench: Nothing is called 'nothing'.")
    assert errors.endswith(line)


def test_a_program_keeps_its_own_handling_of_interruptions() -> None:
    """`main` may be called by a program that goes on after it."""
    code = (
        "import signal\n"
        "from t2ibench.cli import main\n"
        "main(['ls', 'groups'])\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_while_a_command_works(tmp_path: Path) -> None:
    """A command that is no run: what it cleans up is cleaned up, and nothing else is printed."""
    script = tmp_path / "command.py"
    script.write_text(
        "import sys, time\n"
        "from t2ibench import cli\n"
        "def wait(arguments):\n"
        "    try:\n"
        "        print('importing', flush=True)\n"
        "        time.sleep(30)\n"
        "    finally:\n"
        "        print('cleaned up', file=sys.stderr, flush=True)\n"
        "parsed = cli._parsed\n"
        "def replaced(given):\n"
        "    arguments = parsed(given)\n"
        "    arguments.handler = wait\n"
        "    return arguments\n"
        "cli._parsed = replaced\n"
        "sys.exit(cli.main(['ls']))\n"
    )
    status, errors = ended([str(script)], tmp_path)
    assert (status, errors) == (143, f"cleaned up\n{LINE}")


@pytest.mark.parametrize("error", ["None", "T2IBenchError('no')"])
def test_ctrl_c_after_a_command_says_to_run_again_what_is_not_done(error: str) -> None:
    script = f"""
import os, signal
from t2ibench.cli import failure, termination
from t2ibench.errors import T2IBenchError
signal.signal(signal.SIGINT, signal.default_int_handler)
termination.listen_to_interruptions()
with failure.explained() as outcome:
    outcome.status = 0
    error = {error}
    if error is not None:
        raise error
os.kill(os.getpid(), signal.SIGINT)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 130
    assert ("Run the same command again" in ended.stderr) == (error != "None")
    assert "interrupted" in ended.stderr
