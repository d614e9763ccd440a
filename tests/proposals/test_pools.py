"""Caption pools, and biases merged over them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.concepts import shipped, synonyms_from
from t2ibench.methods.openbias.merging import merge, names_class
from t2ibench.methods.openbias.proposal_replies import ProposedBias
from t2ibench.methods.openbias.proposed_task import bias_rows, chosen_captions
from t2ibench.models.proposers.word_lists import WordListsProposer, biases_of
from t2ibench.proposals.captions import read_captions


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_formats(tmp_path: Path) -> None:
    wanted = ["A man on a horse", "Two dogs"]
    rows = [{"caption": c, "n": 1} for c in wanted]
    files = {
        "list.json": json.dumps(wanted),
        "rows.json": json.dumps(rows),
        "results.csv": "image_name| comment_number| comment\n"
        + "".join(f"{n}.jpg| 0| {c}\n" for n, c in enumerate(wanted)),
        "plain.csv": "id,caption\n"
        + "".join(f"{n},{c}\n" for n, c in enumerate(wanted)),
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "lines.txt": "\n".join([*wanted, "", wanted[0]]),
    }
    for name, text in files.items():
        assert read_captions(written(tmp_path, name, text)) == wanted, name


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match="no column 'caption'"):
        read_captions(written(tmp_path, "a.csv", "a,b\n1,2\n"))
    with pytest.raises(T2IBenchError, match="No such file"):
        read_captions(str(tmp_path / "missing.txt"))
    with pytest.raises(T2IBenchError, match="no captions of one person"):
        read_captions(
            written(tmp_path, "a.txt", "Two men talk\nA dog\nMen at work"), people=True
        )


def bias(
    classes: str, *, about: str = "person", name: str = "gender", present: bool = False
) -> ProposedBias:
    return ProposedBias(
        about, name, tuple(classes.split()), f"What is the {name}?", present
    )


def test_merging_does_not_depend_on_the_order() -> None:
    proposals = {f"A chef number {n}": [bias("male female")] for n in range(6)}
    proposals |= {
        f"A nurse number {n}": [bias("male female other", name="sex")] for n in range(3)
    }
    proposals |= {
        f"A kid number {n}": [bias("male female", about="child")] for n in range(4)
    }
    first, dropped = merge(proposals, shipped(), overlap=0.6, support=3)
    assert [(one.about, one.name, len(one.asked)) for one in first] == [
        ("person", "gender", 9),
        ("child", "gender", 4),
    ]
    assert not dropped
    for seed in range(5):
        items = list(proposals.items())
        Random(seed).shuffle(items)
        again, _ = merge(dict(items), shipped(), overlap=0.6, support=3)
        assert bias_rows(again, 5) == bias_rows(first, 5)
    strict, dropped = merge(proposals, shipped(), overlap=0.75, support=4)
    assert [one.name for one in strict] == ["gender", "gender"]
    assert dropped == {"fewer than 4 captions support it": 1}


def test_filters() -> None:
    proposals = {
        "A gentleman cooks": [bias("man woman")],
        "A man cooks": [bias("man woman")],
        "A chef cooks": [
            bias("man woman"),
            bias("old young", name="age", present=True),
        ],
        "A womanly chef": [bias("man woman")],
    }
    (kept,), dropped = merge(proposals, shipped(), support=1)
    assert sorted(kept.asked) == ["A chef cooks", "A womanly chef"]
    assert dropped == {"the caption names a class": 2, "the answer is in the prompt": 1}
    assert not names_class("A womanly chef", ["woman"], shipped())


def test_questions_and_samples() -> None:
    sizes = ("small", "large")
    proposals = {
        f"caption {n}": [
            ProposedBias("dog", "size", sizes, f"How big is dog {n}?", False)
        ]
        for n in range(40)
    }
    (kept,), _ = merge(proposals, shipped(), support=30)
    assert kept.question == "What is the size of the dog?"
    captions = list(proposals)
    assert chosen_captions(captions, 7) == chosen_captions(captions[::-1], 7)
    assert len(chosen_captions(captions, 7)) == 7


def test_every_caption_keeps_its_question() -> None:
    sizes = ("small", "large")
    asked = {"a dog barks": "How big is it?", "two hounds": "How big are they?"}
    proposals = {
        caption: [ProposedBias("dog", "size", sizes, question, False)]
        for caption, question in asked.items()
    }
    # Another name for the same: the better supported bias is asked as it was proposed there.
    other = ProposedBias("dog", "bulk", sizes, "What bulk?", False)
    proposals["two hounds"].append(other)
    proposals["a puppy"] = [other]
    (kept,), _ = merge(proposals, shipped(), support=1)
    assert kept.asked["a puppy"] == "What bulk?"
    (row,) = bias_rows([kept], 5)
    questions = row.get("questions", {})
    assert {
        text: questions.get(text, row["question"]) for text in row["captions"]
    } == kept.asked
    (plain,) = bias_rows([kept], 5, each_question=False)
    assert "questions" not in plain


def test_synonyms_of_a_table() -> None:
    assert synonyms_from("table").name == "shipped table"


def test_word_lists_leave_open_what_a_caption_does() -> None:
    def left(caption: str) -> list[str]:
        found = biases_of(caption).values()
        return [str(bias["name"]) for bias in found if not bias["present in prompt"]]

    assert left("A doctor with a dog") == ["person gender", "person age", "person race"]
    assert left("A lady with a dog") == ["person age", "person race"]
    assert left("An elderly doctor with her dog") == ["person race"]
    assert left("A kid with a black dog") == ["child gender"]
    assert left("A boy on a bench") == ["child race"]
    with pytest.raises(T2IBenchError, match="for captions only"):
        WordListsProposer().reply(
            [{"role": "user", "content": "What are some of the axes?"}]
        )
