"""Checks of words, templates, articles and languages that families of tasks share.

A check looks for problems of a task that its schema cannot express.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from t2ibench.errors import did_you_mean, nearest, shown
from t2ibench.methods.core.guided import GuidedPrompts, Wording
from t2ibench.methods.core.language_detection import (
    ENGLISH,
    ForeignText,
    foreign_text,
    foreign_words,
)
from t2ibench.methods.core.prompts import (
    alternatives,
    fill,
    placeholders,
    wrong_articles,
)
from t2ibench.methods.core.schema import Warned

Location = tuple[str | int, ...]
# Misspelt words of one wording for which a similar word is looked for; each takes a while.
_MOST_SUGGESTIONS = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a task file."""

    at: Location  # where in the file: keys and list positions from the top
    message: str  # what is wrong, what was expected, the nearest spelling
    warning: bool = False  # whether a run may go on all the same
    kind: Warned | None = None  # its name in `expected_warnings`, if it can be intended
    stops_run: bool = False  # whether no run may go on with this warning


def duplicates(words: Iterable[str], at: Location) -> Iterator[Finding]:
    """Yield one problem that lists the words given more than once, if there are any."""
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        yield Finding(
            at, f"words given more than once: {', '.join(map(repr, repeated))}"
        )


def overlap(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str], at: Location
) -> Iterator[Finding]:
    """Yield one problem that lists the words that two sets share, if any, ignoring case."""
    both = sorted({word.lower() for word in first} & {word.lower() for word in second})
    if both:
        yield Finding(
            at, f"{names[0]} and {names[1]} share words: {', '.join(map(repr, both))}"
        )


def overlaps(
    sets: Iterable[tuple[str, Sequence[str], Location]],
) -> Iterator[Finding]:
    """Yield a problem for each set whose words an earlier set has, too, ignoring case.

    A word that many sets have is named with the first of them alone: there may be thousands.

    Args:
        sets: Name and words of each set, and where it is in the file.
    """
    first_with: dict[str, tuple[str, Sequence[str]]] = {}
    for name, words, at in sets:
        spellings = dict.fromkeys(word.lower() for word in words)
        earlier = [first_with[word] for word in spellings if word in first_with]
        for other, other_words in dict(earlier).items():
            yield from overlap(other_words, words, (other, name), at)
        for word in spellings:
            first_with.setdefault(word, (name, words))


def sizes(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str], at: Location
) -> Iterator[Finding]:
    """Yield a warning if two sets of words are not of equal size."""
    if len(first) != len(second):
        yield Finding(
            at,
            f"{names[0]} has {len(first)} words, {names[1]} has {len(second)}; "
            "the published tests use sets of equal size",
            warning=True,
            kind="unequal_sizes",
        )


def two_sets(
    first: Sequence[str],
    second: Sequence[str],
    names: tuple[str, str],
    at: Location,
    key: str,
) -> Iterator[Finding]:
    """Yield a problem for repeated words, shared words and unequal sizes of two sets."""
    for words, name in zip((first, second), names, strict=True):
        yield from duplicates(words, (*at, name, key))
    yield from overlap(first, second, names, (*at, names[1]))
    yield from sizes(first, second, names, at)


def template(text: str, wanted: Sequence[str], at: Location) -> Iterator[Finding]:
    """Yield a problem for each missing or unknown placeholder and for unmatched braces.

    Examples:
        >>> [finding.message for finding in template("a photo", ["word"], ("templates", 0))]
        ["the template lacks the placeholder '{word}'"]
    """
    present = placeholders(text)
    meant = set()  # a misspelt placeholder is one problem, not two
    for name in present:
        if name not in wanted:
            meant.add(nearest(name, wanted))
            choices = ", ".join(f"'{{{placeholder}}}'" for placeholder in wanted)
            yield Finding(
                at,
                f"unknown placeholder '{{{shown(name)}}}'.{did_you_mean(name, wanted)} "
                f"Known: {choices}.",
            )
    for name in wanted:
        if name not in present and name not in meant:
            yield Finding(at, f"the template lacks the placeholder '{{{name}}}'")
    if text.count("{") != text.count("}"):
        yield Finding(at, "the template has an unmatched brace")


def articles(prompts: Iterable[str], at: Location) -> Iterator[Finding]:
    """Yield one warning that lists the wrong articles in prompts, such as 'a engineer'."""
    wrong = sorted({phrase for prompt in prompts for phrase in wrong_articles(prompt)})
    if wrong:
        message = (
            f"wrong article: {_some(wrong)}; '{{a stimulus}}' puts the right one in"
        )
        yield Finding(at, message, warning=True, kind="articles")


_WITH_ARTICLE = re.compile(r"\{\s*[aA]\s")


def article_language(
    template: str, words: Sequence[str], at: Location
) -> Iterator[Finding]:
    """Yield a warning if a template that seems not to be English adds English articles.

    Prompts that are given in full may be in any language.
    """
    foreign = foreign_text(template) or foreign_words(words)
    if foreign is not None and _WITH_ARTICLE.search(template):
        yield _of_language(
            f"this reads as {foreign.name} ({_some(foreign.signs)}), where '{{a …}}' puts an "
            "English article in: write the articles into the words",
            at,
        )


def _of_language(message: str, at: Location) -> Finding:
    """Return `message` as a warning about a prompt's language that prevents a run."""
    way_out = "If it is English, put 'language' into expected_warnings"
    return Finding(
        at, f"{message}. {way_out}", warning=True, kind="language", stops_run=True
    )


