"""Rules for names of models, so that none claims or resembles the name of another model."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import singledispatch
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from t2ibench.models.generators import ALIASES, GENERATORS

LONGEST = 2000  # characters of any text of a submission
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,:/()+'&#%*=@~!-]{0,79}")
_CLAIMS = re.compile(r"//|reproduced|recomputed|verified|self.?reported", re.IGNORECASE)
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_LOOKS = str.maketrans("01i!58", "olllsb")  # characters that look like letters


def normalise(name: str) -> str:
    """Return a name with single spaces and none at its ends, as the leaderboard requires.

    Examples:
        >>> normalise(" sd  1 ")
        'sd 1'
    """
    return re.sub(" +", " ", name).strip(" ")


def visible(text: str, longest: int = 300) -> str:
    r"""Return untrusted text shortened, with its invisible characters written as escape codes.

    Examples:
        >>> print(visible("a\u202egpj\nb\U000e0041"))
        a\u202egpj\u000ab\U000e0041
    """
    return "".join(map(_visible_letter, shortened(text, longest)))


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return a text of at most so many characters; an ellipsis stands for what is cut."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


Part = TypeVar("Part")


def in_visible_words(part: Part) -> Part:
    """Return a part of a submission in whose texts nothing is hidden; numbers are unchanged.

    A part without hidden characters is returned as it is, and so is what is neither a text nor made
    of other parts, such as an array.
    """
    return cast(Part, _in_visible_words(part))


@singledispatch
def _in_visible_words(part: Any) -> Any:
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed = _changed(part, [field.name for field in fields(part)])
    return replace(part, **changed) if changed else part


@_in_visible_words.register(str)
def _text(part: str) -> str:
    is_plain = part.isascii() and part.isprintable() and len(part) <= LONGEST
    return part if is_plain else visible(part, LONGEST)


@_in_visible_words.register(list)
@_in_visible_words.register(tuple)
@_in_visible_words.register(set)
def _members(part: Any) -> Any:
    parts = [_in_visible_words(member) for member in part]
    # A tuple with names for its members is made by a method of its own.
    make = getattr(part, "_make", type(part))
    return part if all(map(operator.is_, part, parts)) else make(parts)


@_in_visible_words.register(dict)
def _mapping(part: dict[Any, Any]) -> dict[Any, Any]:
    keys = _members(list(part))
    values = _members(list(part.values()))
    is_same = all(map(operator.is_, [*part, *part.values()], [*keys, *values]))
    return part if is_same else dict(zip(keys, values, strict=True))


@_in_visible_words.register(BaseModel)
def _record(part: BaseModel) -> BaseModel:
    # Codes may make a text longer than a submission's may be: it is not checked again.
    changed = _changed(part, type(part).model_fields)
    return part.model_copy(update=changed) if changed else part


def _changed(part: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the members of a part whose texts had hidden characters, by their names."""
    members = {name: getattr(part, name) for name in names}
    visible_members = {
        name: _in_visible_words(member) for name, member in members.items()
    }
    return {
        name: member
        for name, member in visible_members.items()
        if member is not members[name]
    }


def _visible_letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def problems(
    name: str,
    model: str,
    model_args: Mapping[str, str] | None = None,
    revision: str | None = None,
) -> Iterator[str]:
    """Yield a message for each reason why the leaderboard rejects a name for a model."""
    problem = None
    if not _FORM.fullmatch(name) or name != normalise(name):
        problem = (
            "has to be 1 to 80 ASCII letters, digits, single spaces and simple signs"
        )
    elif _CLAIMS.search(name):
        problem = "reads like an address or a verdict"
    if problem := problem or _borrowed(name, model):
        yield f"the name '{visible(name, 80)}' {problem}"
    args = [text for pair in (model_args or {}).items() for text in pair]
    for text in (model, *args, revision or ""):
        if not text.isprintable():
            yield f"'{visible(text)}' of submission.json holds characters that do not print"
    if not model.isascii():
        yield f"the model '{visible(model)}' holds letters that are not ASCII"


def skeleton(text: str) -> str:
    """Return a simplified spelling of a name, equal for names that look alike.

    Examples:
        >>> skeleton("T0y_Fair") == skeleton("toy fair")
        True
    """
    looks = text.casefold().translate(_LOOKS)
    for pair, letter in (("rn", "m"), ("vv", "w"), ("cl", "d")):
        looks = looks.replace(pair, letter)
    return re.sub(r"[\W_]+", "-", looks).strip("-")


def _compact(text: str) -> str:
    return skeleton(text).replace("-", "")


def _borrowed(name: str, model: str) -> str | None:
    """Return a clause that names the other model to which a name belongs; else None."""
    mine = _compact(name)
    plain = model.removeprefix("diffusers:")
    owners = [
        (name_of_alias, str(alias.source), alias.description)
        for name_of_alias, alias in ALIASES.items()
    ]
    owners += [(kind, kind, kind) for kind in GENERATORS.names()]
    for owner, source, title in owners:
        called = {
            _compact(spelling)
            for spelling in (owner, source, source.rpartition("/")[2], title)
        }
        if mine in called and not {owner, source} & {plain, model.partition(":")[0]}:
            return f"belongs to the model {owner}, but the one that was run is {visible(model)}"
    source = str(ALIASES[plain].source) if plain in ALIASES else plain
    if _HUB_ID.fullmatch(name) and mine != _compact(source):
        return f"reads like a hub id, but the model that was run is {visible(model)}"
    return None


def lookalike(name: str, others: Mapping[str, str]) -> str | None:
    """Return the key in `others` whose name can be mistaken for `name`; None if there is none."""
    mine = skeleton(name)
    return next((row for row, other in others.items() if skeleton(other) == mine), None)
