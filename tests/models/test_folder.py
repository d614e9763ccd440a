"""Pictures that exist already, in three layouts, and every way they can be wrong."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from openpyxl import Workbook

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import Generator, HasNotes, ImageRequest
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
    drawn = generator.generate(
        [ImageRequest(prompt, index, 0) for index in range(count)]
    )
    return [one.path.name for one in drawn if one.path]


def manifest(
    folder: Path, rows: list[dict[str, str]], name: str = "prompts.jsonl"
) -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("name", ["prompts.jsonl", "metadata.jsonl"])
@pytest.mark.parametrize(
    "keys", [("file", "prompt"), ("file_name", "text"), ("image", "caption")]
)
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
def test_csv_manifests_may_be_separated_by_commas_or_semicolons(
    rows: str, tmp_path: Path
) -> None:
    fill(tmp_path, ["a.png"])
    (tmp_path / "prompts.csv").write_text(f"{rows}\n")
    assert names_of(made(tmp_path), "a tulip, joy") == ["a.png"]


def test_one_sub_folder_a_prompt_in_natural_order(tmp_path: Path) -> None:
    fill(
        tmp_path,
        ["a_photo_of_a_nurse/10.png", "a_photo_of_a_nurse/9.png", "a clerk/x.jpg"],
    )
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
    # pictures, but no prompts
    assert "holds no images with prompts" in error_of(tmp_path)
    assert "no argument 'steps'" in error_of(tmp_path, steps="3")
    manifest(tmp_path, [{"file": f"{i}.png", "prompt": "x"} for i in range(8)])
    message = error_of(tmp_path)
    assert (
        "lists images of which none exists: 0.png, " in message
        and "and 3 more" in message
    )
    manifest(tmp_path, [{"file": "a.png"}])
    assert "prompts.jsonl:1: no column 'prompt'. Its columns are 'file'." in error_of(
        tmp_path
    )
    (tmp_path / "prompts.jsonl").write_text(
        '{"file": "a.png", "prompt": "x"}\nnot json\n'
    )
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
    one, other = generator.generate(
        [ImageRequest("a nurse", index, 0) for index in range(2)]
    )
    assert one.file == "a nurse/1.png"  # what messages call it
    assert (other.status, other.reason) == (
        "failed",
        "a nurse/itself.png: there is no such file",
    )
    (nurse / "1.png").unlink()
    assert "a nurse/" in error_of(tmp_path)  # none is left


def test_a_folder_with_the_name_of_an_image_is_no_image(tmp_path: Path) -> None:
    fill(tmp_path, ["a nurse/1.png", "a nurse/2.png/x.txt.png"])
    assert made(tmp_path).available("a nurse") == 1


# What people and their systems put into folders


def notes_of(folder: Path, **args: str) -> list[str]:
    generator = made(folder, **args)
    assert isinstance(generator, HasNotes)
    return list(generator.notes)


def test_hidden_files_and_folders_count_for_nothing(tmp_path: Path) -> None:
    fill(tmp_path, ["a nurse/1.png", "a nurse/2.png"])
    hidden = [
        "a nurse/._1.png",
        "a nurse/.x.png",
        "a nurse/Thumbs.db",
        "a nurse/desktop.ini",
    ]
    hidden += [
        "__MACOSX/1.png",
        ".ipynb_checkpoints/1.png",
        "@eaDir/1.png",
        "~$prompts.xlsx",
    ]
    for name in hidden:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"\0\5\26\7Mac OS X")
    assert names_of(made(tmp_path), "a nurse") == ["1.png", "2.png"]
    assert notes_of(tmp_path) == []


def test_endings_that_are_read_and_those_that_are_named(tmp_path: Path) -> None:
    names = ["1.jfif", "2.JPE", "3.TIF", "4.webp", "5.bmp", "6.gif", "7.PNG", "8.pjpeg"]
    (tmp_path / "a nurse").mkdir()
    formats = ["JPEG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "PNG", "JPEG"]
    for name, kind, picture in zip(names, formats, images(8, 8), strict=True):
        picture.save(tmp_path / "a nurse" / name, kind)
    for name in ("a.heic", "b.HEIC", "c", "notes.txt", "people.csv"):
        (tmp_path / "a nurse" / name).write_bytes(b"x")
    assert names_of(made(tmp_path), "a nurse") == names
    (line,) = notes_of(tmp_path)
    assert (
        line
        == "2 files with the unknown ending .heic and 1 file with no ending are left out."
    )


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_count_as_the_same_however_they_are_composed(
    tmp_path: Path, form: str
) -> None:
    name = unicodedata.normalize(form, "Foto einer Ärztin")
    other = unicodedata.normalize("NFD" if form == "NFC" else "NFC", name)
    fill(tmp_path, [f"{name}/médica 1.png"])
    assert made(tmp_path).available(other) == 1
    manifest(tmp_path, [{"file": f"{other}/médica 1.png", "prompt": other}])
    assert made(tmp_path).available(name) == 1


@pytest.mark.parametrize(
    ("listed", "file"),
    [
        ("pictures\\nurse.png", "pictures/nurse.png"),
        ("pictures\\nurse.png", "pictures\\nurse.png"),  # the name has the backslash
        (".\\pictures\\NURSE.PNG", "pictures/nurse.png"),
        ("C:\\Users\\anna\\pictures\\nurse.png", "pictures/nurse.png"),
        ("/home/anna/x/pictures/nurse.png", "pictures/nurse.png"),
        ("\\\\server\\share\\nurse.png", "nurse.png"),
        ("pictures/nurse", "pictures/nurse.png"),
    ],
)
def test_paths_of_other_systems(tmp_path: Path, listed: str, file: str) -> None:
    fill(tmp_path, [file])
    manifest(tmp_path, [{"file": listed, "prompt": "a nurse"}])
    assert names_of(made(tmp_path), "a nurse") == [Path(file).name]


def test_two_paths_of_another_machine_with_one_end_are_no_image(tmp_path: Path) -> None:
    fill(tmp_path, ["1.png", "2.png"])
    rows = [
        ("C:\\a\\1.png", "a nurse"),
        ("C:\\b\\1.png", "a chef"),
        ("2.png", "a chef"),
    ]
    manifest(tmp_path, [{"file": file, "prompt": prompt} for file, prompt in rows])
    generator = made(tmp_path)
    assert names_of(generator, "a nurse") == []  # 1.png may be either
    assert names_of(generator, "a chef") == ["2.png"]


def test_a_second_table_of_prompts_is_named(tmp_path: Path) -> None:
    fill(tmp_path, ["a.png"])
    (tmp_path / "prompts.csv").write_text("file,prompt\na.png,a nurse\n")
    workbook(tmp_path / "prompts.xlsx", ["file", "prompt"], ["a.png", "a chef"])
    generator = made(tmp_path)
    assert names_of(generator, "a nurse") == ["a.png"]
    assert "from 'prompts.csv', and not from 'prompts.xlsx'" in generator.notes[0]


@pytest.mark.parametrize("name", ["prompts.csv.txt", "prompts.ods", "metadata.csv.gz"])
def test_a_table_of_another_ending_is_named(tmp_path: Path, name: str) -> None:
    fill(tmp_path, ["a.png"])
    (tmp_path / name).write_text("file,prompt\na.png,a nurse\n")
    with pytest.raises(T2IBenchError, match=f"'{name}' is not read, because of its"):
        made(tmp_path)


def test_a_missing_value_of_r_is_no_prompt(tmp_path: Path) -> None:
    fill(tmp_path, ["a.png"])
    (tmp_path / "prompts.csv").write_text("file,prompt\na.png,NA\n")
    with pytest.raises(
        T2IBenchError, match=r":2: its 'prompt' is 'NA', a missing value"
    ):
        made(tmp_path)


def workbook(path: Path, *rows: list[object]) -> None:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize("name", ["prompts.xlsx", "Prompts.XLSX", "Übersicht 1.xlsx"])
def test_a_workbook_lists_the_images(tmp_path: Path, name: str) -> None:
    fill(tmp_path, ["a.png", "b.png"])
    rows = [
        ["Dateiname", "Prompt", "Nr"],
        ["a.png", "a nurse", 1],
        ["b.png", "a chef", 2],
    ]
    workbook(tmp_path / name, *rows)
    (tmp_path / "people.csv").write_text("file,gender\na.png,male\n")
    assert names_of(made(tmp_path), "a chef") == ["b.png"]
    notes = (
        []
        if name.lower() == "prompts.xlsx"
        else [f"Images and prompts are read from '{name}'."]
    )
    assert notes_of(tmp_path) == notes


def test_one_table_of_any_name_lists_the_images_two_do_not(tmp_path: Path) -> None:
    fill(tmp_path, ["a.png", "b.png"])
    (tmp_path / "Übersicht Export.csv").write_text(
        "Dateiname;Prompt;Datum\na.png;a nurse;1.5.\n"
    )
    assert names_of(made(tmp_path), "a nurse") == ["a.png"]
    (tmp_path / "neu.tsv").write_text("Bild\tPrompt\nb.png\ta nurse\n")
    error = error_of(tmp_path)
    assert (
        "contains 2 tables with images and prompts: 'neu.tsv', 'Übersicht Export.csv'"
        in error
    )
    assert "Call the one that counts prompts.csv (or .xlsx" in error
    assert names_of(made(tmp_path, table="neu.tsv"), "a nurse") == ["b.png"]
    assert "contains no table 'nue.tsv'. Did you mean 'neu.tsv'?" in error_of(
        tmp_path, table="nue.tsv"
    )
    assert "is outside" in error_of(tmp_path, table="../x.csv")
    (tmp_path / "prompts.csv").write_text("file,prompt\na.png,a clerk\n")
    assert names_of(made(tmp_path), "a clerk") == ["a.png"]


def test_a_table_whose_columns_are_not_known_is_shown_and_can_be_mapped(
    tmp_path: Path,
) -> None:
    fill(tmp_path, ["a.png"])
    (tmp_path / "Übersicht.csv").write_text(
        "Nummer;Name;Aufforderung\n1;a.png;a nurse\n"
    )
    error = error_of(tmp_path)
    assert (
        "'Übersicht.csv' has no images with prompts. Its columns are 'Nummer', 'Name',"
        in error
    )
    args = {"columns": "image=Name,prompt=Aufforderung"}
    assert names_of(made(tmp_path, **args), "a nurse") == ["a.png"]
    (tmp_path / "Übersicht.csv").rename(tmp_path / "prompts.csv")
    error = error_of(tmp_path)
    assert (
        "prompts.csv:1: no column 'file'. Its columns are 'Nummer', 'Name', 'Aufforderung'"
        in (error)
    )


def test_answers_beside_sub_folders_do_not_hide_what_they_leave_out(
    tmp_path: Path,
) -> None:
    fill(tmp_path, ["a nurse/1.png", "a nurse/2.png", "a chef/1.png"])
    (tmp_path / "people.csv").write_text(
        "file,prompt,gender\na nurse/1.png,A nurse,male\n"
    )
    assert made(tmp_path).available("a nurse") == 2
    (tmp_path / "people.csv").write_text(
        "file,text,gender\na nurse/1.png,unsure,male\n"
    )
    assert made(tmp_path).available("a nurse") == 2


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("{prompt}_{index}.png", ["a_nurse_10.png", "a_nurse_9.PNG", "a_chef_0.png"]),
        (
            "{prompt}-{index}",
            ["sub/a nurse-10.png", "a nurse-9.jpg", "x/y/a chef-0.webp"],
        ),
        ("{prompt}/{seed}.png", ["a nurse/10.png", "a nurse/9.png", "a chef/0.png"]),
        (
            "{model}/{n}_{prompt}_s{seed}.png",
            ["m/1_a_nurse_s10.png", "m/7_a_nurse_s9.png"],
        ),
        (
            "{index}. {prompt}.png",
            ["10. A nurse.png", "9. a  nurse.png", "0. a chef.png"],
        ),
    ],
)
def test_names_give_prompts_by_a_pattern(
    tmp_path: Path, pattern: str, names: list[str]
) -> None:
    fill(tmp_path, [*names, "other.jpeg"])
    generator = made(tmp_path, pattern=pattern)
    # in the order of index and seed
    wanted = [Path(names[1]).name, Path(names[0]).name]
    assert names_of(generator, "a nurse") == wanted
    (line,) = notes_of(tmp_path, pattern=pattern)
    assert line == f"1 image does not fit the pattern '{pattern}': 'other.jpeg'."


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{name}_{index}.png", "has no field {prompt}"),
        ("{prompt}_{prompt}.png", "has {prompt} twice"),
        ("{prompt}_{index.png", "a brace alone"),
        (
            "{prompt}__{index}.gif",
            "None of the 1 images of .* fits the pattern .* 'a_1.png'",
        ),
    ],
)
def test_patterns_that_cannot_be(tmp_path: Path, pattern: str, message: str) -> None:
    fill(tmp_path, ["a_1.png"])
    with pytest.raises(T2IBenchError, match=message):
        made(tmp_path, pattern=pattern)


def test_images_of_several_models_are_said_and_recorded(tmp_path: Path) -> None:
    files = ["a.png", "b.png", "c.png"]
    fill(tmp_path, files)
    models = ["sdxl", "flux", "sdxl"]
    rows = [
        {"file": file, "prompt": "a nurse", "model": model}
        for file, model in zip(files, models, strict=True)
    ]
    manifest(tmp_path, rows)
    mixed = made(tmp_path)
    assert isinstance(mixed, HasNotes)
    (line,) = mixed.notes
    assert line.startswith("Images of 2 models are mixed: 'sdxl' (2) and 'flux' (1).")
    assert mixed.settings["models"] == {"sdxl": 2, "flux": 1}

    manifest(tmp_path, [row | {"model": "sdxl"} for row in rows])
    alone = made(tmp_path)
    assert isinstance(alone, HasNotes) and alone.notes == []
    assert "models" not in alone.settings
