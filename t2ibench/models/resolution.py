"""Find the adapter that a user names: a registered name, or 'package.module:factory'."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import ConfigDict, create_model

from t2ibench.arguments import Arguments, read_args
from t2ibench.errors import T2IBenchError, failing, nearest, shown, visible
from t2ibench.models.adapter import Adapter, Alias, Listed, Request
from t2ibench.models.devices import check_device, dtype_name
from t2ibench.models.downloads import Download
from t2ibench.registry import Registry, is_target, load_target

T = TypeVar("T")
# Parameters of a factory that get their values from the request.
_FILLED_IN = ("source", "seed", "device", "dtype")
_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ResolvedAdapter(NamedTuple):
    """An adapter, and what follows the colon in the user's name for it."""

    adapter: Adapter[Any]
    source: str


def find_registered(registry: Registry[Any], spec: str) -> ResolvedAdapter | None:
    """Return the registered adapter that a name refers to; None if there is none."""
    name, colon, source = spec.partition(":")
    if name not in registry:
        return None
    adapter = as_adapter(registry.get(name), name)
    return (
        ResolvedAdapter(adapter, source)
        if adapter.takes(source if colon else None)
        else None
    )


def find_target(
    registry: Registry[Any], spec: str, *, recorded: bool = False
) -> ResolvedAdapter | None:
    """Return the adapter that 'package.module:factory' names; None if it is no such name."""
    scheme = spec.partition(":")[0]
    if not is_target(spec):
        return None
    if scheme in registry and ":" in as_adapter(registry.get(scheme), scheme).form:
        return None  # then the text is NAME:SOURCE, and names no module
    if recorded:
        raise T2IBenchError(
            f"'{spec}' names code, and it comes from a stored file, so it is not imported.",
            f"Install it as a plug-in (entry-point group {registry.group}) and run it by its name.",
        )
    package = scheme.partition(".")[0]
    is_missing = (
        package not in sys.modules and importlib.util.find_spec(package) is None
    )
    if is_missing and nearest(scheme, registry.names()):
        return None
    return ResolvedAdapter(as_adapter(load_target(spec), spec), "")


def as_adapter(value: Any, form: str) -> Adapter[Any]:
    """Return an adapter as it is; for a factory, an adapter that creates models with it."""
    if isinstance(value, Adapter):
        return value
    if not callable(value):
        raise T2IBenchError(
            f"'{form}' is a {type(value).__name__}, which cannot be called.",
            "Give an Adapter, or a function or class that makes the model.",
        )
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        raise T2IBenchError(
            f"'{form}' has no signature that Python can read."
        ) from None
    filled = [name for name in _FILLED_IN if name in parameters]
    if "source" in parameters and ":" not in form:
        required = parameters["source"].default is inspect.Parameter.empty
        form = f"{form}:SOURCE" if required else f"{form}[:SOURCE]"
    lines = (inspect.getdoc(value) or "").splitlines()

    def create(request: Request[Any]) -> Any:
        given = {
            name: getattr(request.args, name) for name in request.args.model_fields_set
        }
        return value(**given, **{name: getattr(request, name) for name in filled})

    return Adapter(
        create=create,
        form=form,
        description=lines[0] if lines else "",
        Args=_arguments_of(value, parameters, form),
    )


def _arguments_of(
    factory: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], form: str
) -> type[Arguments]:
    """Return the class of arguments that a factory's signature describes."""
    annotated = factory.__init__ if inspect.isclass(factory) else factory
    try:
        hints = typing.get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError):  # a name that only a type checker imports
        hints = {}
    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if parameter.kind not in _PLAIN or name in _FILLED_IN:
            continue
        required = parameter.default is inspect.Parameter.empty
        usual = (
            Any if required or parameter.default is None else type(parameter.default)
        )
        fields[name] = (hints.get(name, usual), ... if required else parameter.default)
    any_key = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in parameters.values()
    )
    config = ConfigDict(
        extra="allow" if any_key else "forbid",
        frozen=True,
        arbitrary_types_allowed=True,
    )
    base = type(
        "FactoryArguments",
        (Arguments,),
        {"model_config": config, "__module__": __name__},
    )
    try:
        return create_model("FactoryArguments", __base__=base, **fields)
    except (
        Exception
    ) as error:  # pydantic's own kinds: a reserved name, an unusable annotation
        raise T2IBenchError(
            f"'{form}': its arguments cannot be read from its signature: {error}"
        ) from None


def listed(
    registry: Registry[Any],
    aliases: Mapping[str, Alias] | None = None,
    behind: str = "",
) -> Iterator[Listed]:
    """Yield a row for every adapter in a registry, and for the aliases of adapter `behind`.

    An adapter that cannot be imported has a row with the error.
    """
    for name in registry:
        origin = registry.origin(name)
        try:
            adapter = as_adapter(registry.get(name), name)
            yield Listed(adapter.form, adapter.description, origin)
        except T2IBenchError as error:
            yield Listed(name, str(error), origin)
        for short, alias in (aliases or {}).items():
            if name == behind and short not in registry:
                yield Listed(short, alias.line(), "t2ibench", alias.facts())


def members_of(protocol: type) -> list[str]:
    """Return the names of a Protocol's members in the order of declaration."""
    methods = [
        name
        for name, value in vars(protocol).items()
        if callable(value) and name[0] != "_"
    ]
    return [*vars(protocol).get("__annotations__", {}), *methods]


def missing_members(value: object, protocol: type) -> list[str]:
    """Return the names of a Protocol's members that an object does not have."""
    return [name for name in members_of(protocol) if not hasattr(value, name)]


