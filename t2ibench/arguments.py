"""Read and write arguments such as 'steps=30,guidance=7.5', and check them with pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.redaction import secret_argument

_CLOSING = {"[": "]", "(": ")", "{": "}"}
_BARE = re.compile(r"[\w.:/@+%~-]+")
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\])*)\1""", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_A = TypeVar("_A", bound="Arguments")


class Arguments(BaseModel):
    """Base class of an adapter's arguments, which converts text and rejects unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def given(self) -> dict[str, Any]:
        """Return the arguments that the user gave, converted, without the defaults."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


PositiveInt = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a text")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]


def parse_args(
    text: str, flag: str = "--model-args", example: str = "steps=30,guidance=7.5"
) -> dict[str, str]:
    r"""Return the arguments in a text such as 'steps=30,guidance=7.5', keyed by name.

    A comma inside brackets does not separate arguments. A value that begins with a quote ends with
    the same quote; inside, a backslash protects the next character.

    Examples:
        >>> parse_args('steps=30,negative_prompt="blurry, dark"')
        {'steps': '30', 'negative_prompt': 'blurry, dark'}
        >>> parse_args("negative_prompt=don't,steps=30")
        {'negative_prompt': "don't", 'steps': '30'}
    """
    args: dict[str, str] = {}
    for key, value in _parts(text, flag, example):
        if key in args:
            raise T2IBenchError(
                f"{flag}: '{shown(key)}' is given twice.", "Keep one of them."
            )
        args[key] = value
    if text.strip() and not args:
        raise _no_pair(text, flag, example)
    return args


def _no_pair(part: str, flag: str, example: str) -> T2IBenchError:
    return T2IBenchError(
        f"{flag}: '{shown(part)}' is not of the form key=value.",
        f"Write for example {flag} {example}",
    )


