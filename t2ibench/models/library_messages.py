"""Handle the warnings that model libraries give when they load a model.

Every warning and log line of level WARNING is collected. Messages that mean a wrong result become
errors; those that a reader of the results should know go into the run's record and onto its pages;
harmless ones are dropped. `RULES` lists these kinds, with reasons. Messages that match no rule are
shown and recorded, so that none is dropped unread.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from t2ibench.errors import T2IBenchError, shown

Treatment = Literal["wrong", "recorded", "harmless"]


@dataclass(frozen=True, slots=True, order=True)
class LibraryMessage:
    """A warning of a library.

    Attributes:
        library: Its name.
        about: What was being loaded; empty if unknown.
        text: The warning, on one line.
    """

    library: str
    about: str
    text: str

    @property
    def line(self) -> str:
        """The library's message as a line for users."""
        about = f", while {shown(self.about)} was loaded" if self.about else ""
        return f"{self.library}{about}: {self.text}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for one kind of message: its treatment, the reason, and advice for users."""

    treatment: Treatment
    pattern: str
    reason: str
    next_step: str = (
        "Give the complete weights of this very architecture; what is downloaded in part has to be "
        "downloaded again."
    )

    def matches(self, text: str) -> bool:
        """Return whether a library's message matches this rule's pattern."""
        return re.search(self.pattern, text, re.IGNORECASE | re.DOTALL) is not None


