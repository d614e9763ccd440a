"""A registry of parts of one kind: methods, generators, encoders, judges, and so on.

An entry is a name and a target of the form 'package.module:attribute', imported when it is first
asked for. Installed packages add entries through entry points (group 't2ibench.<kind>s'), so
nothing has to be changed here to add one.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from t2ibench.errors import T2IBenchError, did_you_mean, first_line, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
_OWN = "t2ibench"
_TARGET = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def is_target(text: str) -> bool:
    """Return whether a text has the form 'package.module:attribute'.

    Examples:
        >>> is_target("my_package.models:create"), is_target("folder:my/pictures")
        (True, False)
    """
    return _TARGET.fullmatch(text) is not None


def load_target(target: str) -> Any:
    """Import the object that 'package.module:attribute' names, and return it."""
    module_name, _, path = target.partition(":")
    try:
        value = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise T2IBenchError(
            f"'{module_name}' cannot be imported: {type(error).__name__}: {first_line(error)}."
        ) from error
    for name in path.split("."):
        if not hasattr(value, name):
            attributes = [key for key in vars(value) if not key.startswith("_")]
            raise T2IBenchError(
                f"'{module_name}' has no '{name}'.{did_you_mean(name, attributes)}"
            )
        value = getattr(value, name)
    return value


class LazyModule:
    """Stands for a module, whose functions import it when they are first called.

    A string has no types, so give mypy and editors the import itself::

        if TYPE_CHECKING:
            from my_package import score as scoring
        else:
            scoring = LazyModule("my_package.score")

        METHOD = Method(..., needs=scoring.needs, score=scoring.score)

    mypy then compares the signatures of `needs` and `score` with what `Method` asks for, and at run
    time nothing is imported until one of them is called.

    Examples:
        >>> paths = LazyModule("posixpath")
        >>> paths.join("a", "b")
        'a/b'
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):  # copy, pickle and inspect look for these
            raise AttributeError(name)
        target = f"{self._module}:{name}"

        def call(*args: Any, **keywords: Any) -> Any:
            return load_target(target)(*args, **keywords)

        return call

    def __repr__(self) -> str:
        return f"LazyModule({self._module!r})"


class Registry(Generic[T]):
    """The parts of one kind, keyed by name; each is imported when it is first requested.

    Examples:
        >>> registry = Registry("joiner", {"path": "posixpath:join"})
        >>> registry.get("path")("a", "b")
        'a/b'
        >>> print(registry.unknown("paht"))
        Unknown joiner 'paht'. Did you mean 'path'? Joiners: path.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, str],
        hint: str | None = None,
        members: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self.group = f"{_OWN}.{kind}s"
        self._entries = dict(entries)
        self._hint = hint
        self._members = tuple(members)
        self._loaded: dict[str, T] = {}

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        """Entries of installed packages, keyed by name; the first package with a name counts."""
        from importlib.metadata import entry_points

        plugins: dict[str, EntryPoint] = {}
        for point in sorted(
            entry_points(group=self.group), key=lambda p: (p.name, p.value)
        ):
            if point.name not in self._entries:
                plugins.setdefault(point.name, point)
        return plugins

    def names(self) -> list[str]:
        """Return all names: t2ibench's own in their order, then those of other packages."""
        return [*self._entries, *self._plugins]

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._plugins

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def origin(self, name: str) -> str:
        """Return the name of the package that an entry comes from."""
        return _OWN if name in self._entries else _distribution(self._plugins[name])

    def get(self, name: str) -> T:
        """Return an entry, imported; raise T2IBenchError if it is unknown or broken."""
        if name not in self._loaded:
            if name not in self:
                raise self.unknown(name)
            target = (
                self._entries[name]
                if name in self._entries
                else self._plugins[name].value
            )
            try:
                entry = load_target(target)
                missing = [
                    member for member in self._members if not hasattr(entry, member)
                ]
                if missing:
                    raise TypeError(f"it has no {', '.join(missing)}")
                self._loaded[name] = cast(T, entry)
            except (Exception, SystemExit) as error:
                if name in self._entries:
                    raise
                raise T2IBenchError(
                    f"The {self.kind} '{name}' of {self.origin(name)} cannot be loaded: "
                    f"{type(error).__name__}: {first_line(error).rstrip('.')}.",
                    f"Repair or uninstall {self.origin(name)}.",
                ) from error
        return self._loaded[name]

    def unknown(self, name: str) -> T2IBenchError:
        """Return the error for an unknown name, with the nearest known one."""
        names = self.names()
        listed = f"{self.kind.capitalize()}s: {', '.join(names)}."
        return T2IBenchError(
            f"Unknown {self.kind} '{shown(name)}'.{did_you_mean(name, names)}",
            f"{listed} {self._hint}" if self._hint else listed,
        )

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield the name and the imported object of every entry."""
        for name in self.names():
            yield name, self.get(name)

    def add(self, name: str, target: str) -> None:
        """Add an entry with its target for this process, for notebooks and tests."""
        if name in self:
            raise ValueError(f"the {self.kind} '{name}' exists already")
        if not is_target(target):
            raise ValueError(
                f"'{target}' is not of the form 'package.module:attribute'"
            )
        self._entries[name] = target


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]
