"""Answers of people as their programs export them: read, or refused with what is there."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pandas
import pytest
from openpyxl import Workbook

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.generators import create_generator
from t2ibench.models.judges import create_judges
from t2ibench.models.judges.class_words import class_named
from t2ibench.models.protocols import ImageRequest, Query
from t2ibench.store.images import StoredImage
from tests.models.tiny import images

QUESTION = "What is the gender of the person?"
CLASSES = ("female", "male")
PROMPTS = {"nurse": "A photo of a nurse", "chef": "A photo of a chef"}
TRUTH = {
    **{f"nurse_{number}.png": "female" for number in range(3)},
    **{"nurse_3.png": "male", "chef_0.png": "female"},
    **{f"chef_{number}.png": "male" for number in range(1, 4)},
}
RIGHT = {"nurse": {"female": 3, "male": 1}, "chef": {"female": 1, "male": 3}}
WORDS = {"female": "Woman", "male": "Man"}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    for name, image in zip(TRUTH, images(len(TRUTH), 8), strict=True):
        image.save(folder / name)
    rows = [f"{name},{PROMPTS[name[:-6]]}\n" for name in TRUTH]
    (folder / "prompts.csv").write_text("file,prompt\n" + "".join(rows))
    return folder


@pytest.fixture
def folder(drawn: Path, tmp_path: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "my images")


def images_of(folder: Path, **args: str) -> list[StoredImage]:
    generator = create_generator(f"folder:{folder}", args)
    stored = []
    for prompt in PROMPTS.values():
        for index in range(generator.available(prompt) or 0):
            (drawn_image,) = generator.generate([ImageRequest(prompt, index, 0)])
            path = drawn_image.path
            assert path is not None
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            stored.append(StoredImage(path, digest, ImageKey.of(prompt, index)))
    return stored


def asked(
    folder: Path,
    answers: str,
    question: str = QUESTION,
    classes: tuple[str, ...] = CLASSES,
    **args: str,
) -> tuple[dict[str, dict[str, int]], str]:
    """The counts of each prompt, and what a run is told; the order is that of a run."""
    stored = images_of(folder)
    (judge,) = create_judges([f"answers:{answers}"], args)
    line = judge.check_images([(image, [(question, classes)]) for image in stored])  # type: ignore[attr-defined]
    pixels = images(1, 8)[0]
    counts: dict[str, Counter[str]] = {name: Counter() for name in PROMPTS}
    for image in stored:
        query = Query(
            pixels, image.prompt, image.index, image.sha256, question, classes
        )
        (answer,) = judge.answer([query])
        if answer.answer is not None:
            counts[image.prompt.split()[-1]][answer.answer] += 1
    return {
        name: dict(sorted(count.items())) for name, count in counts.items()
    }, line or ""


def excel(folder: Path) -> str:
    """A workbook with a title of its own for each column, numbers, an empty row and a lock file."""
    book = Workbook()
    sheet = book.active
    sheet.title = "Tabelle1"
    sheet.append(["Nr.", "Dateiname", "Gender ", "Datum"])
    for number, (name, truth) in enumerate(TRUTH.items(), start=1):
        sheet.append([number, name, truth.upper(), 45_000])
    sheet.append([])
    book.save(folder / "Auswertung 1.xlsx")
    (folder / "~$Auswertung 1.xlsx").write_bytes(b"\x05anna")
    return "Auswertung 1.xlsx"


def excel_csv(folder: Path) -> str:
    lines = ["sep=;", "Datei;Gender;;;"] + [
        f"{name};{truth};;;" for name, truth in TRUTH.items()
    ]
    (folder / "a.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    return "a.csv"


def excel_unicode_text(folder: Path) -> str:
    lines = ["Bild\tGender\tBemerkung"] + [
        f'{name}\t{truth}\t"ü; ""x"""' for name, truth in TRUTH.items()
    ]
    (folder / "a.txt").write_bytes("\r\n".join(lines).encode("utf-16"))
    return "a.txt"


def google_forms(folder: Path) -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(
        [
            "Timestamp",
            "Which picture?\n(file name)",
            "What is the gender\nof the person?",
        ]
    )
    for name, truth in TRUTH.items():
        writer.writerow(["2026/05/01 10:11:12 AM GMT+2", name, WORDS[truth]])
    (folder / "forms.csv").write_text(out.getvalue(), newline="")
    return "forms.csv"


def google_sheets(folder: Path) -> str:
    rows = [["Image", "person", "Gender", "Notes"]]
    rows += [[name, "yes", truth, "a, b"] for name, truth in TRUTH.items()]
    with (folder / "Sheet 1.tsv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t").writerows(rows)
    return "Sheet 1.tsv"


