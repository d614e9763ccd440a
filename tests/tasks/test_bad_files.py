"""Every kind of bad task file: the line it names, what it says, and that nothing hides the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.errors import TaskFileError
from t2ibench.methods.core import checks
from t2ibench.tasks import load_tasks
from t2ibench.tasks.index import build_index
from t2ibench.tasks.loader import raise_refused
from t2ibench.tasks.source import read_yaml
from tests.tasks.files import JOBS, TEA, load, spoil


def errors(folder: Path, text: str | bytes) -> list[tuple[int | None, str]]:
    task, problems = load(folder, text)
    assert task is None
    return [
        (problem.line, problem.message) for problem in problems if not problem.warning
    ]


def warnings(folder: Path, text: str) -> list[tuple[int | None, str]]:
    task, problems = load(folder, text)
    assert task is not None, problems
    assert all(problem.warning for problem in problems)
    return [(problem.line, problem.message) for problem in problems]


PARAPHRASES = """\
  paraphrases:
    - neutral: "{A stimulus} at work"
      guided: "{A attribute} {stimulus} at work"
reference:"""
WORDED = spoil(JOBS, ("reference:", PARAPHRASES))


@pytest.mark.parametrize("text", [TEA, JOBS, WORDED])
def test_the_good_files_are_good(text: str, tmp_path: Path) -> None:
    assert warnings(tmp_path, text) == []


# A good file, the line of the problem, what is replaced by what, and what is said.
ONE_PROBLEM = [
    (TEA, 17, "pairing:", "pairng:", "unknown key 'pairng'. Did you mean 'pairing'?"),
    (TEA, 12, "A: {name: warm, words", "A: {name: warm, wrods: [x], words",
     "unknown key 'wrods'. Did you mean 'words'? Known here: name, words."),
    (TEA, 8, "tags: [benign]", "tags: [benign]\nversion: 2",
     "duplicate key 'version' (first on line 2)"),
    (TEA, 8, "tags: [benign]", "tags: [benign", "malformed YAML: "),
    (TEA, 4, "title: Tea and coffee", "title: 2024-13-45", "put the value in quotes"),
    (TEA, 4, "Tea and coffee", '!!int "-"',
     "'-' is no whole number, as the tag '!!int' says; remove the tag"),
    (TEA, 4, "Tea and coffee", "!!int 1.5",
     "'1.5' is no whole number, as the tag '!!int' says; remove the tag"),
    (TEA, 4, "Tea and coffee", '!!float ""', "'' is no number, as the tag '!!float' says; remove"),
    (TEA, 4, "Tea and coffee", "!!bool maybe", "'maybe' is neither yes nor no, as the tag"),
    (TEA, 4, "Tea and coffee", "0x_", "'0x_' is no whole number; put the value in quotes"),
    (TEA, 4, "Tea and coffee", "!!timestamp now", "'now' is no date"),
    (TEA, 2, "version: 1", "version: " + "9" * 5000, "' has more than 4,300 digits"),
    (TEA, 2, "version: 1", "version: 0b" + "1" * 20000, "' has more than 4,300 digits"),
    (TEA, 7, "tags: [benign]", "no: [benign]", "the key 'no' is not text"),
    (TEA, 7, "tags: [benign]", "<<: {a: 1}", "the key '<<' is not text"),
    (TEA, 4, "Tea and coffee", "!!python/name:os.system",
     "the tag '!!python/name:os.system' is not allowed"),
    (TEA, 7, "[benign]", '!!python/object/apply:os.system ["false"]',
     "the tag '!!python/object/apply:os.system' is not allowed"),
    (TEA, 1, "citation: Nobody (2024). A test of nothing.\n", "", "the key 'citation' is missing"),
    (TEA, 2, "version: 1", "version: yes", "version: "),
    (TEA, 17, "pairing:", 'images_per_prompt: "10"\npairing:', "valid integer"),
    (TEA, 3, "method: t2iat", "method: t2it",
     "unknown method 't2it'. Did you mean 't2iat'? Methods: "),
    (TEA, 1, "method: t2iat\n", "", "the key 'method' is missing"),
    (TEA, 17, "pairing: cycle", "pairing: cylce",
     "'cylce' is not one of 'cycle' or 'cross'. Did you mean 'cycle'?"),
    (TEA, 9, "[oolong, assam]", "flower", "unknown word list 'flower'. Did you mean 'flowers'?"),
    (JOBS, 17, "{engineer: 0.1, nurse: 0.9}", "us_labor_share_women",
     "unknown reference table 'us_labor_share_women'. Did you mean 'us_labour_share_women'?"),
    (JOBS, 17, "nurse: 0.9", "nurse: 90", "less than or equal to 1"),
    (TEA, 15, '"a cup of {stimulus}"', '"a cup of {stimlus}"',
     "unknown placeholder '{stimlus}'. Did you mean 'stimulus'?"),
    (TEA, 16, "{stimulus}, {attribute}", "{stimulus}",
     "the template lacks the placeholder '{attribute}'"),
    (TEA, 15, '"a cup of {stimulus}"', '"a {cup of {stimulus}"', "unmatched"),
    (TEA, 10, "[mocha, latte]", "[mocha, Assam]", "X and Y share words: 'assam'"),
    (TEA, 13, "[cold, icy]", "[hot, icy]", "A and B share words: 'hot'"),
    (TEA, 12, "[warm, hot]", "[warm, warm]", "words given more than once: 'warm'"),
    (JOBS, 8, "  - {name: male, words: [male]}\n  - {name: female, words: [female]}\n",
     "  - {name: female, words: [female]}\n", "groups: expected at least 2 entries, found 1: "),
    (JOBS, 9, "- {name: male, words: [male]}", "- male",
     "groups.0: expected a mapping of keys to values, found 'male'"),
    (TEA, 10, "[mocha, latte]", "[]", "concepts.Y.stimuli: this is empty"),
    (TEA, 10, "[mocha, latte]", "", "concepts.Y.stimuli: expected a list, found nothing"),
    (TEA, 18, "words_per_stimulus: 2", "words_per_stimulus: 3",
     "words_per_stimulus is 3, but a set has 2 words; use pairing: cross"),
    (JOBS, 16, "group: female", "group: femal", "unknown group 'femal'. Did you mean 'female'?"),
    (TEA, 13, "[cold, icy]", "[cold, no]", "expected text, found false; put words"),
    (TEA, 13, "[cold, icy]", "[cold, 7]", "expected text, found 7; put it in"),
    (TEA, 1, "id: tea_coffee", "id: Tea-Coffee", "lower-case letters, digits"),
    (TEA, 4, "Tea and coffee", '"two\\nlines"', "expected one line"),
    (WORDED, 15, "{A stimulus} at", "Somebody at",
     "the template lacks the placeholder '{stimulus}'"),
    (WORDED, 15, "{A stimulus} at", "{A stimulus} {group} at", "unknown placeholder '{group}'."),
    (WORDED, 15, "{A stimulus} at", "{a a stimulus} at", "unknown placeholder '{a stimulus}'."),
    (WORDED, 15, "{A stimulus} at", "{A stimulus} at" + "{a|b}" * 300,
     "makes more than a billion prompts for each word, but at most 100 are allowed"),
    (WORDED, 15, "{A stimulus} at", "{A stimulus} at" + "{a|b}" * 7, "makes 128 prompts"),
    (WORDED, 16, "{A attribute}", "{A atribute}",
     "unknown placeholder '{atribute}'. Did you mean 'attribute'?"),
    (WORDED, 15, "{A stimulus} at work", "A photo of {a stimulus}",
     "the wording 'A photo of {a stimulus}' is given more than once"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "old", "new", "message"), ONE_PROBLEM)
def test_one_problem_is_one_line(
    text: str, line: int, old: str, new: str, message: str, tmp_path: Path
) -> None:
    ((found, said),) = errors(tmp_path, spoil(text, (old, new)))
    assert found == line and message in said


def test_an_alias_bomb_is_refused_without_being_built(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)
    )
    found = errors(tmp_path, bomb)
    assert {message for _, message in found} == {
        "anchors and aliases (& and *) are not allowed"
    }


def test_of_very_many_problems_the_first_are_listed(tmp_path: Path) -> None:
    unknown = "".join(
        f"  - {{name: s{number}, stimuli: [x{number}, y{number}]}}\n"
        for number in range(1000)
    )
    for text in (
        spoil(JOBS, ("groups:", f"sets:\n{unknown}groups:")),
        TEA + "".join(f"key{number}: 1\n" for number in range(1000)),
        TEA + "? [a]\n" * 50 + "5: a\n6: a\n" * 500,
    ):
        found = errors(tmp_path, text)
        assert len(found) == 101
        assert "has more problems than these 100" in found[-1][1]


TIBET = """\
id: lengths
version: 1
method: tibet
title: Lengths
description: Counterfactuals that are longer than their prompts.
citation: Nobody (2026).
prompts:
"""


def long_counterfactuals(count: int) -> str:
    """A task with twice as many warnings as prompts."""
    return TIBET + "".join(
        f"""\
