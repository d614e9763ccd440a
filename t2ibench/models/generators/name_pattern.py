"""Read prompts from names of image files by a pattern such as '{prompt}_{index}.png'."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.file_names import composed

_FIELD = re.compile(r"\{([^{}]*)\}")
_NUMBERS = ("index", "seed")
_EXAMPLE = "'{prompt}_{index}.png'"


@dataclass(frozen=True, slots=True)
class NamedImage:
    """The prompt, index and seed in the name of an image file."""

    prompt: str
    index: int | None
    seed: int | None


class NamePattern:
    """Reads the prompt of an image from its name.

    '{prompt}' is a text, '{index}' and '{seed}' are whole numbers; any other field is ignored. A
    pattern without '/' matches the file name, in any sub-folder; one with '/' matches the path
    below the folder. Case is ignored.

    Examples:
        >>> NamePattern("{prompt}_{index}.png").read("a_nurse_at_work_2.PNG")
        NamedImage(prompt='a nurse at work', index=2, seed=None)
    """

    def __init__(self, pattern: str) -> None:
        pattern = composed(pattern.strip().replace("\\", "/"))
        fields = [name.strip() for name in _FIELD.findall(pattern)]
        literal = _FIELD.sub("", pattern)
        if "prompt" not in fields or "{" in literal or "}" in literal:
            raise T2IBenchError(
                f"The pattern '{shown(pattern)}' has no field {{prompt}}, or a brace alone.",
                f"Such as {_EXAMPLE}; {{index}} and {{seed}} are numbers, others are ignored.",
            )
        for name in ("prompt", *_NUMBERS):
            if fields.count(name) > 1:
                raise T2IBenchError(
                    f"The pattern '{shown(pattern)}' has {{{name}}} twice.",
                    "Give what is to be ignored another name, such as {model}.",
                )
        self.text = pattern
        self._whole_path = "/" in pattern
        self._expression = re.compile(_expression(pattern), re.IGNORECASE)

    def read(self, name: str) -> NamedImage | None:
        """Return the prompt, index and seed in the path of an image; None if it does not match."""
        path = composed(name.replace("\\", "/"))
        if not self._whole_path:
            path = PurePath(path).name
        match = self._expression.fullmatch(path)
        if match is None:
            return None
        fields = match.groupdict()
        prompt = " ".join(fields["prompt"].replace("_", " ").split())
        if not prompt:
            return None
        return NamedImage(
            prompt, _number(fields.get("index")), _number(fields.get("seed"))
        )


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _expression(pattern: str) -> str:
    """Return the pattern as a regular expression, which accepts any suffix if none is given."""
    parts = []
    position = 0
    for field in _FIELD.finditer(pattern):
        parts.append(re.escape(pattern[position : field.start()]))
        name = field[1].strip()
        if name in _NUMBERS:
            parts.append(rf"(?P<{name}>[0-9]{{1,18}})")
        elif name == "prompt":
            parts.append("(?P<prompt>[^/]+)")
        else:
            parts.append("[^/]*?")
        position = field.end()
    parts.append(re.escape(pattern[position:]))
    if "." not in pattern[position:]:
        parts.append(r"\.[A-Za-z]{3,5}")
    return "".join(parts)
