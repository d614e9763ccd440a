"""Pictures that exist already, in three layouts, and every way they can be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import Generator, ImageRequest
from tests.models.tiny import images


def fill(folder: Path, names: list[str]) -> list[Path]:
    paths = []
    for name, picture in zip(names, images(len(names), 8), strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        picture.save(folder / name)
        paths.append(folder / name)
    return paths


def made(folder: Path, **args: str) -> Generator:
    return create_generator(f"folder:{folder}", args)


def names_of(generator: Generator, prompt: str) -> list[str]:
    count = generator.available(prompt) or 0
    drawn = generator.generate([ImageRequest(prompt, index, 0) for index in range(count)])
    return [one.path.name for one in drawn if one.path]


def manifest(folder: Path, rows: list[dict[str, str]], name: str = "prompts.jsonl") -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("name", ["prompts.jsonl", "metadata.jsonl"])
@pytest.mark.parametrize("keys", [("file", "prompt"), ("file_name", "text"), ("image", "caption")])
def test_jsonl_manifest(tmp_path: Path, name: str, keys: tuple[str, str]) -> None:
    fill(tmp_path, ["b.png", "a.png", "sub/c.png"])
    rows = [("b.png", "A nurse"), ("a.png", "a nurse"), ("sub/c.png", "a clerk")]
    manifest(tmp_path, [dict(zip(keys, row, strict=True)) for row in rows], name)
    generator = made(tmp_path)
    assert names_of(generator, "a  nurse") == ["b.png", "a.png"]  # the manifest's order
    assert names_of(generator, "a clerk") == ["c.png"]
    assert generator.available("a cook") == 0


@pytest.mark.parametrize(
    "rows",
    ['file,prompt\na.png,"a tulip, joy"', "file;prompt\na.png;a tulip, joy"],
)
def test_csv_manifest_with_commas_or_as_a_spreadsheet_has_it(rows: str, tmp_path: Path) -> None:
    fill(tmp_path, ["a.png"])
    (tmp_path / "prompts.csv").write_text(f"{rows}\n")
    assert names_of(made(tmp_path), "a tulip, joy") == ["a.png"]


def test_one_sub_folder_a_prompt_in_natural_order(tmp_path: Path) -> None:
    fill(tmp_path, ["a_photo_of_a_nurse/10.png", "a_photo_of_a_nurse/9.png", "a clerk/x.jpg"])
    generator = made(tmp_path)
    assert names_of(generator, "A photo of a nurse") == ["9.png", "10.png"]
    assert names_of(generator, "a clerk") == ["x.jpg"]


def test_a_changed_picture_changes_the_fingerprint(tmp_path: Path) -> None:
    fill(tmp_path, ["nurse/1.png", "nurse/2.png"])
    before = made(tmp_path).fingerprint
    assert made(tmp_path).fingerprint == before
    (tmp_path / "nurse/1.png").write_bytes((tmp_path / "nurse/2.png").read_bytes())
    assert made(tmp_path).fingerprint != before


def error_of(folder: Path, **args: str) -> str:
    with pytest.raises(T2IBenchError) as caught:
        made(folder, **args)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_errors(tmp_path: Path) -> None:
    assert "No such folder" in error_of(tmp_path / "nowhere")
    assert "holds no images" in error_of(tmp_path)
    fill(tmp_path, ["a.png"])
    assert "holds no images with prompts" in error_of(tmp_path)  # pictures, but no prompts
    assert "no argument 'steps'" in error_of(tmp_path, steps="3")
    manifest(tmp_path, [{"file": f"{i}.png", "prompt": "x"} for i in range(8)])
    message = error_of(tmp_path)
    assert "lists images of which none exists: 0.png, " in message and "and 3 more" in message
    manifest(tmp_path, [{"file": "a.png"}])
    assert "prompts.jsonl:1: no column 'prompt'. Its columns are 'file'." in error_of(tmp_path)
    (tmp_path / "prompts.jsonl").write_text('{"file": "a.png", "prompt": "x"}\nnot json\n')
    assert "prompts.jsonl:2: not a JSON object" in error_of(tmp_path)
    (tmp_path / "prompts.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in error_of(tmp_path)


@pytest.mark.parametrize("name", ["../outside.png", "/etc/hostname"])
def test_pictures_outside_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    fill(tmp_path, ["outside.png"])
    manifest(folder, [{"file": name, "prompt": "x"}])
    assert "is outside" in error_of(folder)


def test_links_to_the_outside_are_refused(tmp_path: Path) -> None:
    fill(tmp_path, ["outside.png"])
    (tmp_path / "inside" / "nurse").mkdir(parents=True)
    (tmp_path / "inside" / "nurse" / "1.png").symlink_to(tmp_path / "outside.png")
    assert "is outside" in error_of(tmp_path / "inside")


@pytest.mark.parametrize("layout", ["manifest", "folders"])
@pytest.mark.parametrize("target", ["itself.png", "nothing.png", "loop/x.png"])
def test_a_link_that_leads_nowhere_is_the_failure_of_one_image(
    layout: str, target: str, tmp_path: Path
) -> None:
    nurse = tmp_path / "a nurse"
    fill(tmp_path, ["a nurse/1.png"])
    (nurse / "loop").symlink_to("loop")
    (nurse / "itself.png").symlink_to(target)
    if layout == "manifest":
        files = ("a nurse/1.png", "a nurse/itself.png")
        manifest(tmp_path, [{"file": file, "prompt": "a nurse"} for file in files])
    generator = made(tmp_path)
    one, other = generator.generate([ImageRequest("a nurse", index, 0) for index in range(2)])
    assert one.file == "a nurse/1.png"  # what messages call it
    assert (other.status, other.reason) == ("failed", "a nurse/itself.png: there is no such file")
    (nurse / "1.png").unlink()
    assert "a nurse/" in error_of(tmp_path)  # none is left


def test_a_folder_with_the_name_of_an_image_is_no_image(tmp_path: Path) -> None:
    fill(tmp_path, ["a nurse/1.png", "a nurse/2.png/x.txt.png"])
    assert made(tmp_path).available("a nurse") == 1