def _parts(text: str, flag: str, example: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        part = text[position:].partition(",")[0]
        if not part.strip():
            position += len(part) + 1
            continue
        key, equals, _ = part.partition("=")
        if not equals or not key.strip():
            raise _no_pair(part.strip(), flag, example)
        value, position = _value(text, position + len(key) + 1, flag, key.strip())
        yield key.strip(), value


def _value(text: str, start: int, flag: str, key: str) -> tuple[str, int]:
    """Return the value that begins at `start`, and the position of the next argument."""

    def problem(end: int, what: str, hint: str) -> T2IBenchError:
        return T2IBenchError(
            f"{flag}: {shown(key)}={shown(text[start:end])}: {what}.", hint
        )

    start = len(text) - len(text[start:].lstrip())
    if text[start : start + 1] in {'"', "'"}:
        match = _QUOTED.match(text, start)
        if match is None:
            raise problem(len(text), "a quote is not closed", "Close it.")
        end = match.end() + len(text[match.end() :].partition(",")[0])
        if text[match.end() : end].strip():
            hint = 'Quote the whole value; inside, write a quote as \\" and a backslash as \\\\.'
            raise problem(end, "text follows the closing quote", hint)
        return _ESCAPED.sub(r"\1", match[2]), end + 1
    brackets: list[str] = []
    end = start
    while end < len(text) and (brackets or text[end] != ","):
        if text[end] in _CLOSING:
            brackets.append(_CLOSING[text[end]])
        elif brackets and text[end] == brackets[-1]:
            brackets.pop()
        end += 1
    if brackets:
        hint = f'Close it, or quote the value: {key}="…".'
        raise problem(end, "a bracket is not closed", hint)
    return text[start:end].strip(), end + 1


def format_args(args: Mapping[str, str]) -> str:
    r"""Return arguments as text that `parse_args` reads back unchanged.

    Examples:
        >>> format_args({"steps": "4", "negative_prompt": "blurry, dark"})
        'negative_prompt="blurry, dark",steps=4'
    """
    return ",".join(f"{key}={_quote(value)}" for key, value in sorted(args.items()))


def _quote(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_args(
    model: type[_A], args: Mapping[str, Any], name: str, flag: str = "--model-args"
) -> _A:
    """Return an adapter's arguments, converted to their types and checked.

    Args:
        model: The class of the adapter's arguments.
        args: Arguments by name, as text or values.
        name: The adapter, as messages name it.
        flag: The option of the command line, for messages.

    Raises:
        T2IBenchError: an argument is unknown, missing, invalid, or a secret.
    """
    refuse_secrets(args, flag)
    try:
        return model(**args)
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        key = str(item["loc"][0]) if item["loc"] else ""
        names = [field.alias or name for name, field in model.model_fields.items()]
        if item["type"] == "extra_forbidden":
            raise T2IBenchError(
                f"{flag}: '{name}' has no argument '{shown(key)}'.{did_you_mean(key, names)}",
                f"It takes: {', '.join(sorted(names)) or 'none'}.",
            ) from None
        if item["type"] == "missing":
            raise T2IBenchError(
                f"{flag}: '{name}' needs the argument '{key}'."
            ) from None
        where = f"{key}={shown(args.get(key))}: " if key else ""
        raise T2IBenchError(f"{flag}: {where}{expected(item)}") from None


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list of names",
    "dict": "arguments: a mapping, or text of the form k=v,k=v",
}


def expected(item: Any) -> str:
    """Return what pydantic expected instead of a value, as a clause for a message."""
    if item["type"] == "value_error":
        return str(item["ctx"]["error"])
    if item["type"] == "string_unicode":
        return (
            "expected text, but some bytes are no characters of this system's character set "
            "(with LC_ALL=C.UTF-8 it is UTF-8)"
        )
    type_name = _KINDS.get(item["type"].partition("_")[0])
    message = str(item["msg"]).replace("Input should be", "expected")
    return (
        f"expected {type_name}" if type_name else f"{message[:1].lower()}{message[1:]}"
    )


def one_of(*options: str) -> BeforeValidator:
    """Return a validator that accepts only these words, and suggests the nearest one."""

    def check(value: Any) -> Any:
        if value not in options:
            *others, last = options
            words = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(
                f"expected {words}.{did_you_mean(str(value), options)}".removesuffix(
                    "."
                )
            )
        return value

    return BeforeValidator(check)


def names_of(value: Any) -> Any:
    """Return names from a comma-separated text, a list or None, for pydantic to check.

    Examples:
        >>> names_of("a, b,by=c"), names_of(None)
        (('a', 'b,by=c'), ())
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = re.split(r",(?!by=|sheet=)", value)
    if isinstance(value, (list, tuple)):
        stripped = (name.strip() if isinstance(name, str) else name for name in value)
        return tuple(name for name in stripped if name != "")
    return value


def paths_of(value: Any) -> Any:
    """Return paths from a path or a list of paths, for pydantic to check."""
    if isinstance(value, (str, Path)):
        return (str(value),)
    if isinstance(value, (list, tuple)):
        return tuple(str(path) for path in value)
    return value


def args_of(value: Any, flag: str = "--model-args") -> Any:
    """Return arguments from a text, a mapping or None, for pydantic to check."""
    if value is None:
        return {}
    if isinstance(value, str):
        value = parse_args(value, flag)
    if isinstance(value, Mapping):
        refuse_secrets(value, flag)
        return {str(key): _text(item) for key, item in value.items()}
    return value


def _args_of_setting(value: Any, setting: Any) -> Any:
    return args_of(value, f"--{setting.field_name.replace('_', '-')}")


def refuse_secrets(args: Mapping[str, Any], flag: str) -> None:
    """Raise an error if arguments contain a secret, because they are stored, shown and sent."""
    name = secret_argument({str(key): value for key, value in args.items()})
    if name is not None:
        raise T2IBenchError(
            f"{flag}: {shown(name)}: arguments are stored with the run; no key may be among them.",
            "Put a key into the environment variable that api_key_env names, a password into the "
            "service's own.",
        )


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float, Path)) else value


def columns_of(value: Any) -> Any:
    """Return a table's headings keyed by role, from a text or a mapping, for pydantic to check.

    A text may be in brackets, so that it can be a value among arguments: columns=[image=Name].

    Examples:
        >>> columns_of("image=File name,prompt=Text"), columns_of("[image=Name]")
        ({'image': 'File name', 'prompt': 'Text'}, {'image': 'Name'})
    """
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in _CLOSING and text.endswith(_CLOSING[text[0]]):
            text = text[1:-1]
        return parse_args(text, "--columns", "image=Name,prompt=Text")
    return value


Columns = Annotated[dict[str, Text], BeforeValidator(columns_of)]
# Settings of several names, arguments or paths, as text or as values.
Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(names_of)
]
Args = Annotated[dict[str, str], BeforeValidator(_args_of_setting)]
Paths = Annotated[tuple[str, ...], BeforeValidator(paths_of)]
