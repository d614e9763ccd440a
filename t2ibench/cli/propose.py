"""`t2ibench propose`."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.arguments import Arguments, parse_args, read_args
from t2ibench.errors import T2IBenchError, TaskFileError

if TYPE_CHECKING:
    from t2ibench.methods.core.proposal import Proposal
    from t2ibench.models.proposers import Proposer
    from t2ibench.pipeline.progress import ConsoleReporter

_LICENCE = "Nobody has checked it: read, correct and cite it before you publish a score."
_MOST_PROBLEMS = 10
# Flags for what is asked about, and flags that a method takes where its settings have such a name.
_SUBJECT_FLAGS = {
    "captions": ("captions", "column", "split", "people"),
    "prompts": ("prompt", "prompts"),
}
_SETTING_FLAGS = ("overlap", "support", "per_bias", "tries")


def run(arguments: argparse.Namespace) -> int:
    """Ask a proposer and write a task file."""
    from t2ibench.models.proposers import create_proposer
    from t2ibench.models.protocols import ReportsWaits
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.proposals.proposal import proposal_of, propose

    proposal = proposal_of(arguments.method)
    output = Path(arguments.output)
    if output.suffix not in {".yaml", ".yml"}:
        raise T2IBenchError(f"--output {output}: expected a file that ends in .yaml.")
    if arguments.caption_by:
        _write_captions(arguments)
    images = _images_of(arguments, proposal)
    settings = _settings(arguments, proposal, len(images))
    subjects = _subjects(arguments, proposal)
    proposer = create_proposer(
        arguments.proposer,
        parse_args(arguments.proposer_args, "--proposer-args"),
        device=arguments.device,
        dtype=arguments.dtype,
    )
    replies = output.with_suffix(".replies.jsonl")
    reporter = ConsoleReporter()
    if isinstance(proposer, ReportsWaits):
        proposer.report_waits(reporter.say)
    unit = proposal.subjects
    with reporter.stage(f"Asking about {unit}", len(subjects), unit) as ticker:
        proposed, asked = propose(
            proposal, subjects, proposer, settings, replies=replies, advance=ticker.advance
        )
    _report(reporter, proposed.problems)
    for reason, count in proposed.dropped.items():
        reporter.say(f"Dropped {count}: {reason}.")
    if proposed.error is not None:
        raise proposed.error
    notes = {"notes": list(proposed.notes)} if proposed.notes else {}
    size = {"images_per_prompt": max(images.values())} if images else {}
    task = _head(arguments, output, proposer, proposal) | size | dict(proposed.body) | notes
    _write(output, task)
    reporter.say(f"Replies: {replies} ({asked} asked now)")
    flags = f"--include-path {shlex.quote(str(output.parent))} --tasks {task['id']}"
    if images:
        reporter.say(f"Task: {output}. Run it: t2ibench --model {arguments.captions} {flags}")
        reporter.say(
            "  with --judge answers:FILE, people's answers, or a model, which is downloaded: "
            "--judge qwen3-vl-4b."
        )
    else:
        reporter.say(f"Task: {output}; run it with {flags}")
    return 3 if proposed.failed else 0


def _write_captions(arguments: argparse.Namespace) -> None:
    from t2ibench.cli.caption import write_captions

    kind, _, folder = str(arguments.captions).partition(":")
    if kind != "folder":
        raise T2IBenchError(
            "--caption-by writes captions of images: it needs --captions folder:DIR.",
            "Captions of a file are read as they are: leave --caption-by out.",
        )
    write_captions(Path(folder), arguments)


def _images_of(arguments: argparse.Namespace, proposal: Proposal[Any]) -> Mapping[str, int]:
    """Prompt to its number of images, where captions are the prompts of a folder of images."""
    from t2ibench.proposals.captions import images_in

    if proposal.subjects != "captions" or not arguments.captions:
        return {}
    return images_in(arguments.captions) or {}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _settings(arguments: argparse.Namespace, proposal: Proposal[Any], prompts: int) -> Arguments:
    """The method's own settings, from its flags and from --method-args.

    Of a folder of images (`prompts` are how many it has), all prompts count by default.
    """
    known = proposal.Args.model_fields
    given: dict[str, Any] = {}
    for name in _SETTING_FLAGS:
        value = getattr(arguments, name)
        if value is not None and name not in known:
            takes = ", ".join(sorted(map(_flag, known))) or "none"
            raise T2IBenchError(
                f"'{arguments.method}' does not take {_flag(name)}.", f"Its settings: {takes}."
            )
        if value is not None:
            given[name] = value
    for name, text in parse_args(arguments.method_args, "--method-args").items():
        if name in given:
            raise T2IBenchError(
                f"'{name}' is given twice: as {_flag(name)} and in --method-args.", "Keep one."
            )
        given[name] = text
    if prompts:
        given = {"support": 1, "per_bias": prompts} | given
    settings: Arguments = read_args(proposal.Args, given, arguments.method, "--method-args")
    return settings


def _subjects(arguments: argparse.Namespace, proposal: Proposal[Any]) -> list[str]:
    """The captions or prompts to ask about."""
    for kind, flags in _SUBJECT_FLAGS.items():
        stray = [name for name in flags if getattr(arguments, name)]
        if kind != proposal.subjects and stray:
            raise T2IBenchError(
                f"'{arguments.method}' starts from {proposal.subjects}; it does not take "
                f"{_flag(stray[0])}."
            )
    return _captions(arguments) if proposal.subjects == "captions" else _prompts(arguments)


def _captions(arguments: argparse.Namespace) -> list[str]:
    if not arguments.captions:
        raise T2IBenchError(
            "Which captions? Give --captions FILE, folder:DIR for the prompts of images, or a "
            "datasets id."
        )
    from t2ibench.proposals.captions import read_captions

    return read_captions(
        arguments.captions,
        column=arguments.column,
        split=arguments.split,
        people=arguments.people,
        clean=arguments.clean,
        limit=arguments.limit,
    )


def _prompts(arguments: argparse.Namespace) -> list[str]:
    prompts = list(arguments.prompt or ())
    if arguments.prompts:
        from t2ibench.store.file_errors import reading

        path = Path(arguments.prompts)
        with reading(path, "Give a text file with one prompt a line."):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        prompts += [line.strip() for line in lines if line.strip()]
    if not prompts:
        raise T2IBenchError('Which prompts? Give --prompt "…" or --prompts FILE.')
    if arguments.clean:
        from t2ibench.proposals.captions import cleaned

        prompts = list(cleaned(prompts))
        if not prompts:
            raise T2IBenchError(
                "--clean left no prompt: it keeps those with a part of 5 to 9 words.",
                "Leave --clean out.",
            )
    return list(dict.fromkeys(prompts))[: arguments.limit]


def _head(
    arguments: argparse.Namespace, output: Path, proposer: Proposer, proposal: Proposal[Any]
) -> dict[str, Any]:
    """What every task file begins with."""
    name = re.sub(r"[^a-z0-9]+", "_", output.stem.lower()).strip("_")[:80] or "proposed"
    source = arguments.captions or "prompts given on the command line"
    return {
        "id": name,
        "version": 1,
        "method": arguments.method,
        "title": f"Proposed by {proposer.name}",
        "description": f"What {proposer.name} proposed for {source}. {_LICENCE}",
        "citation": f"Method: {proposal.citation}",
        "tags": ["proposed"],
        "proposal": {
            "proposer": proposer.name,
            "fingerprint": proposer.fingerprint,
            "source": source,
        },
    }


def _report(reporter: ConsoleReporter, problems: Sequence[str]) -> None:
    for line in problems[:_MOST_PROBLEMS]:
        reporter.warn(line)
    if len(problems) > _MOST_PROBLEMS:
        reporter.warn(f"and {len(problems) - _MOST_PROBLEMS} more; the replies have them all.")


def _write(output: Path, task: dict[str, Any]) -> None:
    """Write the task and check it as `validate` does."""
    import yaml

    from t2ibench.store.files import write_text
    from t2ibench.tasks.loader import library_for, load_file

    text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=100)
    write_text(output, text)
    _, problems = load_file(output, output.parent, library_for([output.parent]))
    errors = [str(problem) for problem in problems if not problem.warning]
    if errors:
        raise TaskFileError([*errors, f"{output}: correct it by hand; the replies are kept"])
