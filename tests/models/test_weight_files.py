"""Files of a model that are pointers, web pages or halves are named, with the next step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from t2ibench.errors import T2IBenchError
from t2ibench.models.downloads import missing_weights
from t2ibench.models.generators.passthrough import value_of
from t2ibench.models.locations import loading
from t2ibench.models.weight_files import find_file_defect

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{7:064d}\nsize 3438167536\n"
WEIGHTS = "unet/diffusion_pytorch_model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file = tmp_path / WEIGHTS
    file.parent.mkdir()
    save_file({"a": np.zeros((4, 4), np.float32), "b": np.ones(3, np.float32)}, file)
    (tmp_path / "model_index.json").write_text("{}")
    return tmp_path


def test_whole_files_have_no_defect(folder: Path) -> None:
    assert find_file_defect(folder) is None
    assert find_file_defect(folder / WEIGHTS) is None
    assert find_file_defect(folder / "missing") is None


def test_a_pointer_names_the_file_and_git_lfs_pull(folder: Path) -> None:
    (folder / WEIGHTS).write_text(POINTER)
    defect = find_file_defect(folder)
    assert defect is not None
    assert defect.reason == f"{WEIGHTS} is a Git LFS pointer, not the file itself"
    assert "git lfs pull" in defect.hint and str(folder) in defect.hint


def test_a_tokenizer_can_be_a_pointer_too(folder: Path) -> None:
    (folder / "spiece.model").write_text(POINTER)
    defect = find_file_defect(folder)
    assert defect is not None and defect.reason.startswith(
        "spiece.model is a Git LFS pointer"
    )


def test_damaged_pickled_weights_beside_safetensors_are_ignored(folder: Path) -> None:
    (folder / "unet" / "diffusion_pytorch_model.bin").write_text(POINTER)
    assert find_file_defect(folder) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\n<!DOCTYPE html><html><body>Sign in</body></html>", "is a web page"),
        (b"<html>", "is a web page"),
        (b"some text that nobody meant", "is no safetensors file"),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00[]", "is no safetensors file"),
    ],
)
def test_invalid_weight_files_are_named_with_the_reason(
    data: bytes, reason: str, folder: Path
) -> None:
    (folder / WEIGHTS).write_bytes(data)
    defect = find_file_defect(folder)
    assert defect is not None and reason in defect.reason and WEIGHTS in defect.reason


@pytest.mark.parametrize("size", [4, 40, -1])
def test_a_file_that_was_cut_off_is_named(size: int, folder: Path) -> None:
    file = folder / WEIGHTS
    file.write_bytes(file.read_bytes()[:size])
    defect = find_file_defect(folder)
    assert defect is not None and WEIGHTS in defect.reason
    assert "cut off" in defect.reason or "no safetensors file" in defect.reason


def test_a_missing_shard_is_named(folder: Path) -> None:
    shards = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
    index = {"weight_map": {name: name for name in shards}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    save_file({"a": np.zeros(1, np.float32)}, folder / shards[0])
    defect = find_file_defect(folder)
    assert defect is not None
    assert defect.reason.startswith(f"{shards[1]} (and 1 more) is missing")


def test_the_defect_takes_the_place_of_a_librarys_words(folder: Path) -> None:
    (folder / WEIGHTS).write_text(POINTER)
    with pytest.raises(T2IBenchError) as error, loading(str(folder), "Give a folder."):
        raise ValueError("header too large")
    assert (
        "Git LFS pointer" in error.value.message and "header" not in error.value.message
    )
    assert "git lfs pull" in (error.value.hint or "")


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "index", [DEEP, "[]", '{"weight_map": []}', '{"weight_map": {"a": [1]}}']
)
def test_an_index_of_another_form_names_no_shard(index: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(index)
    defect = find_file_defect(tmp_path)
    assert defect is None or "is missing" in defect.reason
    assert missing_weights(tmp_path) == ["model.safetensors"]


@pytest.mark.parametrize(
    "header",
    [
        DEEP,
        "[]",
        '{"a": 1}',
        '{"a": {"data_offsets": [0, "x"]}}',
        '{"a": {"data_offsets": [0, 1e999]}}',
        '{"a": {"data_offsets": [0, [1]]}}',
        '{"a": {"data_offsets": [0, "5"]}}',
        '{"a": {"data_offsets": [0, true]}}',
        '{"a": {"data_offsets": [0, -1]}}',
        '{"a": {"data_offsets": [0, ' + "9" * 4000 + "]}}",
        '{"a": {"data_offsets": [0, ' + "9" * 4300 + "]}}",
    ],
)
def test_a_header_of_another_form_is_no_safetensors_file(
    header: str, tmp_path: Path
) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header.encode())
    defect = find_file_defect(file)
    assert defect is not None
    assert defect.reason == "model.safetensors is no safetensors file"


def test_an_argument_that_is_nested_too_deeply_stays_a_text() -> None:
    assert value_of(DEEP) == DEEP
    assert value_of("[1]") == [1]