def _foreign_wording(
    wording: Wording,
    language: str | None,
    stimuli: Sequence[str],
    attributes: Sequence[str],
    at: Location,
) -> Iterator[Finding]:
    """Yield a warning if a wording that counts as English reads as another language."""
    for key, texts in _templates(wording).items():
        foreign = next(filter(None, map(foreign_text, texts)), None)
        if foreign is not None:
            yield _of_language(
                _without_language("this reads", foreign, language, wording), (*at, key)
            )
            return
    for words in (stimuli, attributes):
        foreign = foreign_words([wording.in_words(word) for word in words])
        if foreign is not None:
            what = f"the words of this wording, such as '{wording.in_words(words[0])}', read"
            yield _of_language(_without_language(what, foreign, language, wording), at)
            return


def _without_language(
    what: str, foreign: ForeignText, language: str | None, wording: Wording
) -> str:
    """Return the message that a wording reads as another language, and what to write."""
    declared = (
        f"the task says 'language: {language}'"
        if language
        else "no 'language' is given"
    )
    tag = (
        " or ".join(f"'language: {tag}'" for tag in foreign.languages)
        or "its 'language'"
    )
    remedy = f"write {tag} beside the templates"
    texts = [text for texts in _templates(wording).values() for text in texts]
    if any(map(_WITH_ARTICLE.search, texts)):
        remedy += ", and articles into the words: '{a …}' puts an English one in"
    return (
        f"{what} as {foreign.name} ({_some(foreign.signs)}), but {declared}: {remedy}"
    )


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - 4} more" if len(words) > 4 else ""
    return f"{', '.join(map(repr, words[:4]))}{more}"


def guided(
    prompts: GuidedPrompts,
    stimuli: Sequence[str],
    attributes: Sequence[str],
    guided_stimuli: Sequence[str] | None = None,
) -> Iterator[Finding]:
    """Yield each problem of a task's neutral and guided templates, in every wording.

    `guided_stimuli` are what guided prompts say for the stimuli; by default the same.
    """
    named = stimuli if guided_stimuli is None else guided_stimuli
    words = dict.fromkeys((*stimuli, *named, *attributes))
    earlier: dict[str, set[str]] = {"neutral": set(), "guided": set()}
    for number, wording in enumerate(prompts.wordings):
        at: Location = (
            ("prompts", "paraphrases", number - 1) if number else ("prompts",)
        )
        if prompts.templates:
            at = ("prompts", "templates", number)
        yield from _repeated(wording, earlier, at)
        language = prompts.language_of(wording)
        yield from _wording(wording, language, (stimuli, named), attributes, at)
        is_translated = wording.language not in (None, prompts.wordings[0].language)
        yield from _own_words(wording, words, is_translated, (*at, "words"))


def _repeated(
    wording: Wording, earlier: dict[str, set[str]], at: Location
) -> Iterator[Finding]:
    """Yield a problem for each template that an earlier wording has, too, and add the others.

    Args:
        wording: The wording.
        earlier: The neutral and the guided templates of the wordings before it.
        at: Where the wording is in the file.
    """
    for key, texts in _templates(wording).items():
        for text in texts:
            if text in earlier[key]:
                message = f"the wording '{shown(text)}' is given more than once"
                yield Finding((*at, key), message)
        earlier[key].update(texts)


def _templates(wording: Wording) -> dict[str, list[str]]:
    """Return a wording's neutral templates, one for each alternative, and its guided one."""
    neutral = list(dict.fromkeys(alternatives(wording.neutral)))
    return {"neutral": neutral, "guided": [wording.guided]}


def _own_words(
    wording: Wording, words: Collection[str], is_translated: bool, at: Location
) -> Iterator[Finding]:
    """Yield a problem for words that a wording should translate, or that the task does not have."""
    given = wording.words or {}
    untranslated = [word for word in words if word not in given]
    if untranslated and is_translated:
        message = (
            f"the language '{wording.language}' has no words for {_some(untranslated)}"
        )
        yield Finding(at, f"{message}; give them under 'words'")
    unknown = [word for word in given if word not in words]
    for number, word in enumerate(unknown):
        hint = did_you_mean(word, words) if number < _MOST_SUGGESTIONS else ""
        yield Finding((*at, word), f"the task has no word '{shown(word)}'.{hint}")


def _wording(
    wording: Wording,
    language: str | None,
    both: tuple[Sequence[str], Sequence[str]],
    attributes: Sequence[str],
    at: Location,
) -> Iterator[Finding]:
    """Yield each problem of the templates of a wording, with each of its alternatives."""
    stimuli, guided_stimuli = both
    templates = _templates(wording)
    wanted = {"neutral": ["stimulus"], "guided": ["stimulus", "attribute"]}
    problems = dict.fromkeys(
        finding
        for key, texts in templates.items()
        for text in texts
        for finding in template(text, wanted[key], (*at, key))
    )
    yield from problems
    if problems:
        return
    if (language or ENGLISH).split("-")[0] != ENGLISH:
        for key, texts in templates.items():
            if any(map(_WITH_ARTICLE.search, texts)):
                message = "'{a …}' puts an English article in; write the article into the words"
                yield Finding((*at, key), message)
        return
    foreign = list(_foreign_wording(wording, language, stimuli, attributes, at))
    yield from foreign
    if foreign:  # such a wording cannot be checked by English rules
        return
    for text in templates["neutral"]:
        prompts = (fill(text, stimulus=word) for word in stimuli)
        yield from articles(prompts, (*at, "neutral"))
    pairs = [(word, attributes[0]) for word in guided_stimuli]
    pairs += [(guided_stimuli[0], word) for word in attributes]
    yield from articles(
        (
            fill(wording.guided, stimulus=stimulus, attribute=attribute)
            for stimulus, attribute in pairs
        ),
        (*at, "guided"),
    )
