"""Each reader of what others wrote: a value or one clear line, whatever the file holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from tests.chaos.mutations import changed
from tests.chaos.readers import READERS, Reader, holds
from tests.chaos.tries import Tries, sizes

each_reader = pytest.mark.parametrize(
    "reader", READERS.values(), ids=[name.replace(" ", "-") for name in READERS]
)


@each_reader
def test_it_reads_its_files_as_they_are(reader: Reader, tmp_path: Path) -> None:
    """So what is changed begins as something that is read to its end."""
    values = [
        holds(reader, placed(tmp_path, name), content)
        for name, content in reader.files().items()
    ]
    assert values and sum(value is not None for value in values) >= len(values) / 3


def placed(folder: Path, name: str) -> Path:
    """Where a file goes, in a folder with nothing else in it."""
    root = folder / "read"
    shutil.rmtree(root, ignore_errors=True)
    file = root / name
    file.parent.mkdir(parents=True)
    return file


@each_reader
@sizes(20, 1000)
def test_whatever_it_holds(tries: Tries, reader: Reader, tmp_path: Path) -> None:
    files = reader.files()

    def check(data: DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(files)))
        content = changed(data, name, files[name], reader.sealing)
        holds(reader, placed(tmp_path, name), content)

    tries.of(check)