# Messages that mean a wrong result.
_WRONG = (
    Rule(
        "wrong",
        r"LOAD REPORT.*\|\s*(MISSING|MISMATCH)\s*\|",
        "transformers: weights were initialised at random, because the file lacks them or has them "
        "in another shape.",
    ),
    Rule(
        "wrong",
        r"newly initialized|(were|was) not initialized from the model checkpoint",
        "diffusers, and transformers before 5: the same.",
    ),
    Rule(
        "wrong",
        r"No pretrained weights loaded|initialized (randomly|partially)",
        "open_clip: the same.",
    ),
    Rule(
        "wrong",
        r"checkpoint seems? corrupted",
        "transformers: tied weights are all missing.",
    ),
    Rule(
        "wrong",
        r"QuickGELU mismatch.*\(quick_gelu=False\) and pretrained",
        "open_clip: a network with GELU has weights that were trained with QuickGELU.",
        "Install another version: pip install -U open_clip_torch",
    ),
)
_HARMLESS = (
    Rule(
        "harmless",
        r"QuickGELU mismatch.*\(quick_gelu=True\) and pretrained",
        "open_clip: the tag does not say its activation function, so the architecture's stands, "
        "which the weights were trained with; the built network is checked in any case.",
    ),
    Rule(
        "harmless",
        r"\A(?!.*(ignor|no effect)).*(\bdeprecat|will be removed in|"
        r"will be the default behaviou?r in)",
        "Libraries announce how they will be called in future; the result of today is the same. "
        "An argument that is deprecated and already ignored is another matter.",
    ),
    Rule(
        "harmless",
        r"low[ _]cpu[ _]mem(ory)?[ _]usage|device_map.*memory",
        "It is about memory while weights are read.",
    ),
    Rule(
        "harmless",
        r"unauthenticated requests|hf_xet|cache-system uses symlinks|HF_TOKEN",
        "It is about the speed and storage of downloads.",
    ),
    Rule(
        "harmless",
        r"Keyword arguments \{('(requires_)?safety_checker': (None|False)(, )?)+\} are not",
        "diffusers: safety_checker=false was asked of a pipeline that has none.",
    ),
    Rule(
        "harmless",
        r"You have disabled the safety checker",
        "diffusers: it was asked for, and the settings of the run name it.",
    ),
    Rule(
        "harmless",
        r"Overwriting \S+ in registry",
        "timm: a plug-in registers a network a second time under its own name.",
    ),
    Rule(
        "harmless",
        r"LOAD REPORT(?!.*\|\s*(UNEXPECTED|UNUSED))",
        "transformers: nothing but tables of positions, which were stored once and are computed "
        "now (`_COMPUTED`, whose rows are removed before the rules are asked).",
    ),
    Rule(
        "harmless",
        r"config attributes \{'block_out_channels': [^}]*\} were passed to AutoencoderTiny",
        "diffusers: AutoencoderTiny saves this itself, and warns of it when it is read.",
    ),
    Rule(
        "harmless",
        r"Expected types for \w+: .*, got <class",
        "diffusers: the pipeline was saved with a part of another class than its annotation has; "
        "its own model_index.json names it.",
    ),
    Rule(
        "harmless",
        r"No LoRA keys associated to \S*Text\S* found",
        "diffusers: a LoRA of the denoiser alone, which is the usual kind; whether a LoRA fits at "
        "all, the generator counts.",
    ),
)
# Messages that readers should know, although the result may be right.
_RECORDED = (
    Rule(
        "recorded",
        r"LOAD REPORT.*\|\s*UNEXPECTED|were not used when initializing",
        "Weights in the file that the network has no place for: usual where a file holds more "
        "models than one, and a mistake where it was to be this one.",
    ),
    Rule(
        "recorded",
        r"LOAD REPORT.*\|\s*UNUSED",
        "transformers: the pooling layer of a BERT was initialised at random (`_POOLER`). No "
        "adapter reads it.",
    ),
    Rule(
        "recorded",
        r"not expected|will be ignored|unused",
        "Arguments without an effect.",
    ),
    Rule(
        "recorded",
        r"No LoRA keys associated to",
        "diffusers: a LoRA without anything for the network that makes the image.",
    ),
    Rule(
        "recorded",
        r"truncat|sequence length is longer",
        "Texts that are not read to their end.",
    ),
    Rule(
        "recorded",
        r"float16|bfloat16|float32|precision|dtype",
        "Numbers are rounded otherwise.",
    ),
    Rule(
        "recorded",
        r"mismatch|not supported|fall(ing)? ?back",
        "Something else than asked for.",
    ),
)
# The first rule that matches decides. Messages are matched after their colours are removed.
RULES = (*_WRONG, *_HARMLESS, *_RECORDED)
# Python's classes of warnings that announce changes or concern developers, which are harmless.
_ANNOUNCEMENTS: tuple[type[Warning], ...] = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ImportWarning,
    SyntaxWarning,
    ResourceWarning,
)
_OURS = "t2ibench"
_WITH_BARS = ("transformers", "diffusers")
# Functions of libraries, with a cache, that show a text only the first time in a process.
_ONLY_ONCE = (
    ("transformers.utils.logging", "warning_once"),
    ("accelerate.logging", "MultiProcessAdapter.warning_once"),
    ("torch._logging._internal", "warning_once"),
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_COMPUTED = re.compile(
    r"^.*(position_ids|rotary_emb\.inv_freq)\s*\|\s*UNEXPECTED.*$", re.MULTILINE
)
_POOLER = re.compile(r"^(.*\bpooler\.dense\.\w+\s*\|\s*)MISSING", re.MULTILINE)
_ROW = re.compile(
    r"^(\S.*?)\s*\|\s*(MISSING|MISMATCH|UNEXPECTED|CONVERSION|UNUSED)\s*\|",
    re.MULTILINE,
)
_REPORTED = re.compile(r"(\S+) LOAD REPORT from: (.*)")
_WIDTH = 400  # characters of a message that are shown
_NAMED = 3  # weights that a message names
_WORDS = {
    "MISSING": "missing, and initialised at random",
    "MISMATCH": "of another shape, and initialised at random",
    "UNEXPECTED": "in the file that it has no place for",
    "CONVERSION": "that could not be converted",
    "UNUSED": "initialised at random, and not used here",
}


def treatment_of(text: str) -> Treatment | None:
    """Return a message's treatment: 'wrong', 'recorded' or 'harmless'; None if no rule matches.

    Examples:
        >>> treatment_of("`torch_dtype` is deprecated! Use `dtype` instead!")
        'harmless'
    """
    rule = _rule_for(text)
    return None if rule is None else rule.treatment


def _rule_for(text: str) -> Rule | None:
    """Return the first rule that matches a library's message; None if none does."""
    plain = _plain(text)
    return next((rule for rule in RULES if rule.matches(plain)), None)


def _plain(text: str) -> str:
    """Return a library's message without colours and without rows of weights that are computed."""
    return _POOLER.sub(r"\1UNUSED", _COMPUTED.sub("", _COLOURS.sub("", text)))


class Journal:
    """The library messages of one run that a reader of its results should know.

    A journal gets the messages while it listens. Those of no run, such as of models that a program
    loads by itself, are shown on standard error, and enter no run's record.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: dict[LibraryMessage, None] = {}
        self._tell: Callable[[LibraryMessage], None] = print_to_stderr

    def add(self, message: LibraryMessage, *, tell: bool = True) -> None:
        """Store a message, and show it on its first occurrence."""
        with self._lock:
            is_new = message not in self._messages
            self._messages[message] = None
        if is_new and tell:
            self._tell(message)

    def messages(self) -> list[LibraryMessage]:
        """Return all libraries' messages so far, sorted."""
        with self._lock:
            return sorted(self._messages)

    def tell_by(self, tell: Callable[[LibraryMessage], None]) -> None:
        """Set the function that shows messages from here on."""
        self._tell = tell

    @contextmanager
    def listening(self, tell: Callable[[LibraryMessage], None]) -> Iterator[None]:
        """Get the messages of this process inside this context, and show them with `tell`."""
        before = self._tell
        self._tell = tell
        _listening.append(self)
        try:
            yield
        finally:
            _listening.remove(self)
            self._tell = before


def print_to_stderr(message: LibraryMessage) -> None:
    """Show a message as a line on standard error."""
    print(f"{_OURS}: {message.line}", file=sys.stderr)


# The journals that listen: that of no run, and those of runs that have begun and not ended. The
# last of them gets the messages.
_listening: list[Journal] = [Journal()]


def journal() -> Journal:
    """Return the journal that gets the messages now: that of the run at work, if there is one."""
    return _listening[-1]


@contextmanager
def collect_messages(
    about: str = "", *, expected: Sequence[str] = ()
) -> Iterator[None]:
    """Turn library warnings inside this context into errors, record them, or ignore them.

    Args:
        about: What is loaded, as the user named it.
        expected: Patterns of messages about something intended, such as random weights.

    Raises:
        T2IBenchError: a library says that the result would be wrong.
    """
    _hide_progress_bars()
    collected: list[tuple[str, str]] = []
    try:
        with _collected_into(collected):
            yield
    except T2IBenchError:
        raise
    except Exception as error:
        wrong = [pair for pair in collected if treatment_of(pair[1]) == "wrong"]
        if wrong and not any(re.search(pattern, wrong[0][1]) for pattern in expected):
            raise _error(*wrong[0], about) from error
        raise
    for library, text in dict.fromkeys(collected):
        if any(re.search(pattern, text) for pattern in expected):
            continue
        treatment = treatment_of(text)
        if treatment == "wrong":
            raise _error(library, text, about)
        if treatment != "harmless":
            journal().add(LibraryMessage(library, about, summary(text)))


def summary(text: str) -> str:
    """Return a message on one line, with tables of weights shortened to counts and names.

    Examples:
        >>> summary("Keyword arguments  are not expected")
        'Keyword arguments are not expected'
    """
    plain = _plain(text)
    reported = _REPORTED.search(plain)
    if reported is None:
        return shown(" ".join(plain.split()), _WIDTH)
    weights: dict[str, list[str]] = {}
    for name, status in _ROW.findall(plain):
        weights.setdefault(status, []).append(name)
    parts = []
    for status in filter(weights.__contains__, _WORDS):
        names = weights[status]
        named = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        plural = "weight" if len(names) == 1 else "weights"
        parts.append(f"{len(names)} {plural} {_WORDS[status]} ({named})")
    return shown(f"{reported.group(1)}: {'; '.join(parts)}", _WIDTH)


def _error(library: str, text: str, about: str) -> T2IBenchError:
    what = f"'{shown(about)}'" if about else "A model"
    rule = _rule_for(text)
    return T2IBenchError(
        f"{what} would give wrong results, as {library} says: {summary(text).rstrip('.')}.",
        rule.next_step if rule else None,
    )


@contextmanager
def _collected_into(collected: list[tuple[str, str]]) -> Iterator[None]:
    """Collect warnings and log lines, each with its library, instead of printing them."""
    call_handlers = logging.Logger.callHandlers

    def collect(self: logging.Logger, record: logging.LogRecord) -> None:
        library = record.name.partition(".")[0]
        if library == _OURS:
            call_handlers(self, record)
        elif record.levelno >= logging.WARNING:
            if library == "root":  # open_clip, which logs without a name of its own
                library = _library_of(record.pathname)
            collected.append((library, record.getMessage()))

    # All loggers pass this method, so that those of libraries that are only imported now are
    # included, and no logger prints through a handler of its own.
    logging.Logger.callHandlers = collect  # type: ignore[method-assign]
    _forget_what_was_shown_once()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]
        collected += [
            (_library_of(warning.filename), str(warning.message))
            for warning in caught
            if not issubclass(warning.category, _ANNOUNCEMENTS)
        ]


def _forget_what_was_shown_once() -> None:
    """Have libraries show again what they show once in a process, as it is about another model.

    Python's own warnings need nothing: `catch_warnings` makes it forget what it has shown.
    """
    for module, path in _ONLY_ONCE:
        function: Any = sys.modules.get(module)
        for name in path.split("."):
            function = getattr(function, name, None)
        forget = getattr(function, "cache_clear", None)
        if forget is not None:
            forget()


def _library_of(path: str) -> str:
    """Return the name of the package to which a Python file belongs."""
    parts = Path(path).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts[:-1]:
            return parts[parts.index(folder) + 1].removesuffix(".py")
    return parts[-1].removesuffix(".py") if parts else "a library"


def _hide_progress_bars() -> None:
    """Hide progress bars of loading weights, but not those of downloads."""
    for library in _WITH_BARS:
        if sys.modules.get(library) is not None:
            importlib.import_module(f"{library}.utils.logging").disable_progress_bar()
