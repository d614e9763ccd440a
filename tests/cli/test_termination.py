"""SIGTERM ends every command with one line and exit status 143, in its first second, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LINE = "t2ibench: ended by SIGTERM. Everything done so far is kept.\n"
# What prints a mark, and waits, when it is imported: a slow library.
SLOW = "import time, sys\nprint('importing', flush=True)\ntime.sleep(30)\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM")


def ended(words: list[str], folder: Path) -> tuple[int, str]:
    """The status and standard error of a process that is sent SIGTERM when it prints a line."""
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
        process.send_signal(signal.SIGTERM)
        errors = process.stderr.read()
        return process.wait(30), errors


@pytest.mark.parametrize("module", ["pydantic", "html.entities"])
def test_while_libraries_are_imported(module: str, tmp_path: Path) -> None:
    """The modules are imported while a command works, and before any error is handled."""
    path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(SLOW)
    if "." in module:
        (path.parent / "__init__.py").write_text("")
    words = ["-m", "t2ibench", "ls", "--include-path", str(tmp_path)]
    status, errors = ended(words, tmp_path)
    assert status == 143
    assert errors == LINE


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
