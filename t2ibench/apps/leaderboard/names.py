"""What a model may be called: nobody's name but its own, and no row that looks like another."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from t2ibench.models.generators import ALIASES, GENERATORS

LONGEST = 80
_PUNCTUATION = frozenset(" -_.,:/()+'&#%*=@~!")
# Scripts of everyday use (Unicode's UAX 31, table 5), as the names of their letters begin.
_SCRIPTS = frozenset(
    {
        *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "HEBREW", "ARABIC", "DEVANAGARI", "BENGALI"),
        *("GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA"),
        *("THAI", "LAO", "TIBETAN", "MYANMAR", "GEORGIAN", "HANGUL", "ETHIOPIC", "KHMER"),
        *("HIRAGANA", "KATAKANA", "BOPOMOFO", "CJK"),
    }
)
# Writing that is mixed by its nature: Japanese, Korean and Chinese, with Latin words in it.
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
)
_ALSO = {"IDEOGRAPHIC": "CJK", "KATAKANA-HIRAGANA": "KATAKANA"}
# Characters that show nothing, though Unicode calls them letters or symbols.
_EMPTY = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_CLAIMS = re.compile(r"reproduced|recomputed|verified|self.?reported")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
# What looks like an ASCII letter or digit. Capitals come first: Greek Η is H, but η is n.
_CAPITALS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕЗІЈКМНОРСТУХЅ", "abezhikmnoptyxabe3ijkmhopctyxs")
_LOOKS = str.maketrans(
    "αβγεηικνορστυχω" + "авбезіјкмнорстухѕьчԁԛԝһѵүӏ" + "օոսհցզյք" + "ɑɩʋøđħłŧ01i|!58ƨƽʒʓȝȣǃǀɸʘ",
    "abyenlkvopotuxw" + "ab6e3ljkmhopctyxsb4dqwhvyl" + "onuhgqjp" + "alvodhltollllsb2s333bllfo",
)
_LATIN = re.compile(
    r"LATIN (?:SMALL LETTER|CAPITAL LETTER|LETTER SMALL CAPITAL)(?: \w+)*? ([A-Z])\b"
)


def normalise(name: str) -> str:
    """A name in the one form that the leaderboard takes.

    Examples:
        >>> normalise(" ｓｄ  ① ")
        'sd 1'
    """
    return re.sub(" +", " ", unicodedata.normalize("NFKC", name)).strip(" ")


def visible(text: str, longest: int = 300) -> str:
    r"""Text of a stranger that is shown: nothing in it is hidden, reordered or endless.

    Examples:
        >>> print(visible("a\u202egpj\nb"))
        a\u202egpj\u000ab
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return "".join(letter if _prints(letter) else f"\\u{ord(letter):04x}" for letter in text)


def _prints(letter: str) -> bool:
    return letter == " " or (letter.isprintable() and letter not in _EMPTY)


def problems(
    name: str, model: str, model_args: Mapping[str, str] | None = None, revision: str | None = None
) -> Iterator[str]:
    """Why the leaderboard does not take a name for a model."""
    found = next(_form(name), None) or _borrowed(name, model)
    if found:
        yield f"the name '{visible(name, LONGEST)}' {found}"
    args = [text for pair in (model_args or {}).items() for text in pair]
    for text in (model, *args, revision or ""):
        if not all(map(_prints, text)):
            yield f"'{visible(text)}' of submission.json holds characters that do not print"
    if mixed := _mixture(model):
        yield f"the model '{visible(model)}' {mixed}"


