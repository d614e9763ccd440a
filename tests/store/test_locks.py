"""Locks: who holds one, who is waited for, and what happens where there are none."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from unittest.mock import Mock

import filelock
import pytest

from t2ibench.store.locks import FOLDER, locked

HOLD = (
    "import sys, time; from pathlib import Path; from t2ibench.store.locks import locked\n"
    "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
)


def test_a_wait_names_the_owner(tmp_path: Path) -> None:
    lines, command = Mock(), [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        threading.Timer(1.5, holder.kill).start()
        with locked(tmp_path / "another", lines), locked(tmp_path, lines):
            assert holder.wait(9)
    who = f"process {holder.pid} on {socket.gethostname()}"
    assert f"waiting for {who}, which has held it" in str(lines.say.call_args)
    assert lines.say.call_count == 1 and not lines.warn.called


def enter(folder: Path) -> bool:
    with locked(folder):
        return True


def test_a_thread_may_enter_a_lock_again(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as other:
        with locked(tmp_path):
            assert enter(tmp_path)
            waits = other.submit(enter, tmp_path)
            with pytest.raises(FutureTimeout):
                waits.result(0.3)
        assert waits.result(30)


def test_a_lock_is_released_by_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    shutil.rmtree(tmp_path / FOLDER)  # a deleted folder is made again
    assert enter(tmp_path) and (tmp_path / FOLDER).is_dir()


@pytest.mark.parametrize(
    "kind", [OSError(37, "No locks available"), NotImplementedError("no")]
)
def test_where_there_are_no_locks_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Exception
) -> None:
    monkeypatch.setattr(filelock.BaseFileLock, "acquire", Mock(side_effect=kind))
    lines = Mock()
    with locked(tmp_path, lines):
        assert lines.warn.call_count == 1
    assert "cannot be locked (" in str(lines.warn.call_args)
