"""Search for secrets whose characters may be in any notation, in time linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html.entities import html5

# Secrets of at least this length are found whatever their case.
_LONG = 12
# What may stand between the characters of a long secret.
_BETWEEN = r"[^\w%&\\]{0,3}?"
# Backslashes before an escaped character, doubled by every text within a text. A long run is read
# from its start alone, so that a million of them take no time; a backslash of the secret itself
# may come directly before a few. The two never match at the same place: else a character would be
# read in two ways, and n of them in 2 to the power of n ways before a search fails.
_SLASHES = r"(?:(?<!\\)\\+|(?<=\\)\\{1,16})"
# The end of a character in HTML, which is taken wherever it is there: it is no mark between two.
_END = "(?:;|(?!;))"
# What an escaped character of any notation begins with.
_ESCAPES = "%&\\"
# Characters of a secret that are compared before everything else: enough to be rare in a text.
_COMPARED = 4
# Characters that Python takes for the same as an ASCII letter where case does not count.
_OTHER_CASES = {"i": "\u0130\u0131", "k": "\u212a", "s": "\u017f"}
_ENTITIES: dict[str, list[str]] = {}
for _name, _character in html5.items():
    if len(_character) == 1 and _character.isascii():
        _ENTITIES.setdefault(_character, []).append(_name)


class SecretPattern:
    """Finds secrets, forwards and backwards, in any case and notation.

    The regular expression of a secret has a branch for every notation of every character, and
    is slow to fail. So the places where it is tried are found first: those at which the first
    characters of a secret stand, or an escaped one.

    Args:
        secrets: The secrets, the longest first; at least one.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        forms = [form for secret in secrets for form in _forms(secret)]
        self._pattern = re.compile(
            "|".join(_regular_expression(*form) for form in forms)
        )
        self._starts = _starts(forms)
        self.shortest = min(len(characters) for characters, _ in forms)

    def search(self, text: str) -> bool:
        """Return whether a text contains a secret."""
        return next(self._spans(text), None) is not None

    def hidden(self, text: str, mark: str) -> str:
        """Return a text with a mark in place of every secret."""
        return replaced(text, self._spans(text), mark)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets begin and end, as the regular expression alone would find them."""
        if self._starts is None:
            yield from (match.span() for match in self._pattern.finditer(text))
            return
        end = 0
        for start in self._starts.finditer(text):
            if start.start() < end:
                continue
            match = self._pattern.match(text, start.start())
            if match is not None:
                end = match.end()
                yield match.span()


def replaced(text: str, spans: Iterable[tuple[int, int]], mark: str) -> str:
    """Return a text with a mark in place of each of these spans, which are in order."""
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], mark]
        end = stop
    return "".join([*parts, text[end:]])


def _forms(secret: str) -> list[tuple[str, bool]]:
    """Return the characters of a secret in each order that is looked for, and if it is long.

    A long secret is found backwards, too, and without the marks that it has itself.
    """
    if len(secret) < _LONG:
        return [(secret, False)]
    letters = "".join(character for character in secret if character.isalnum())
    forms = [secret]
    if len(letters) >= _LONG:
        forms.append(letters)
    forms.append(secret[::-1])
    return [(form, True) for form in forms]


def _regular_expression(characters: str, is_long: bool) -> str:
    """Return a regular expression of characters in any notation.

    Those of a long secret are matched in any case and with marks between them.
    """
    nexts = [*characters[1:], ""]
    notations = [
        _notations(character, ";?" if following == ";" else _END, is_long)
        for character, following in zip(characters, nexts, strict=True)
    ]
    if is_long:
        return f"(?i:{_BETWEEN.join(notations)})"
    return "".join(notations)


def _starts(forms: Sequence[tuple[str, bool]]) -> re.Pattern[str] | None:
    """Return what matches the first character of every place where a secret can begin.

    It matches further places, too. Each of its branches begins with another character, for which
    Python searches at once. None where a secret begins with characters whose cases are not known
    here.
    """
    if not all(characters[:_COMPARED].isascii() for characters, _ in forms):
        return None
    patterns_after: dict[str, list[str]] = {}
    for characters, is_long in forms:
        pattern = _following(characters[1:_COMPARED], is_long)
        for first in _cases(characters[0], is_long):
            patterns_after.setdefault(first, []).append(pattern)
        for mark, escaped in _escaped(characters[0]):
            patterns_after.setdefault(mark, []).append(escaped)
    branches = [
        f"{re.escape(first)}(?={'|'.join(dict.fromkeys(expressions))})"
        for first, expressions in sorted(patterns_after.items())
    ]
    return re.compile("|".join(branches))


def _following(characters: str, is_long: bool) -> str:
    """Return what matches the next characters of a secret, up to one that is escaped."""
    pattern = ""
    for character in reversed(characters):
        literal = f"{_set(_cases(character, is_long))}{pattern}"
        pattern = f"{_BETWEEN if is_long else ''}(?:{_set(_ESCAPES)}|{literal})"
    return pattern


def _escaped(character: str) -> Iterator[tuple[str, str]]:
    """Yield each mark that can begin a character, and what follows the mark."""
    number = ord(character)
    yield "%", f"(?i:(?:25)*{number:02x})"
    names = [re.escape(name) for name in _ENTITIES.get(character, ())]
    numbers = [f"#0*{number}", f"#x0*{number:x}"]
    yield "&", f"(?i:(?:amp;)*(?:{'|'.join([*numbers, *names])}))"
    itself = re.escape(character) if character in '"\\/' else ""
    yield "\\", rf"[\\uxUX{itself}]"


def _cases(character: str, is_long: bool) -> str:
    """Return the characters that count as this one."""
    if not is_long:
        return character
    lower = character.lower()
    return "".join({character, lower, character.upper(), *_OTHER_CASES.get(lower, "")})


def _set(characters: str) -> str:
    """Return a regular expression of any one of these characters."""
    return f"[{''.join(map(re.escape, dict.fromkeys(characters)))}]"


def _notations(character: str, end: str, is_long: bool) -> str:
    """Return a regular expression of a character in any notation of URLs, HTML, and JSON.

    Args:
        character: The character.
        end: A regular expression of what ends it in HTML.
        is_long: Whether case does not count, so that names such as 'lt' and 'LT' are one.
    """
    number = ord(character)
    in_url = "".join(
        f"%(?:25)*{byte:02x}" for byte in character.encode("utf-8", "surrogatepass")
    )
    pair = character.encode("utf-16-be", "surrogatepass").hex()
    units = [pair[start : start + 4] for start in range(0, len(pair), 4)]
    notations = [
        re.escape(character),
        f"(?i:{in_url})",
        f"(?i:&(?:amp;)*#0*{number}{end})",
        f"(?i:&(?:amp;)*#x0*{number:x}{end})",
        "(?i:" + "".join(rf"{_SLASHES}u(?:0{{4}})?{unit}" for unit in units) + ")",
        rf"(?i:{_SLASHES}u\{{0*{number:x}\}})",
    ]
    if number < 256:
        notations.append(rf"(?i:{_SLASHES}x{number:02x})")
    names = _ENTITIES.get(character, [])
    if is_long:
        names = [*dict.fromkeys(name.lower() for name in names)]
    for name in names:
        if name.endswith(";") and name[:-1] in names:
            continue
        ending = "" if name.endswith(";") else end
        notations.append(f"&(?:amp;)*{re.escape(name)}{ending}")
    if character in '"\\/':
        notations.append(_SLASHES + re.escape(character))
    return f"(?:{'|'.join(notations)})"
