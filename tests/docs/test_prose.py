"""The pages have plain sentences: forms that readers stumble over are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# A pattern, the kind of sentence that it finds, and the plainer form.
REFUSED = {
    # "p < .05" -> "p < 0.05"; tables of simulations may leave the zero out.
    "a number without its zero": r"(?<![\w.\\/…\]])\.\d",
    # A command in a block, and below it "prints the table." -> "This command prints the table."
    "a block of code as the subject": r"(?<=<code block>\n\n)"
    r"(?:prints|writes|makes|opens|runs|says|commits|installs|compares|lists|needs|"
    r"which|whose|that)\b",
    # "Of edits it names no number." -> "For edits, it prints no number."
    "a sentence that begins with 'Of a' thing": r"(?:(?<=[.:;] )|(?<=\n\n))Of "
    r"(?:a|an|the|edits|three|four)\b(?! (?:\d|\w+ images))",
    # "1 less the mean cosine" -> "1 minus the mean cosine"
    "less for minus": r"\b(?:1|one|score|mean|size of the second lean) less (?:the|that)\b",
    "told apart for distinguished": r"\btold apart\b",
    "go along for correlate": r"\bgo(?:es)? along (?:with|at)\b",
    "anew for again": r"\banew\b(?![^\[]*\]\()",
    "held against for compared with": r"\b(?:hold|holds|held) (?:\w+ )?against\b",
    "decides nothing for is inconclusive": r"\bdecides? nothing\b",
    "nobody looked for is unchecked": r"\bnobody looked\b",
    "what is left of": r"\bwhat is left of\b",
    "at hand for available": r"\b(?:at|to) hand\b(?! out)",
}


def prose(text: str) -> str:
    """The sentences of a page: without code, headings, tables, links' addresses and comments."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *(```|~~~).*?^ *\1", "<code block>", text, flags=re.M | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?: *\||#+ ).*$", "", text, flags=re.M)
    text = re.sub(r"``.*?``|`[^`]*`", "CODE", text)
    return re.sub(r"\]\([^)\s]*\)", "]", text)


def pages() -> list[str]:
    """The pages of the repository whose prose is held to the patterns."""
    paths = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "leaderboard" / "README.md",
    ]
    return sorted({path.relative_to(ROOT).as_posix() for path in paths})


@pytest.mark.parametrize("page", pages())
def test_no_sentence_has_a_refused_form(page: str) -> None:
    text = prose((ROOT / page).read_text(encoding="utf-8"))
    found = [
        f"{kind}: …{text[max(0, match.start() - 40) : match.end() + 40]}…"
        for kind, pattern in REFUSED.items()
        for match in re.finditer(pattern, text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("a number without its zero", "It is clear at p < .05 alone."),
        ("a number without its zero", "A lean of −.25 is small."),
        ("a block of code as the subject", "```\nt2ibench ls\n```\n\nprints a list."),
        (
            "a sentence that begins with 'Of a' thing",
            "It is so. Of edits it says none.",
        ),
        ("less for minus", "It is 1 less the mean cosine."),
        ("told apart for distinguished", "Both are told apart easily."),
        ("go along for correlate", "The leans go along with each other."),
        ("anew for again", "The page is written anew."),
        ("held against for compared with", "They are held against the statistics."),
        ("decides nothing for is inconclusive", "Such a test decides nothing."),
        ("nobody looked for is unchecked", "Images that nobody looked at count."),
    ],
)
def test_each_form_is_found_where_it_stands(kind: str, sentence: str) -> None:
    assert re.search(REFUSED[kind], prose(f"Title.\n\n{sentence}\n"))


@pytest.mark.parametrize(
    "sentence",
    [
        "The lean is 0.25, and `--effect .2` sets it.",
        "| 8 occupations | .05 | .94 |",
        "```\nt2ibench ls --times .2\n```\n\nThis command prints a list.",
        "See [the file](../docs/a.md) of version 1.5 and x.csv.",
        "Of 96 images of toy, 72 were equal.",
        "Fewer images are less than the limit.",
        "The interval holds.",
    ],
)
def test_plain_sentences_and_code_are_allowed(sentence: str) -> None:
    text = prose(f"Title.\n\n{sentence}\n")
    assert [kind for kind, pattern in REFUSED.items() if re.search(pattern, text)] == []