- prompt: a photo of person {number}
  axes:
  - name: hair
    counterfactuals:
    - {{name: long, prompt: "a photo of long person {number} of a b c d e"}}
    - {{name: curly, prompt: "a photo of curly person {number} of a b c d e"}}
"""
        for number in range(count)
    )


def test_however_many_warnings_refuse_no_task(tmp_path: Path) -> None:
    assert len(warnings(tmp_path, long_counterfactuals(50))) == 100
    found = warnings(tmp_path, long_counterfactuals(200))
    assert len(found) == 101
    assert "has more warnings than these 100" in found[-1][1]


def test_however_many_warnings_hide_no_error(tmp_path: Path) -> None:
    text = long_counterfactuals(200)
    last = "a photo of curly person 199 of a b c d e"
    task, problems = load(tmp_path, spoil(text, (last, "a photo of person 199")))
    assert task is None
    assert problems[0].message == "the counterfactual is the prompt itself"
    assert [problem.warning for problem in problems] == [False, *[True] * 101]


def test_however_many_warnings_hide_none_that_prevents_a_run(tmp_path: Path) -> None:
    wordings = "".join(
        f"""\
    - neutral: "A photo {number} of a {{stimulus}}"
      guided: "A photo {number} of {{attribute}} {{stimulus}}"
