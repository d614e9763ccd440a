"""Runs that speak to servers, stopped at random moments: nothing stored is asked for again."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from t2ibench.store.database import Database
from tests.chaos.tries import Tries, sizes
from tests.models.chat import json_reply, posted_text, speaking
from tests.models.comfyui_server import comfyui
from tests.models.test_comfyui import SDXL
from tests.pipeline.engines import WAIT, Runs

pytestmark = pytest.mark.nightly

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ENDS = {0, 128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGKILL}
OPTIONS = (
    *("--name", "toyland", "--encoder", "toyland", "--control-encoder", "none"),
    *("--limit", "3", "--permutations", "200", "--bootstrap", "50"),
)
DRAWN = ("--model", "toyland", "--images-per-prompt", "4")
# The command does this first of all. A signal that comes before ends the process of the test, which
# is forked and not started as the command is, in another way.
MARK = "listens"
LISTENING = f"""
    from pathlib import Path
    from t2ibench.cli import termination
    termination.listen()
    termination.listen_to_interruptions()
    Path({MARK!r}).touch()
"""


@dataclass
class Served:
    """A kind of run that speaks to a server of this machine.

    Attributes:
        flags: Its command line.
        asked: What the server was asked for so far: the key that came with it, and a text.
        stored: The statement that counts what is stored of the answers.
        forget: Makes the server one that was never asked for anything.
    """

    flags: tuple[str, ...]
    asked: Callable[[], list[tuple[str, str]]]
    stored: str
    forget: Callable[[], None]
    starts: int = 0

    @property
    def key(self) -> str:
        """The key of the process that was started last.

        Each has one of its own: the server may read what a killed process sent when the next one
        already runs.
        """
        return f"sk-{self.starts:016}"

    def asked_by_the_last(self) -> list[str]:
        return [text for key, text in self.asked() if key == self.key]

    def count(self, runs: Runs) -> int:
        if not (runs.run / "run.db").exists():
            return 0
        return int(Database(runs.run).read(self.stored)[0][0])


@contextmanager
def chat(answer: Callable[[dict[str, Any]], str], *flags: str) -> Iterator[Served]:
    """A run with a chat model, whose server has `{}` for its address in the flags."""
    heard: list[tuple[str, str]] = []
    lock = threading.Lock()

    def speak(body: dict[str, Any], headers: dict[str, str]) -> Any:
        if "messages" not in body:  # a run was killed while it sent this
            return json_reply({}, 400)
        with lock:
            key = headers["authorization"].removeprefix("Bearer ")
            heard.append((key, json.dumps(body, sort_keys=True)))
        time.sleep(0.01)  # so that some requests are under way at any moment
        message = {"role": "assistant", "content": answer(body)}
        return json_reply({"choices": [{"message": message}]})

    with speaking(speak) as (url, _):
        words = tuple(flag.replace("{}", url) for flag in flags)
        stored = "answers" if "--judge" in flags else "rewrites"
        statement = f"SELECT count(*) FROM {stored}"
        yield Served(words, lambda: list(heard), statement, heard.clear)


def judged() -> Any:
    return chat(
        lambda body: "male" if len(posted_text(body)) % 2 else "female",
        *(*DRAWN, *OPTIONS, "--tasks", "openbias_examples"),
        *("--judge", "openai:eye", "--judge-args", "base_url={},workers=4"),
    )


def rewritten() -> Any:
    return chat(
        lambda body: posted_text(body).rpartition("Prompt: ")[2] + ", joy",
        *(*DRAWN, *OPTIONS, "--tasks", "t2iat_flowers_insects"),
        *("--rewriter", "openai:pen", "--rewriter-args", "base_url={},workers=4"),
    )


@contextmanager
def drawn() -> Iterator[Served]:
    """A run whose images are made by a workflow of ComfyUI."""
    with comfyui(seconds=0.02) as (url, state):
        flags = (
            *("--model", f"comfyui:{SDXL}", "--images-per-prompt", "2"),
            *("--model-args", f"base_url={url}", *OPTIONS),
            *("--tasks", "t2iat_flowers_insects"),
        )

        def asked() -> list[tuple[str, str]]:
            bodies = zip(state.keys, state.posted, strict=False)
            return [(key, body["prompt_id"]) for key, body in bodies]

        def forget() -> None:
            state.clear()
            state.faults.seconds = 0.02

        yield Served(flags, asked, "SELECT count(*) FROM attempts", forget)


def ended(runs: Runs, served: Served, stop: Callable[[Any], None]) -> int:
    """Start a run, stop it, and return its status; no error of Python is shown."""
    served.starts += 1
    keys = dict.fromkeys(("OPENAI_API_KEY", "COMFYUI_API_KEY"), served.key)
    process = runs.start(flags=served.flags, before=LISTENING, **keys)
    runs.until(lambda: process.poll() is not None or mark(runs).exists())
    mark(runs).unlink(missing_ok=True)
    stop(process)
    status = process.wait(WAIT)
    errors = process.communicate()[1]
    assert "Traceback" not in errors and status in ENDS, (status, errors)
    return status


def mark(runs: Runs) -> Path:
    """What says that a process has heard of signals."""
    return runs.folder / MARK


def leave(_: object) -> None:
    """Do not stop a run."""


@sizes(4, 40)
@pytest.mark.parametrize("kind", [judged, rewritten, drawn])
def test_what_is_stored_is_not_asked_for_again(
    kind: Callable[[], Any], tries: Tries, tmp_path: Path
) -> None:
    rng = random.Random(tries.number)
    with kind() as served:
        whole = Runs(tmp_path / "whole")
        assert ended(whole, served, leave) == 0
        needed = set(served.asked_by_the_last())
        assert len(needed) == served.count(whole) == len(served.asked())
        for number in range(tries.count):
            runs = Runs(tmp_path / str(number))
            served.forget()
            for _ in range(rng.choice([1, 1, 2])):
                stopped(runs, served, needed, rng)
            resumed(runs, served, needed)
            assert runs.outputs() == whole.outputs()


def stopped(runs: Runs, served: Served, needed: set[str], rng: random.Random) -> None:
    """A run that gets a signal after so many requests of its own, and a moment."""
    number, moment = rng.choice(SIGNALS), rng.uniform(0, 0.05)
    before = len(served.asked())
    after = before + rng.randint(0, len(needed))

    def stop(process: Any) -> None:
        while process.poll() is None and len(served.asked()) < after:
            time.sleep(0.001)
        time.sleep(moment)
        process.send_signal(number)

    status = ended(runs, served, stop)
    print(number.name, status, served.count(runs))


def resumed(runs: Runs, served: Served, needed: set[str]) -> None:
    """The same command asks for the rest alone, and for nothing twice."""
    stored = served.count(runs)
    assert ended(runs, served, leave) == 0
    asked = served.asked_by_the_last()
    assert len(asked) == len(set(asked)) <= len(needed) - stored
    # A job that the stopped run interrupted in ComfyUI is posted again under another id.
    assert {text for _, text in served.asked()} >= needed
    assert served.count(runs) == len(needed)