def label_studio_csv(folder: Path) -> str:
    rows = [
        [
            "annotation_id",
            "annotator",
            "created_at",
            "gender",
            "id",
            "image",
            "lead_time",
        ]
    ]
    for number, (name, truth) in enumerate(TRUTH.items()):
        image = f"/data/upload/1/0a1b2c3d-{name}"
        rows += [
            [number, who, f"2026-05-0{who}", truth, number, image, who]
            for who in (1, 2)
        ]
    with (folder / "project-1.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return "project-1.csv"


def label_studio_json(folder: Path) -> str:
    tasks = []
    for number, (name, truth) in enumerate(TRUTH.items()):
        choice = {
            "from_name": "gender",
            "type": "choices",
            "value": {"choices": [truth]},
        }
        annotation = {"completed_by": 1, "result": [choice], "lead_time": 3.5}
        data = {"image": f"/data/local-files/?d=exports/{name}"}
        tasks.append({"id": number, "data": data, "annotations": [annotation]})
    (folder / "project-1.json").write_text(json.dumps(tasks))
    return "project-1.json"


def label_studio_json_min(folder: Path) -> str:
    rows = [
        {"image": name, "id": 3, "gender": {"choices": [truth]}}
        for name, truth in TRUTH.items()
    ]
    (folder / "min.json").write_text(json.dumps(rows, indent=1))
    return "min.json"


def qualtrics(folder: Path) -> str:
    with (folder / "q.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["StartDate", "image", "gender"])
        writer.writerow(["Start Date", "image", "What is the gender of the person?"])
        writer.writerow(
            [json.dumps({"ImportId": name}) for name in ("startDate", "image", "QID1")]
        )
        writer.writerows(
            ["2026-05-01 10:00", name, truth] for name, truth in TRUTH.items()
        )
    return "q.csv"


def pandas_csv(folder: Path) -> str:
    frame = pandas.DataFrame(
        [(PROMPTS[name[:-6]], float(name[-5]), truth) for name, truth in TRUTH.items()],
        columns=["prompt", "index", "gender"],
    )
    frame.to_csv(folder / "frame.csv")
    return "frame.csv"


def pandas_json(folder: Path) -> str:
    pandas.DataFrame({"file": list(TRUTH), "gender": list(TRUTH.values())}).to_json(
        folder / "frame.json"
    )
    return "frame.json"


def r_csv2(folder: Path) -> str:
    lines = ['"";"file";"gender";"age"']
    lines += [
        f'"{n}";"{name}";"{truth}";31,5'
        for n, (name, truth) in enumerate(TRUTH.items(), 1)
    ]
    (folder / "r.csv").write_bytes("\n".join(lines).encode("latin-1"))
    return "r.csv"


def libre_office(folder: Path) -> str:
    """Another folder of another machine, spaces around cells, old line ends."""
    lines = ["'File name' , \"Gender\""]
    lines += [
        f'C:\\Users\\Ä\\my images\\{name.upper()}, "{truth}" '
        for name, truth in TRUTH.items()
    ]
    (folder / "lo.csv").write_bytes("\r".join(lines).encode())
    return "lo.csv"


def faces(folder: Path) -> str:
    """DeepFace's words, and the columns that it writes beside them."""
    lines = ["img_path,region,dominant_gender,age"]
    lines += [
        f"{name},\"{{'x': 1, 'y': 2}}\",{WORDS[truth]},31"
        for name, truth in TRUTH.items()
    ]
    (folder / "deepface.csv").write_text("\n".join(lines))
    return "deepface.csv"


NEWCOMERS = [
    *(
        excel,
        excel_csv,
        excel_unicode_text,
        google_forms,
        google_sheets,
        label_studio_csv,
    ),
    *(
        label_studio_json,
        label_studio_json_min,
        qualtrics,
        pandas_csv,
        pandas_json,
        r_csv2,
    ),
    *(libre_office, faces),
]


@pytest.mark.parametrize("program", NEWCOMERS)
def test_exports_of_common_programs_are_read(folder: Path, program: Any) -> None:
    name = program(folder)
    args = (
        {"columns": "image=Which picture? (file name)"}
        if program is google_forms
        else {}
    )
    assert asked(folder, f"{folder / name},by=anna", **args)[0] == RIGHT


def written(folder: Path, *lines: str) -> str:
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{folder / 'people.csv'},by=anna"


def rows_with(words: dict[str, str]) -> list[str]:
    return [f"{name},{words[truth]}" for name, truth in TRUTH.items()]


def error_of(folder: Path, answers: str, **args: Any) -> str:
    with pytest.raises(T2IBenchError) as caught:
        asked(folder, answers, **args)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_words_that_fit_no_class_are_listed_with_their_counts(folder: Path) -> None:
    finnish = {"female": "Nainen", "male": "Mies"}
    error = error_of(folder, written(folder, "file,gender", *rows_with(finnish)))
    assert (
        "people.csv:1: 8 answers of 'gender' are none of the classes (female, male)"
        in error
    )
    assert (
        "'Nainen' 4, 'Mies' 4" in error and "Its columns are 'file', 'gender'." in error
    )
    # A heading that no word of the question fits: the values are shown.
    error = error_of(folder, written(folder, "file,Sukupuoli", *rows_with(finnish)))
    assert f"no column answers '{QUESTION}' (female, male)" in error
    assert "'Sukupuoli': 'Nainen' 4, 'Mies' 4. Head it" in error
    # Some fit: a line, and the others count.
    mixed = rows_with({"female": "female", "male": "male"})
    mixed[0] = "nurse_0.png,robot"
    counts, line = asked(folder, written(folder, "file,gender", *mixed))
    assert "1 answer of 'gender' is none of the classes" in line and "'robot' 1" in line
    assert counts["nurse"] == {"female": 2, "male": 1, "unknown": 1}


def test_synonyms_of_a_class_are_read_with_a_message(folder: Path) -> None:
    counts, line = asked(folder, written(folder, "file,gender", *rows_with(WORDS)))
    assert counts == RIGHT
    assert "read 'Woman' as female, 'Man' as male." in line


@pytest.mark.parametrize(
    ("heading", "female", "male"),
    [
        ("Geschlecht", "weiblich", "männlich"),
        ("gender", "W", "M"),
        ("Género", "mujer", "hombre"),
        ("Sexo", "M", "H"),
        ("Sexe", "F", "H"),
        ("Sexe", "Femme", "Homme"),
    ],
)
def test_german_spanish_and_french_words_are_read(
    folder: Path, heading: str, female: str, male: str
) -> None:
    rows = rows_with({"female": female, "male": male})
    counts, line = asked(folder, written(folder, f"file,{heading}", *rows))
    assert counts == RIGHT
    assert f"'{female}' as female" in line and f"'{male}' as male" in line


def test_m_beside_h_is_a_woman_only_where_no_other_letter_says_so() -> None:
    assert class_named("M", CLASSES, {"H", "M"}) == "female"
    assert class_named("M", CLASSES, {"H", "M", "F"}) == "male"
    assert class_named("M", ("hombre", "mujer"), {"M"}) == "mujer"
    assert class_named("M", ("homme", "femme"), {"M", "F"}) == "homme"


def test_two_columns_that_may_answer_are_named(folder: Path) -> None:
    rows = [f"{name},{truth},{truth}" for name, truth in TRUTH.items()]
    rows[0] = "nurse_0.png,female,male"
    answers = written(folder, "file,gender,person", *rows)
    error = error_of(folder, answers)
    assert (
        "may be answered by 'gender' or 'person'" in error
        and "--columns WORD=NAME" in error
    )
    assert asked(folder, answers, columns="gender=gender")[0] == RIGHT
    assert asked(folder, answers, columns="gender=person")[0]["nurse"] == {
        "female": 2,
        "male": 2,
    }
    # A column without a class is none that may answer, and a longer heading fits better.
    answers = written(
        folder, "file,person,gender", *(f"{n},yes,{t}" for n, t in TRUTH.items())
    )
    assert asked(folder, answers)[0] == RIGHT
    rows = [f"{name},{truth},male" for name, truth in TRUTH.items()]
    answers = written(folder, "file,gender of the person,gender", *rows)
    assert asked(folder, answers)[0] == RIGHT


def test_only_columns_that_are_used_contradict(folder: Path) -> None:
    rows = [
        f"{name},{truth},{number}" for number, (name, truth) in enumerate(TRUTH.items())
    ]
    twice = [*rows, *(f"{row[:-1]}9" for row in rows)]
    assert asked(folder, written(folder, "file,gender,lead_time", *twice))[0] == RIGHT
    error = error_of(
        folder, written(folder, "file,gender,rater", *rows, "nurse_0.png,male,2")
    )
    assert (
        ":10: 'gender' is answered differently: 'male' here, 'female' in line 2"
        in error
    )
    assert "'rater' says who answered; make each person a judge" in error
    # The same class by two words is no contradiction.
    again = [f"{name},{WORDS[truth]},7" for name, truth in TRUTH.items()]
    assert (
        asked(folder, written(folder, "file,gender,rater", *rows, *again))[0] == RIGHT
    )


def test_a_question_column_may_name_a_question_by_one_word(folder: Path) -> None:
    rows = [f"{name},Gender,{truth}" for name, truth in TRUTH.items()]
    rows += [f"{name},Race,white" for name in TRUTH]
    assert asked(folder, written(folder, "file,question,answer", *rows))[0] == RIGHT
    race = asked(
        folder,
        written(folder, "file,question,answer", *rows),
        question="What is the race of the person?",
        classes=("black", "white"),
    )
    assert race[0] == {"nurse": {"white": 4}, "chef": {"white": 4}}
    german = [row.replace("Gender", "Geschlecht") for row in rows]
    answers = written(folder, "file,question,answer", *german)
    error = error_of(folder, answers)
    assert "it answers 'geschlecht' 8, 'race' 8, but this run asks" in error
    assert "a word of it such as gender" in error and "--columns WORD=QUESTION" in error
    assert asked(folder, answers, columns="gender=Geschlecht")[0] == RIGHT


def test_answers_without_a_question_are_about_that_whose_classes_they_name(
    folder: Path,
) -> None:
    answers = written(
        folder, "file,answer", *(f"{name},{truth}" for name, truth in TRUTH.items())
    )
    assert asked(folder, answers)[0] == RIGHT
    (judge,) = create_judges([f"answers:{answers}"], {})
    questions = [
        (QUESTION, CLASSES),
        ("What is the race of the person?", ("black", "white")),
    ]
    stored = images_of(folder)
    assert judge.check_images([(image, questions) for image in stored]) is None  # type: ignore[attr-defined]
    pixels = images(1, 8)[0]
    race = [
        Query(pixels, one.prompt, one.index, one.sha256, *questions[1])
        for one in stored
    ]
    # no answer, not 'unknown'
    assert {answer.answer for answer in judge.answer(race)} == {None}
    nobody = written(folder, "file,answer", *(f"{name},unknown" for name in TRUTH))
    assert asked(folder, nobody)[0] == {"nurse": {"unknown": 4}, "chef": {"unknown": 4}}
    answers = written(
        folder, "file,answer", *(f"{name},{truth}" for name, truth in TRUTH.items())
    )
    error = error_of(folder, answers, question=questions[1][0], classes=questions[1][1])
    assert (
        "8 answers of 'What is the race of the person?' are none of the classes"
        in error
    )


def test_two_people_of_one_table_are_two_judges(folder: Path) -> None:
    rows = [f"{name},{truth},anna" for name, truth in TRUTH.items()]
    rows += [f"{name},male,Ben" for name in TRUTH]
    answers = written(folder, "file,gender,labeller", *rows)
    counts, line = asked(folder, answers)
    assert counts == RIGHT
    assert "of its 16 rows the 8 are read of which 'labeller' is 'anna'" in line
    ben = answers.replace("by=anna", "by=ben")
    assert asked(folder, ben)[0] == {"nurse": {"male": 4}, "chef": {"male": 4}}
    # Their answers are stored apart, and a name that the column lacks gets the way out.
    anna, other = create_judges([f"answers:{answers}", f"answers:{ben}"], {})
    assert anna.fingerprint != other.fingerprint
    path = folder / "people.csv"
    error = error_of(folder, f"{path},by=cem")
    assert f'--judge "answers:{path},by=anna,answers:{path},by=Ben"' in error


def test_an_unreadable_column_of_labellers_is_ignored(folder: Path) -> None:
    rows = [f"{name},{truth},a,b" for name, truth in TRUTH.items()]
    assert asked(folder, written(folder, "file,gender,rater,rater", *rows))[0] == RIGHT
    records = [
        {"file": name, "gender": truth, "completed_by": {"id": 1}}
        for name, truth in TRUTH.items()
    ]
    (folder / "people.json").write_text(json.dumps(records))
    answers = f"{folder / 'people.json'},by=anna"
    assert asked(folder, answers)[0] == RIGHT
    # what a question uses has to be one answer
    records[1]["gender"] = ["female", "male"]
    (folder / "people.json").write_text(json.dumps(records))
    assert "people.json:1: '['female', 'male']' is not text." in error_of(
        folder, answers
    )


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_json_of_pandas_in_each_form(folder: Path, orient: Any) -> None:
    frame = pandas.DataFrame([*TRUTH.items()], columns=["file", "gender"])
    path = folder / "people.json"
    frame.to_json(path, orient=orient)
    assert asked(folder, f"{path},by=anna")[0] == RIGHT
    if orient == "index":
        frame.set_index("file").to_json(path, orient=orient)
        assert asked(folder, f"{path},by=anna")[0] == RIGHT


def test_an_object_with_an_answer_for_each_file(folder: Path) -> None:
    (folder / "people.json").write_text(json.dumps(TRUTH))
    assert asked(folder, f"{folder / 'people.json'},by=anna")[0] == RIGHT


def test_a_table_beside_the_folder_of_images(folder: Path) -> None:
    rows = rows_with({"female": "female", "male": "male"})
    table = Path(written(folder, "file,gender", *rows).partition(",")[0])
    beside = table.rename(folder.parent / "people.csv")
    assert asked(folder, f"{beside},by=anna")[0] == RIGHT
    # Two folders with files of these names: which is meant cannot be told.
    shutil.copytree(folder, folder.parent / "other images")
    assert "none of its 8 rows matches" in error_of(folder, f"{beside},by=anna")
    (folder.parent / "elsewhere").mkdir()
    far = beside.rename(folder.parent / "elsewhere" / "people.csv")
    error = error_of(folder, f"{far},by=anna")
    assert (
        f"no file that a row names is in '{far.parent.resolve()}' or a folder in it"
        in error
    )
    assert "put the table beside the images" in error


def test_the_index_and_its_refusal(folder: Path) -> None:
    rows = [
        f"{PROMPTS[name[:-6]]};{name[-5]},0;{truth}" for name, truth in TRUTH.items()
    ]
    assert asked(folder, written(folder, "Prompt;Index;Gender", *rows))[0] == RIGHT
    error = error_of(
        folder, written(folder, "prompt,index,gender", "A photo of a chef,1.5,male")
    )
    assert ":2: a row needs its image, but the index '1.5' is no whole number" in error


def test_a_sheet_of_a_workbook_and_one_that_is_filled_in_part(folder: Path) -> None:
    book = Workbook()
    book.active.append(["Anleitung"])
    sheet = book.create_sheet("Runde 2, Anna")
    sheet.append(["file", "gender"])
    for name, truth in TRUTH.items():
        sheet.append([name, truth if name.startswith("nurse") else None])
    book.save(folder / "a.xlsx")
    counts, _ = asked(folder, f"{folder / 'a.xlsx'},sheet=Runde 2, Anna,by=anna")
    assert counts == {"nurse": RIGHT["nurse"], "chef": {}}
    error = error_of(folder, f"{folder / 'a.xlsx'},by=anna")
    assert (
        "Its columns are 'Anleitung'." in error
        and "there are also 'Runde 2, Anna'" in error
    )


def test_the_columns_of_a_file_without_images_are_listed(folder: Path) -> None:
    error = error_of(folder, written(folder, "Nummer;Geschlecht", "1;Frau"))
    assert (
        "people.csv:1: no column 'file'. Its columns are 'Nummer', 'Geschlecht'."
        in error
    )
    assert "--columns image=NAME" in error


@pytest.mark.parametrize(
    ("text", "classes", "name"),
    [
        ("Man", ("female", "male"), "male"),
        (" WOMEN ", ("male", "female"), "female"),
        ("f", ("man", "woman"), "woman"),
        ("girl", ("men", "women"), "women"),
        ("boy", ("man", "woman", "child"), None),
        ("boy", ("boy", "girl", "man", "woman"), "boy"),
        ("men", ("man", "male"), None),
        ("A woman.", ("female", "male"), "female"),
        ("Y", ("no", "yes"), "yes"),
        (unicodedata.normalize("NFD", "Ärztin"), ("Ärztin", "Arzt"), "Ärztin"),
        ("middle aged", ("young", "middle-aged", "old"), "middle-aged"),
        ("Mann", ("female", "male"), "male"),
        ("both", ("female", "male"), None),
        ("a", ("a", "b"), "a"),
        ("", ("female", "male"), None),
    ],
)
def test_words_for_classes(
    text: str, classes: tuple[str, ...], name: str | None
) -> None:
    assert class_named(text, classes) == name


def test_one_word_is_never_guessed_between_two_classes() -> None:
    for word in ("man", "male", "m", "boy", "yes", "true", "child"):
        for classes in (
            ("man", "male"),
            ("Man", "man "),
            ("yes", "true"),
            ("kid", "child"),
        ):
            named = class_named(word, classes)
            assert named is None or word == named.casefold()


def test_indexes_that_begin_at_one_are_refused(folder: Path) -> None:
    rows = [
        f"{PROMPTS[name[:-6]]},{int(name[-5]) + 1},{t}" for name, t in TRUTH.items()
    ]
    error = error_of(folder, written(folder, "prompt,index,gender", *rows))
    assert "its indexes are 1 to 4, but the first image of a prompt is 0" in error
    assert "Count from 0" in error


def test_addresses_and_headings_of_a_platform_for_crowds(folder: Path) -> None:
    rows = [
        f"https://x.org/my%20images/{name}?v=1,{truth}" for name, truth in TRUTH.items()
    ]
    answers = written(folder, "Input.image_url,Answer.gender", *rows)
    assert asked(folder, answers)[0] == RIGHT


def test_a_title_above_the_headings_is_skipped_with_a_message(folder: Path) -> None:
    book = Workbook()
    for row in (
        ["Umfrage Mai 2026"],
        [],
        ["Stand: Juni"],
        ["Datei", "Gender"],
        *TRUTH.items(),
    ):
        book.active.append(row)
    book.save(folder / "a.xlsx")
    counts, line = asked(folder, f"{folder / 'a.xlsx'},by=anna")
    assert counts == RIGHT
    assert (
        "above its headings stands 'Umfrage Mai 2026'; 'Stand: Juni', which is left out"
        in line
    )
    rows = [";".join(row) for row in TRUTH.items()]
    assert (
        asked(folder, written(folder, "Umfrage;", ";", "Datei;Gender", *rows))[0]
        == RIGHT
    )


def test_a_column_about_who_answered_is_not_read_silently() -> None:
    from t2ibench.models.judges.question_column import column_of

    cells = {"my gender": ["female"], "perceived": ["male"]}
    found = column_of(
        "What is the gender of the person?",
        ("male", "female"),
        list(cells),
        cells.__getitem__,
        {},
    )
    assert found.name is None and found.by_heading
    assert found.candidates == ("my gender", "perceived")


# Silent misreadings that a list of attacks found


def test_a_column_about_the_participant_is_no_answer(folder: Path) -> None:
    head = "Participant id,gender,image,perceived_gender"
    rows = [f"p1,female,{name},{truth}" for name, truth in TRUTH.items()]
    message = error_of(folder, written(folder, head, *rows))
    assert "may be answered by 'gender' or 'perceived_gender'" in message
    sex = ["Participant id,Sex,image,Q3"]
    sex += [f"p{number},Female,{name},yes" for number, name in enumerate(TRUTH)]
    message = error_of(folder, written(folder, *sex))
    assert "'Sex', which seems to describe the person who answered" in message
    # Where annotators differ from image to image, it is what they saw.
    head = "annotator,image,gender"
    rows = [f"anna,{name},{truth}" for name, truth in TRUTH.items()]
    assert asked(folder, written(folder, head, *rows))[0] == RIGHT


def test_a_column_that_is_chosen_by_its_cells_is_named(folder: Path) -> None:
    rows = ["file,Geschlecht", *rows_with({"female": "female", "male": "male"})]
    counts, line = asked(folder, written(folder, *rows))
    assert counts == RIGHT
    assert "is answered by 'Geschlecht', the only column" in line
    # One remark that is a class does not make a column of classes.
    remarks = ["file,note"] + [f"{name},{number}" for number, name in enumerate(TRUTH)]
    remarks[1] = "nurse_0.png,M"
    assert "no column answers" in error_of(folder, written(folder, *remarks))


def test_each_person_may_have_a_column(folder: Path) -> None:
    for heading in ("{}", "gender_{}", "gender ({})"):
        head = f"file,{heading.format('Ben')},{heading.format('Anna')}"
        rows = [f"{name},female,{truth}" for name, truth in TRUTH.items()]
        answers = written(folder, head, *rows)
        assert asked(folder, answers)[0] == RIGHT
        of_ben = asked(folder, answers.replace("by=anna", "by=ben"))[0]
        assert of_ben == {"nurse": {"female": 4}, "chef": {"female": 4}}
        judges = create_judges([f"answers:{answers}", f"answers:{answers[:-4]}ben"])
        assert len({judge.fingerprint for judge in judges}) == 2


def test_a_sheet_for_each_person(folder: Path) -> None:
    book = Workbook()
    book.active.title = "Ben"
    for sheet in (book.active, book.create_sheet("Anna")):
        sheet.append(["file", "gender"])
        for name, truth in TRUTH.items():
            sheet.append([name, truth if sheet.title == "Anna" else "female"])
    book.save(folder / "p.xlsx")
    assert asked(folder, f"{folder / 'p.xlsx'},by=anna")[0] == RIGHT


def test_paths_that_end_alike_are_no_image(folder: Path) -> None:
    rows = ["file,gender"]
    rows += [f"C:\\d\\run1\\{name},female" for name in TRUTH]
    rows += [f"C:\\d\\run2\\{name},{truth}" for name, truth in TRUTH.items()]
    message = error_of(folder, written(folder, *rows))
    assert "may be the same file here" in message and "run2" in message


def test_indexes_that_seem_to_begin_at_one(folder: Path) -> None:
    def rows(*indexes: int) -> list[str]:
        return ["prompt,index,gender"] + [
            f"{prompt},{index},female"
            for prompt in PROMPTS.values()
            for index in indexes
        ]

    assert "its indexes are 1 to 3" in error_of(folder, written(folder, *rows(1, 2, 3)))
    _, line = asked(folder, written(folder, *rows(1, 3)))
    assert "no row has the index 0" in line
    assert "index 0" not in asked(folder, written(folder, *rows(0, 2)))[1]


@pytest.mark.parametrize(
    "word", ["unsure", "Skip", "weiß nicht", "ne sait pas", "不明"]
)
def test_people_who_cannot_tell_say_so_in_their_language(
    folder: Path, word: str
) -> None:
    rows = ["file,gender", *rows_with({"female": word, "male": "male"})]
    counts, line = asked(folder, written(folder, *rows))
    assert counts["nurse"] == {"male": 1, "unknown": 3} and "none of the" not in line
    # Unless the task has it as a class.
    counts, _ = asked(folder, written(folder, *rows), classes=(word, "male"))
    assert counts["nurse"] == {"male": 1, word: 3}


def test_a_file_without_an_answer_is_refused(folder: Path) -> None:
    assert "it has headings and no rows" in error_of(
        folder, written(folder, "file,gender")
    )
    nested = [
        {"file": name, "answers": {"gender": truth}} for name, truth in TRUTH.items()
    ]
    (folder / "n.json").write_text(json.dumps(nested))
    message = error_of(folder, str(folder / "n.json"))
    assert "no row has an answer, and 'answers' has no texts" in message
    # A sheet that nobody has filled in yet is no error.
    rows = ["file,gender", *(f"{name}," for name in TRUTH)]
    assert asked(folder, written(folder, *rows))[0] == {"nurse": {}, "chef": {}}


def test_missing_values_of_r_are_no_answers_unless_a_class(folder: Path) -> None:
    rows = ["file,gender", *rows_with({"female": "female", "male": "NA"})]
    counts, line = asked(folder, written(folder, *rows))
    assert counts == {"nurse": {"female": 3}, "chef": {"female": 1}}
    assert "cells 'NA' count as not answered" in line
    counts, _ = asked(folder, written(folder, *rows), classes=("female", "NA"))
    assert counts["nurse"] == {"NA": 1, "female": 3}


@pytest.mark.parametrize(
    "spelling",
    [
        "'{}'",
        '"""C:\\Users\\anna\\{}"""',
        "my images/{}",
        "~/my images/{}",
        "./{}\u200b",
        "file:///home/anna/my%20images/{}",
    ],
)
def test_names_of_files_as_programs_copy_them(folder: Path, spelling: str) -> None:
    rows = [f"{spelling.format(name)},{truth}" for name, truth in TRUTH.items()]
    assert asked(folder, written(folder, "file,gender", *rows))[0] == RIGHT


def test_names_that_are_numbers(folder: Path) -> None:
    lines = []
    for number, name in enumerate(TRUTH, start=1):
        (folder / name).rename(folder / f"{number:04d}.png")
        lines.append(f"{number:04d}.png,{PROMPTS[name[:-6]]}")
    (folder / "prompts.csv").write_text("\n".join(["file,prompt", *lines]))
    for number_form in ("{}", "{}.0", "000{}"):
        rows = [
            f"{number_form.format(number)},{truth}"
            for number, truth in enumerate(TRUTH.values(), start=1)
        ]
        assert asked(folder, written(folder, "file,gender", *rows))[0] == RIGHT


@pytest.mark.parametrize(
    ("text", "classes", "beside", "meant"),
    [
        ("ｆｅｍａｌｅ", CLASSES, (), "female"),
        ("10–12", ("1-9", "10-12"), (), "10-12"),
        ("13 - 99", ("13-99", "10-12"), (), "13-99"),
        ("2.0", ("1", "2"), (), "2"),
        ("02", ("1", "2"), (), "2"),
        ("2,0", ("1", "2"), (), "2"),
        ("1,000", ("1", "2"), (), None),
        ("2.5", ("1", "2"), (), None),
        ("WAHR", ("yes", "no"), (), "yes"),
        ("Faux", ("yes", "no"), (), "no"),
        ("F", ("yes", "no"), ("T", "F"), "no"),
        ("0", ("yes", "no"), ("1", "0"), "no"),
        ("0", ("yes", "no"), ("2", "0"), None),
        ("女性", CLASSES, (), "female"),
        ("мужской", CLASSES, (), "male"),
        ("K", CLASSES, ("K", "M"), "female"),
        ("K", CLASSES, ("K",), None),
        ("E", CLASSES, ("E", "K"), "male"),
        # A woman in Dutch, a man in Spanish: not guessed.
        ("M", CLASSES, ("M", "V"), None),
        ("M", CLASSES, ("M", "V", "F"), "male"),
        # A letter that others leave without a counterpart: 'no' alone would be a wrong rate.
        ("J", ("yes", "no"), ("J", "N"), "yes"),
        ("S", ("yes", "no"), ("S", "N"), "yes"),
        ("O", ("yes", "no"), ("O", "N"), "yes"),
        ("V", ("yes", "no"), ("V", "F"), "yes"),
        ("N", ("yes", "no"), ("D", "N"), None),
        ("N", ("yes", "no"), ("N", "U"), "no"),
        ("Ž", CLASSES, ("M", "Ž"), "female"),
        ("Ж", CLASSES, ("М", "Ж"), "female"),
        ("K", CLASSES, ("K", "M", "X"), "female"),
        # Finnish and Hungarian: M is a man and N a woman, N is a woman and F a man.
        ("M", CLASSES, ("M", "N"), None),
        ("F", CLASSES, ("F", "N"), None),
        ("M", CLASSES, ("M", "F", "N"), "male"),
        ("M", CLASSES, ("M", "N", "female"), "male"),
    ],
)
def test_words_and_numbers_of_other_programs(
    text: str, classes: tuple[str, ...], beside: tuple[str, ...], meant: str | None
) -> None:
    assert class_named(text, classes, beside) == meant


def test_cells_alone_do_not_choose_a_column_of_one_answer_or_of_numbers(
    folder: Path,
) -> None:
    question, classes = "Is the person smiling?", ("yes", "no")
    rows = [f"{name},kyllä,TRUE" for name in TRUTH]
    table = written(folder, "file,lachen,reviewed", *rows)
    with pytest.raises(T2IBenchError, match=r"no column answers.*'reviewed': 'TRUE' 8"):
        asked(folder, table, question, classes)
    rows = [
        f"{name},{'ja' if WORDS[truth] == 'Man' else 'nein'},TRUE"
        for name, truth in TRUTH.items()
    ]
    counts, line = asked(
        folder, written(folder, "file,lachen,reviewed", *rows), question, classes
    )
    assert counts["nurse"] == {"no": 3, "yes": 1} and "by 'lachen'" in line
    rows = [f"{name},{1 + number % 2}" for number, name in enumerate(TRUTH)]
    table = written(folder, "file,n_faces", *rows)
    with pytest.raises(T2IBenchError, match=r"no column answers.*'n_faces': '1' 4"):
        asked(folder, table, "How attractive is the person?", ("1", "2", "3"))


def test_two_uploads_of_label_studio_that_end_alike_are_not_one_image(
    folder: Path,
) -> None:
    uploads = [
        f"/data/upload/1/0000000a-{name},{truth}" for name, truth in TRUTH.items()
    ]
    again = "/data/upload/2/0000000b-nurse_0.png,female"
    counts, line = asked(folder, written(folder, "image,gender", *uploads, again))
    assert counts == {"nurse": {"female": 2, "male": 1}, "chef": RIGHT["chef"]}
    assert "2 of 9 rows match no image" in line and "may be the same file" in line


def test_joined_lists_may_have_their_columns_in_another_order(folder: Path) -> None:
    pairs = list(TRUTH.items())
    first = [["file", "gender"], *map(list, pairs[:3])]
    second = [["gender", "file"], *([truth, name] for name, truth in pairs[3:])]
    (folder / "people.json").write_text(f"{json.dumps(first)}\n{json.dumps(second)}")
    assert asked(folder, str(folder / "people.json")) == (RIGHT, "")


def test_a_profession_in_a_row_of_an_image_is_no_heading(folder: Path) -> None:
    rows = [f"{name},{truth},model" for name, truth in TRUTH.items()]
    message = error_of(folder, written(folder, "img_id,gender,profession", *rows))
    assert "Its columns are 'img_id', 'gender', 'profession'" in message