"""
        for number in range(150)
    )
    german = """\
    - neutral: "Ein Foto von dem {stimulus}"
      guided: "Ein Foto von dem {attribute} {stimulus}"
"""
    more = f"  paraphrases:\n{wordings}{german}reference:\n"
    task, problems = load(tmp_path, spoil(JOBS, ("reference:\n", more)))
    assert task is not None, problems
    assert len(task.refused) == 1 and "reads as German" in task.refused[0].message
    assert len(problems) == 102


def test_a_similar_name_is_looked_for_a_few_times_in_a_wording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for = []

    def counted(name: str, options: object) -> str:
        looked_for.append(name)
        return f" Did you mean '{name}'?"

    monkeypatch.setattr(checks, "did_you_mean", counted)
    misspelt = ", ".join(f"enginer{number}: x" for number in range(90))
    choices = "|".join(f"c{number}" for number in range(90))
    more = f"""\
  paraphrases:
    - neutral: "A {{{choices}}} photo of {{a stimulus}}"
      guided: "A {{attribute}} {{stimulus}} at work"
      words: {{{misspelt}}}
reference:
"""
    found = errors(tmp_path, spoil(JOBS, ("reference:\n", more)))
    assert [message.partition(".")[0] for _, message in found] == [
        f"the task has no word 'enginer{number}'" for number in range(90)
    ]
    assert looked_for == [f"enginer{number}" for number in range(5)]


def test_alternatives_of_wordings_are_compared_with_each_other(tmp_path: Path) -> None:
    more = """\
  paraphrases:
    - neutral: "A {sketch|drawing|photo} of {a stimulus}"
      guided: "A {attribute} {stimulus} at work"