def resolve(
    registry: Registry[Any],
    spec: str,
    *,
    recorded: bool = False,
    others: Iterable[str] = (),
) -> ResolvedAdapter:
    """Return the adapter that a name refers to; raise T2IBenchError if there is none."""
    resolved = find_registered(registry, spec) or find_target(
        registry, spec, recorded=recorded
    )
    if resolved is None:
        kind, forms = registry.kind, ", ".join(row.form for row in listed(registry))
        raise T2IBenchError(
            f"Unknown {kind} '{shown(spec)}'.{closest(spec, registry, others)}",
            f"{kind.capitalize()}s: {forms}, package.module:factory; "
            f"`t2ibench ls {kind}s` says more.",
        )
    return resolved


def create(
    registry: Registry[Adapter[T]],
    protocol: Any,
    spec: str | T,
    args: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
    dtype: str | None = None,
    recorded: bool = False,
) -> T:
    """Create a model of a registry from its name, or check an object that is given instead."""
    kind = registry.kind
    if not isinstance(spec, str):
        return given_object(spec, protocol, kind, args)
    resolved = resolve(registry, spec, recorded=recorded)
    request = Request(
        spec=spec,
        source=resolved.source,
        args=read_args(resolved.adapter.Args, args or {}, spec, flag=f"--{kind}-args"),
        device=device,
        dtype=dtype,
        recorded=recorded,
    )
    model: T = made(resolved.adapter, request, protocol, kind)
    return model


def downloads_of(
    registry: Registry[Any], spec: str, args: Mapping[str, Any] | None = None
) -> Sequence[Download] | None:
    """Return what a model downloads from the hub; None if its adapter does not declare it."""
    resolved = resolve(registry, spec)
    if resolved.adapter.downloads is None:
        return None
    read = read_args(
        resolved.adapter.Args, args or {}, spec, flag=f"--{registry.kind}-args"
    )
    downloads: Sequence[Download] = resolved.adapter.downloads(
        Request(spec=spec, source=resolved.source, args=read)
    )
    return downloads


def cpu_weights_of(
    registry: Registry[Any], spec: str, device: str | None
) -> int | None:
    """Return the bytes of weights that an encoder or judge loads onto a CPU; None if unknown.

    A module that the name may name is not imported, and arguments are at their defaults.
    """
    resolved = find_registered(registry, spec)
    if resolved is None or resolved.adapter.cpu_weights is None:
        return None
    args = read_args(resolved.adapter.Args, {}, spec)
    request = Request(spec=spec, source=resolved.source, args=args, device=device)
    weights: int | None = resolved.adapter.cpu_weights(request)
    return weights


def imports_of(registry: Registry[Any], spec: str) -> tuple[str, ...]:
    """Return the modules that an encoder's adapter says it imports where it is loaded.

    A module that the name may name is not imported.
    """
    resolved = find_registered(registry, spec)
    return () if resolved is None else resolved.adapter.imports


def given_object(value: T, protocol: Any, kind: str, args: object = None) -> T:
    """Return a model given as an object, after checking its members; it takes no arguments."""
    name = getattr(value, "name", type(value).__name__)
    if args:
        raise T2IBenchError(
            f"'{name}' is an object; it does not take {kind} arguments."
        )
    return checked(value, protocol, kind, str(name))


def made(adapter: Adapter[T], request: Request[Any], protocol: Any, kind: str) -> T:
    """Return a model made by its adapter, after checking that it has its Protocol's members."""
    check_device(request.device)
    dtype_name(request.dtype)
    with failing(f"The {kind} '{shown(request.spec)}' cannot be made:"):
        value = adapter.create(request)
    return checked(value, protocol, kind, request.spec)


def checked(value: T, protocol: Any, kind: str, spec: str) -> T:
    """Return a model after checking that it has all members of its Protocol."""
    if isinstance(value, type):
        raise T2IBenchError(
            f"'{value.__name__}' is a class.", f"Give an object: {value.__name__}()."
        )
    missing = missing_members(value, protocol)
    if missing:
        article = "an" if kind[0] in "aeiou" else "a"
        words = ", ".join(f"'{name}'" for name in missing)
        raise T2IBenchError(
            f"{_origin(value, spec)} is not {article} {kind}: it has no {words}.",
            f"See {protocol.__module__}.{protocol.__name__}; `t2ibench check adapter` tries "
            "what each must do.",
        )
    given = getattr(value, "name", None)
    if not isinstance(given, str) or not given or visible(given) != given:
        raise T2IBenchError(
            f"{_origin(value, spec)} has the name {shown(repr(given))}.",
            "A name goes into files and terminals: expected a text without control characters.",
        )
    return value


def _origin(value: Any, spec: str) -> str:
    name = type(value).__name__
    return (
        f"'{name}'"
        if name == spec
        else f"'{spec}' gives an object of class {name}, which"
    )


def closest(spec: str, registry: Registry[Any], others: Iterable[str] = ()) -> str:
    """Return ' Did you mean …?' with the most similar known name; empty if none is similar."""
    scheme, colon, _ = spec.partition(":")
    suggestion = nearest(spec, [*registry.names(), *others]) or (
        nearest(scheme, registry.names()) if colon else None
    )
    if suggestion is None:
        return ""
    forms = [
        row.form for row in listed(registry) if row.form.startswith(f"{suggestion}:")
    ]
    if forms and spec == f"{suggestion}:":
        return f" Something has to follow: {forms[0]}."
    return f" Did you mean '{suggestion}{':' if forms else ''}'?"
