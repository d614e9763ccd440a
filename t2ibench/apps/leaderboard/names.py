"""Rules for names of models, so that none claims or resembles the name of another model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from t2ibench.models.generators import ALIASES, GENERATORS

LONGEST_NOTE = 2000  # characters of a sentence that names of others may stand in
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
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return "".join(map(_visible_letter, text))


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
