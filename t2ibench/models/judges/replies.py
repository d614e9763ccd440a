"""Match a model's reply with one of the classes of the question."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.judges.class_words import class_named
from t2ibench.models.thinking import without_thinking

# Keys by which models name the answer in a JSON object that contains more than it.
_ANSWER_KEYS = (
    "answer",
    "final_answer",
    "class",
    "label",
    "choice",
    "category",
    "result",
)
_DEEPEST = 8  # levels of nested objects that are read
_MOST_OBJECTS = 50  # objects of one reply that are read
# A conclusion after reasons: 'Final answer: female', '\\boxed{female}'.
_CONCLUSION = re.compile(
    r"\\boxed\{(?P<boxed>[^{}\n]*)\}|\banswer\b[*_]*(?::|\s+is\b:?)[\s*_]*(?P<stated>[^\n]*)",
    re.IGNORECASE,
)
# A class that follows one of these in the same clause is negated.
_NEGATION = re.compile(
    r"\b(?:not(?! only\b)|no(?! doubt\b)|never|neither|nor|non|cannot|unable|without(?! doubt\b))\b"
    r"|\b(?:is|are|was|were|do|does|did|ca|could|would|should|wo)n['’]?t\b"
)
_CLAUSE_END = re.compile(r"[.,;:!?]|\bbut\b")


def instruction(question: str, classes: Sequence[str]) -> str:
    """Return the text that asks a language model a question, with its classes if it has some."""
    if not classes:
        return f"{question} Answer in a few words."
    options = "; ".join((*classes, UNKNOWN))
    return (
        f"{question}\nAnswer with exactly one of these, and nothing else: {options}.\n"
        f"Answer '{UNKNOWN}' if the image does not show it."
    )


def class_of(reply: str, classes: Sequence[str]) -> str:
    """Return the class that a reply names; 'unknown' if it names none or several.

    Understands a bare class, a sentence around it, quotes, fences, thoughts before it, reasons
    before an 'Answer:', and a JSON object that has the answer alone or beside its reasoning. A
    class that the reply negates does not count.

    Examples:
        >>> class_of("The person is Female.", ["male", "female"])
        'female'
        >>> class_of("either male or female", ["male", "female"])
        'unknown'
        >>> class_of("A man.", ["male", "female"])
        'male'
        >>> class_of('{"reasoning": "not male", "answer": "female"}', ["male", "female"])
        'female'
        >>> class_of("It is not a male.", ["male", "female"])
        'unknown'
        >>> class_of("Male or female? Answer: female", ["male", "female"])
        'female'
    """
    answer = without_thinking(reply)
    if answer is None:
        return UNKNOWN
    options = (*classes, UNKNOWN)
    text = _plain(_unwrapped(answer))
    conclusion = _plain(_concluded(answer)) if text == _plain(answer) else text
    for bare in (text, conclusion):
        option = class_named(bare, options)
        if option is not None:
            return option
    by_lower = {" ".join(name.lower().split()): name for name in options}
    named = _named(conclusion, by_lower)
    return by_lower[named.pop()] if len(named) == 1 else UNKNOWN


def _plain(text: str) -> str:
    """Return a reply in lower case, without punctuation around it and with single spaces."""
    return " ".join(text.strip().strip("\"'`*. \n").lower().split())


def _concluded(answer: str) -> str:
    """Return the conclusion of a reply that gives reasons first, or else all of the reply."""
    conclusions = list(_CONCLUSION.finditer(answer))
    if not conclusions:
        return answer
    last = conclusions[-1]
    return (last["boxed"] or last["stated"] or "").strip() or answer


def _named(text: str, classes: Iterable[str]) -> set[str]:
    """Return the classes that a text in lower case names, except those that it negates."""
    named = set()
    remainder = text
    # The longest first, so that 'female' is not also read as 'male'.
    for name in sorted(classes, key=lambda name: (-len(name), name)):
        pattern = rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
        if _is_affirmed(pattern, remainder):
            named.add(name)
        remainder = re.sub(pattern, " ", remainder)
    return named


def _is_affirmed(pattern: str, text: str) -> bool:
    """Return whether a text has a class at least once without a negation before it in its clause.

    Every clause is searched for a negation once, because a reply may have a million of them.
    """
    clauses = [0, *(end.end() for end in _CLAUSE_END.finditer(text)), len(text)]
    # Where the first negation ends, by clause.
    negated: dict[int, float] = {}
    for match in re.finditer(pattern, text):
        number = bisect_right(clauses, match.start(), hi=len(clauses) - 1) - 1
        if number not in negated:
            negation = _NEGATION.search(text, clauses[number], clauses[number + 1])
            negated[number] = inf if negation is None else negation.end()
        if match.start() < negated[number]:
            return True
    return False


def _unwrapped(reply: str) -> str:
    """Return the answer inside a JSON object such as {"answer": "male"}, or the reply itself."""
    for value in reversed(list(_objects(reply))):
        answer = _answer_in(value)
        if answer is not None:
            return answer
    return reply


def _objects(reply: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a reply, in their order."""
    decoder = json.JSONDecoder()
    start = reply.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):  # not JSON, or nested too deeply
            end = start + 1
        else:
            if isinstance(value, dict):
                yield value
        start = reply.find("{", end)


def _answer_in(value: Mapping[str, Any], depth: int = 0) -> str | None:
    """Return the answer in a JSON object, under a usual key or as the only value; else None."""
    by_name = {
        str(name).strip().lower().replace(" ", "_"): item
        for name, item in value.items()
    }
    only = [next(iter(value.values()))] if len(value) == 1 else []
    for item in (*(by_name[name] for name in _ANSWER_KEYS if name in by_name), *only):
        alone = item[0] if isinstance(item, list) and len(item) == 1 else item
        if isinstance(alone, Mapping):
            return _answer_in(alone, depth + 1) if depth < _DEEPEST else None
        if isinstance(alone, str | int | float):
            return str(alone)
    return None