def _form(name: str) -> Iterator[str]:
    """What is wrong with a name by itself, the worst first."""
    marks = "".join(sorted(_PUNCTUATION - {" "}))
    if not 1 <= len(name) <= LONGEST:
        yield f"has {len(name)} characters; 1 to {LONGEST} are accepted"
    for letter in name:
        kind = unicodedata.category(letter)
        if not _prints(letter) or kind.startswith(("C", "Zl", "Zp")):
            yield f"holds {_called(letter)}, which does not print"
        elif not (
            kind in {"Ll", "Lu", "Lo", "Lt", "Lm", "Mn", "Mc"}
            or (letter.isascii() and letter.isdigit())
            or letter in _PUNCTUATION
        ):
            yield f"holds {_called(letter)}; letters, digits, spaces and {marks} are accepted"
    if name != normalise(name):
        yield f"is not in its normal form; write '{visible(normalise(name))}'"
    if name and not (name[0].isalpha() or name[0].isdigit()):
        yield "does not begin with a letter or a digit"
    kinds = "".join(unicodedata.category(one)[0] for one in unicodedata.normalize("NFD", name))
    if "MMM" in kinds:
        yield "stacks accents on one letter"
    if mixed := _mixture(name):
        yield mixed
    if "//" in name or _CLAIMS.search(name.casefold()):
        yield "reads like an address or a verdict"


def _called(letter: str) -> str:
    return unicodedata.name(letter, f"U+{ord(letter):04X}")


def _mixture(text: str) -> str | None:
    """What is wrong with the scripts of a text."""
    first: dict[str, str] = {}
    for letter in text:
        if unicodedata.category(letter).startswith("L"):
            word = unicodedata.name(letter, "UNNAMED").split(" ")[0]
            first.setdefault(_ALSO.get(word, word), letter)
    strange = sorted(first.keys() - _SCRIPTS)
    if strange:
        return f"holds {_called(first[strange[0]])}, of a script that is not in everyday use"
    if len(first) > 1 and not any(first.keys() <= together for together in _TOGETHER):
        scripts = " and ".join(sorted(script.capitalize() for script in first))
        rare = next(letter for letter in first.values() if not letter.isascii())
        return f"mixes {scripts} letters ('{rare}' is {_called(rare)}); use one script"
    return None


def skeleton(text: str) -> str:
    """What a text looks like: two texts that can be confused have one skeleton.

    Case, accents and the kind of separators do not count, and letters that look like those of
    ASCII become them, in the way of Unicode's UTS 39.

    Examples:
        >>> skeleton("Tоy_Faır") == skeleton("toy fair")
        True
    """
    plain = unicodedata.normalize("NFKD", text.translate(_CAPITALS))
    bare = ""
    for letter in plain:  # a Latin letter without its strokes and hooks: 'ɡ' is SCRIPT G
        found = None if letter.isascii() else _LATIN.match(unicodedata.name(letter, ""))
        if not unicodedata.combining(letter):
            bare += found.group(1).lower() if found else letter
    looks = bare.casefold().translate(_LOOKS)
    for two, one in (("rn", "m"), ("vv", "w"), ("cl", "d")):
        looks = looks.replace(two, one)
    return re.sub(r"[\W_]+", "-", looks).strip("-")


def _compact(text: str) -> str:
    return skeleton(text).replace("-", "")


@cache
def _owners() -> dict[str, frozenset[str]]:
    """How well-known models are called, without separators, and what --model says for them."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for alias, model in ALIASES.items():
        given, names = {alias, f"diffusers:{alias}"}, {alias, model.description}
        if not isinstance(model.source, Path):
            given |= {model.source, f"diffusers:{model.source}"}
            names |= {model.source, model.source.rpartition("/")[2]}
        for name in names:
            owners[_compact(name)] |= given
    for kind in GENERATORS.names():
        owners[_compact(kind)].add(kind)
    return {name: frozenset(given) for name, given in owners.items()}


def _borrowed(name: str, model: str) -> str | None:
    """Whose name it is, where that is another model."""
    owners = _owners().get(_compact(name))
    if owners and model not in owners and model.partition(":")[0] not in owners:
        owner = min(owners, key=lambda given: (len(given), given))
        return f"belongs to the model {owner}, but the one that was run is {visible(model)}"
    source = str(ALIASES[model].source) if model in ALIASES else model
    if _HUB_ID.fullmatch(name) and _compact(name) != _compact(source.removeprefix("diffusers:")):
        return f"reads like a hub id, but the model that was run is {visible(model)}"
    return None


def twin(name: str, others: Mapping[str, str]) -> str | None:
    """Which row a name could be confused with."""
    mine = skeleton(name)
    return next((row for row, other in others.items() if skeleton(other) == mine), None)
