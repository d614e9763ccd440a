"""Prompt templates and their articles."""

from __future__ import annotations

import pytest

from t2ibench.methods.core.prompts import article, fill, placeholders, wrong_articles

ARTICLES = {
    "an": "engineer artist elderly umbrella uncle ugly unidentified unimportant uninvited usher "
    "urban hour honest heir honourable MRI FBI X-ray M16 NGO émigré 8-year-old 80-year-old "
    "11-year-old 18-year-old A-level",
    "a": "nurse university unicorn uniform union European used user usual useful utopia utility "
    "Ukrainian Ugandan urologist ukulele ubiquitous one-legged once-famous house CEO UFO T-shirt "
    "NASA 10-year-old 110-year-old",
}


@pytest.mark.parametrize("expected", ARTICLES)
def test_article(expected: str) -> None:
    words = ARTICLES[expected].split()
    assert {word: article(word) for word in words} == dict.fromkeys(words, expected)


@pytest.mark.parametrize(
    ("template", "words", "prompt"),
    [
        ("a photo of {stimulus}", {"stimulus": "a cat"}, "a photo of a cat"),
        ("photo of {a stimulus}", {"stimulus": "engineer"}, "photo of an engineer"),
        (
            "{a attribute} {stimulus}",
            {"attribute": "old", "stimulus": "man"},
            "an old man",
        ),
        ("{ stimulus }, { a stimulus }", {"stimulus": "ox"}, "ox, an ox"),
        ("{word} and {word}", {"word": "{word}"}, "{word} and {word}"),
        ("no placeholder", {"word": "x"}, "no placeholder"),
    ],
)
def test_fill(template: str, words: dict[str, str], prompt: str) -> None:
    assert fill(template, **words) == prompt


def test_placeholders_need_their_words() -> None:
    assert placeholders("{a stimulus}, { attribute } {}") == [
        "stimulus",
        "attribute",
        "",
    ]
    with pytest.raises(KeyError):
        fill("a {stimulus}", word="x")


@pytest.mark.parametrize(
    ("prompt", "wrong"),
    [
        ("a photo of a engineer", ["a engineer"]),
        ("An nurse and a artist", ["An nurse", "a artist"]),
        ("a university, an hour, a one-man band, an MRI of a European", []),
        ("data engineer, Panama artist", []),
    ],
)
def test_wrong_articles(prompt: str, wrong: list[str]) -> None:
    assert wrong_articles(prompt) == wrong