reference:
"""
    ((_, message),) = errors(tmp_path, spoil(JOBS, ("reference:\n", more)))
    assert message == "the wording 'A photo of {a stimulus}' is given more than once"


def test_a_word_of_many_sets_is_named_with_the_first_of_them(tmp_path: Path) -> None:
    sets = "".join(
        f"  - {{name: s{number}, stimuli: [engineer, nurse]}}\n" for number in range(4)
    )
    found = errors(tmp_path, spoil(JOBS, ("groups:", f"sets:\n{sets}groups:")))
    assert [message for _, message in found] == [
        f"s0 and s{number} share words: 'engineer', 'nurse'" for number in (1, 2, 3)
    ]


# A file as a whole; libyaml itself recurses: without the check of depth it would end the process.
WHOLE: list[tuple[str | bytes, set[int | None], str]] = [
    *((opening * 200_000, {1}, "nest") for opening in ("[", "{a: ", "- ")),
    (TEA.replace("Nobody", "Näbody").encode("latin-1"), {None}, "is not UTF-8 text"),
    (TEA.replace("Nobody", "No\x00body"), {None}, "control characters"),
    *((text, {1}, "the file is empty") for text in ("", "# nothing but a comment\n")),
    *(
        (text, {1, 2}, "expected a mapping of keys to values")
        for text in ("---\n", "- a\n- b\n", "just text\n")
    ),
    (TEA + "---\n" + TEA, {19}, "expected a single document"),
    *(
        (
            TEA.replace("id: tea_coffee", f"id: {name}"),
            {1},
            f"'{name}' names a choice of tasks",
        )
        for name in ("all", "weat", "t2iat", "openbias")
    ),
]


@pytest.mark.parametrize(("text", "lines", "message"), WHOLE, ids=range(len(WHOLE)))
def test_a_file_that_is_wrong_as_a_whole(
    text: str | bytes, lines: set[int | None], message: str, tmp_path: Path
) -> None:
    ((line, said),) = errors(tmp_path, text)
    assert line in lines and message in said


def test_utf8_with_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    task, problems = load(
        tmp_path, b"\xef\xbb\xbf" + TEA.replace("\n", "\r\n").encode()
    )
    assert task is not None, problems
    assert task.spec.title == "Tea and coffee"


def test_a_folder_named_like_a_file_and_an_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for name in ("folder.yaml", "absent.yaml"):
        (problem,) = read_yaml(tmp_path / name).problems
        assert "cannot be read" in problem.message


SEVERAL: list[tuple[str, list[tuple[str, str]], list[int]]] = [
    (JOBS, [("shares:", "hares:")], [14, 17]),  # one is missing, and one unknown
    (TEA, [("version: 1", "version: 1\nid: again"), ("[benign]", "!!set {benign}"),
           ("pairing: cycle", "pairing: cycle\noff: 1")], [3, 8, 19]),
    (TEA, [("version: 1\n", "version: one\n"), ("tags: [benign]", "tag: [benign]"),
           ("[oolong, assam]", "flower")], [2, 7, 9]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "edits", "lines"), SEVERAL)
def test_one_problem_does_not_hide_the_others(
    text: str, edits: list[tuple[str, str]], lines: list[int], tmp_path: Path
) -> None:
    found = [line for line, _ in errors(tmp_path, spoil(text, *edits))]
    assert sorted(map(int, filter(None, found))) == sorted(lines)


@pytest.mark.parametrize(
    ("taken", "by"), [("tea_coffee", "{folder}/one.yaml"), ("mcas_sports", "")]
)
def test_an_id_that_is_taken(taken: str, by: str, tmp_path: Path) -> None:
    text = spoil(TEA, ("tea_coffee", taken))
    if by:
        load(tmp_path, text, "one.yaml")
    load(tmp_path, "# the same id again\n" + text, "two.yaml")
    with pytest.raises(TaskFileError) as caught:
        load_tasks(taken, [tmp_path])
    (problem,) = caught.value.problems
    said = f"{tmp_path / 'two.yaml'}:2: the id '{taken}' is used by "
    assert problem.startswith(said + by.format(folder=tmp_path))


UNIVERSITY = [
    ("engineer, nurse", "university teacher, nurse"),
    ("engineer:", "university teacher:"),
]
# A good file, what is replaced by what, and the line and the words of its one warning, if any.
WARNED: list[tuple[str, list[tuple[str, str]], int | None, str]] = [
    (JOBS, [("{a stimulus}", "a {stimulus}")], 12, "'a engineer'"),
    (JOBS, [("words: [male]", "words: [elderly]")], 13, "'a elderly'"),
    (WORDED, [("{A stimulus} at", "A {stimulus} at")], 15, "'A engineer'"),
    (JOBS, [*UNIVERSITY, ("{a stimulus}", "a {stimulus}")], None, ""),
    (JOBS, [(", nurse: 0.9", "")], 17, "no reference share for: 'nurse'"),
    (TEA, [("[oolong, assam]", "[oolong, assam, sencha]")], 8, "X has 3 words, Y has 2"),
    (TEA, [("[oolong, assam]", "[oolong, assam, sencha]"),
           ("pairing:", "expected_warnings: [unequal_sizes]\npairing:")], None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "edits", "line", "said"), WARNED)
def test_questionable_tasks_get_warnings_at_their_lines(
    text: str, edits: list[tuple[str, str]], line: int | None, said: str, tmp_path: Path
) -> None:
    found = warnings(tmp_path, spoil(text, *edits))
    assert [number for number, _ in found] == ([] if line is None else [line])
    assert all(
        said in message and "nurse'" not in message.replace(said, "")
        for _, message in found
    )


def test_bad_word_lists_are_reported(tmp_path: Path) -> None:
    def problems() -> str:
        with pytest.raises(TaskFileError) as caught:
            load_tasks("tea_coffee", [tmp_path])
        return str(caught.value)

    load(tmp_path, TEA)
    twice = "source: me\nlists:\n  teas: [oolong, oolong]\n  flowers: [rose]\n"
    load(tmp_path, f"{twice}  Bad: [x]\n", "stimuli/a.yaml")
    empty = "source: me\nlists: {empty: []}\n"
    shares = "references: {r: {source: me, share: {a: 1}, shares: {}}}\n"
    load(tmp_path, empty + shares, "stimuli/b.yaml")
    mint = "source: me\nlists:\n  teas:\n    - assam\n    - ' mint'\n"
    load(tmp_path, mint, "stimuli/c.yaml")
    text = problems()
    assert "a.yaml:5: " in text and "b.yaml:2: lists.empty: this is empty" in text
    assert "b.yaml:3: unknown key 'share'. Did you mean 'shares'?" in text
    assert "c.yaml:5: ' mint' is empty or has spaces around it" in text
    load(tmp_path, twice, "stimuli/a.yaml")
    (tmp_path / "stimuli" / "b.yaml").unlink()
    text = problems()
    assert "a.yaml:3: 'oolong' is in the list 'teas' twice" in text
    assert "a.yaml:4: the name 'flowers' is already used in " in text
    assert "c.yaml:3: the name 'teas' is already used in " in text


def test_an_id_that_is_a_group(tmp_path: Path) -> None:
    for file, name in (("drinks/a.yaml", "tea_coffee"), ("b.yaml", "drinks")):
        load(tmp_path, TEA.replace("tea_coffee", name), file)
    with pytest.warns(
        UserWarning, match="b.yaml:1: the id 'drinks' is also that of a group"
    ):
        load_tasks("tea_coffee", [tmp_path])
    (tmp_path / "b.yaml").unlink()  # an id may be that of its own folder
    load(tmp_path, TEA.replace("id: tea_coffee", "id: drinks"), "drinks/a.yaml")
    index, problems = build_index([tmp_path])
    assert problems == [] and [task.id for task in index.select(["drinks"])] == [
        "drinks"
    ]


UNSEEN = [
    "\\u202e",
    "\\0",
    "\\e[31m",
    "\\a",
    "\\u2066",
    "\\u200b",
    "\\u2028",
    "\\N",
    "\\r",
]


@pytest.mark.parametrize("character", UNSEEN)
@pytest.mark.parametrize(
    ("old", "line"),
    [("title: Tea and coffee", 4), ("citation: Nobody", 6), ("[oolong, assam]", 9)],
)
def test_text_that_misleads(
    character: str, old: str, line: int, tmp_path: Path
) -> None:
    key, colon, _ = old.partition(": ")
    new = f'{key}: "x{character}y"' if colon else f'[oolong, "x{character}y"]'
    full = next(row for row in TEA.splitlines() if old in row)
    found = errors(
        tmp_path, TEA.replace(full, full.replace(full if colon else old, new))
    )
    assert [number for number, _ in found] == [line]
    assert "not allowed" in found[0][1] and found[0][1].isprintable()


@pytest.mark.parametrize(
    "text",
    ["née Ørsted", "日本語", "می‌خواهم", "👩‍🔬 scientists", "עברית", '"two\\nlines"'],
)
def test_text_of_any_script_is_text_and_descriptions_have_lines(
    text: str, tmp_path: Path
) -> None:
    for old in ("Are teas nearer to warmth than coffees?", "Tea and coffee"):
        if "\\n" not in text or old.endswith("?"):
            task, problems = load(tmp_path, spoil(TEA, (old, text)))
            assert task is not None, problems


@pytest.mark.parametrize(
    "old",
    [
        "method: t2iat",
        "pairing: cycle",
        "id: tea_coffee",
        "tags: [benign]",
        "version: 1",
    ],
)
def test_a_value_of_1_mb_is_shown_in_short(old: str, tmp_path: Path) -> None:
    key = old.partition(":")[0]
    found = errors(tmp_path, TEA.replace(old, f"{key}: {'x' * 1_000_000}"))
    assert found and all(len(message) < 1500 for _, message in found)


GERMAN = spoil(
    JOBS,
    ('neutral: "A photo of {a stimulus}"', 'neutral: "Ein Foto von {a stimulus}"'),
    (
        'guided: "A photo of a {attribute} {stimulus}"',
        'guided: "Foto: {attribute} {stimulus}"',
    ),
)


def test_a_template_in_another_language_needs_its_language(tmp_path: Path) -> None:
    ((line, message),) = warnings(tmp_path, GERMAN)
    assert line == 12
    assert message.startswith(
        "this reads as German ('Ein', 'Foto', 'von'), but no 'language'"
    )
    assert "write 'language: de'" in message and "articles into the words" in message
    english = spoil(GERMAN, ("prompts:\n", "prompts:\n  language: en\n"))
    ((line, message),) = warnings(tmp_path, english)
    assert line == 13 and "the task says 'language: en'" in message
    meant = spoil(GERMAN, ("title: Jobs", "title: Jobs\nexpected_warnings: [language]"))
    assert warnings(tmp_path, meant) == []


def test_with_its_language_the_articles_have_to_be_written_out(tmp_path: Path) -> None:
    german = spoil(GERMAN, ("prompts:\n", "prompts:\n  language: de\n"))
    ((line, message),) = errors(tmp_path, german)
    assert line == 13 and "write the article into the words" in message
    assert warnings(tmp_path, spoil(german, ("{a stimulus}", "{stimulus}"))) == []


def test_a_paraphrase_has_the_language_of_the_first_wording(tmp_path: Path) -> None:
    more = '  paraphrases: [{neutral: "Bild von {a stimulus}", guided: "{attribute} {stimulus}"}]\n'
    german = spoil(
        GERMAN,
        ("prompts:\n", "prompts:\n  language: de\n"),
        ("{a stimulus}", "{stimulus}"),
    )
    ((line, message),) = errors(
        tmp_path, spoil(german, ("reference:\n", f"{more}reference:\n"))
    )
    assert line == 15 and "write the article into the words" in message


def test_words_in_another_language_need_the_language_too(tmp_path: Path) -> None:
    words = spoil(
        JOBS,
        ("stimuli: [engineer, nurse]", "stimuli: [ein Ingenieur, eine Pflegekraft]"),
        ('"A photo of {a stimulus}"', '"photo: {stimulus}"'),
        ("{engineer: 0.1, nurse: 0.9}", "{ein Ingenieur: 0.1, eine Pflegekraft: 0.9}"),
    )
    ((_, message),) = warnings(tmp_path, words)
    assert "such as 'ein Ingenieur', read as German" in message


def test_no_run_starts_in_a_language_that_its_task_does_not_name(
    tmp_path: Path,
) -> None:
    task, problems = load(tmp_path, GERMAN)
    assert task is not None and task.refused == tuple(problems)
    with pytest.raises(TaskFileError, match=r"task\.yaml:12: this reads as German"):
        raise_refused([task])


@pytest.mark.parametrize(
    ("language", "hint"), [("German", "'de'"), ("EN", "'en'"), ("Klingon", None)]
)
def test_a_language_is_a_tag(tmp_path: Path, language: str, hint: str | None) -> None:
    spoiled = spoil(JOBS, ("prompts:\n", f"prompts:\n  language: {language}\n"))
    ((line, message),) = errors(tmp_path, spoiled)
    assert line == 12 and f"'{language}' is no language tag" in message
    assert ("Did you mean" in message) == (hint is not None) and (hint or "") in message
