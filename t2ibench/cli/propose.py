"""`t2ibench propose`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.arguments import parse_args
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.proposals.recording import Recorder

_LICENCE = "Proposed by a language model: read, correct and cite it before you publish a score."


def run(arguments: argparse.Namespace) -> int:
    """Ask a proposer and write a task file."""
    from t2ibench.models.proposers import create_proposer
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.proposals.recording import Recorder

    output = Path(arguments.output)
    if output.suffix not in {".yaml", ".yml"}:
        raise T2IBenchError(f"--output {output}: expected a file that ends in .yaml.")
    subjects = _subjects(arguments)
    proposer = create_proposer(
        arguments.proposer,
        parse_args(arguments.proposer_args, "--proposer-args"),
        device=arguments.device,
        dtype=arguments.dtype,
    )
    replies = output.with_suffix(".replies.jsonl")
    recorder, reporter = Recorder(proposer, replies), ConsoleReporter()
    work = _openbias if arguments.method == "openbias" else _tibet
    body, failed = work(subjects, recorder, reporter, arguments)
    task = _head(arguments, output, proposer) | body
    _write(output, task)
    reporter.say(f"Replies: {replies} ({recorder.asked} asked now)")
    reporter.say(f"Task: {output}; run it with --include-path {output.parent} --tasks {task['id']}")
    return 3 if failed else 0


def _subjects(arguments: argparse.Namespace) -> list[str]:
    """The captions or prompts to ask about."""
    if arguments.method == "openbias":
        if not arguments.captions:
            raise T2IBenchError("Which captions? Give --captions FILE or a datasets id.")
        from t2ibench.proposals.captions import read_captions

        return read_captions(
            arguments.captions,
            column=arguments.column,
            split=arguments.split,
            people=arguments.people,
            clean=arguments.clean,
            limit=arguments.limit,
        )
    prompts = list(arguments.prompt or ())
    if arguments.prompts:
        try:
            lines = Path(arguments.prompts).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise T2IBenchError(f"{arguments.prompts} cannot be read: {error}.") from None
        prompts += [line.strip() for line in lines if line.strip()]
    if not prompts:
        raise T2IBenchError('Which prompts? Give --prompt "…" or --prompts FILE.')
    return list(dict.fromkeys(prompts))[: arguments.limit]


def _head(arguments: argparse.Namespace, output: Path, proposer: Any) -> dict[str, Any]:
    name = re.sub(r"[^a-z0-9]+", "_", output.stem.lower()).strip("_")[:80] or "proposed"
    source = arguments.captions or "prompts given on the command line"
    papers = {
        "openbias": "D'Incà et al. (2024), OpenBias, CVPR 2024.",
        "tibet": "Chinchure et al. (2024), TIBET, ECCV 2024.",
    }
    return {
        "id": name,
        "version": 1,
        "method": arguments.method,
        "title": f"Proposed by {proposer.name}",
        "description": f"What {proposer.name} proposed for {source}. {_LICENCE}",
        "citation": f"Method: {papers[arguments.method]}",
        "tags": ["proposed"],
        "proposal": {
            "proposer": proposer.name,
            "fingerprint": proposer.fingerprint,
            "source": source,
        },
    }


def _openbias(
    captions: list[str], recorder: Recorder, reporter: ConsoleReporter, arguments: Any
) -> tuple[dict[str, Any], int]:
    from t2ibench.methods.core.concepts import synonyms
    from t2ibench.methods.core.replies import ProposedBias, UnreadableError, read_biases
    from t2ibench.methods.openbias import propose as openbias

    proposals: dict[str, list[ProposedBias]] = {}
    unreadable: list[str] = []
    with reporter.stage("Asking about captions", len(captions), "captions") as ticker:
        for caption in captions:
            try:
                found, skipped = recorder.read(
                    openbias.messages_for(caption), read_biases, arguments.tries, openbias.AGAIN
                )
                proposals[caption] = found
                unreadable += [f"'{caption}': {why}" for why in skipped]
            except UnreadableError as error:
                unreadable.append(f"'{caption}': {error}")
            ticker.advance(1)
    merging = synonyms()
    kept, dropped = openbias.merge(
        proposals, merging, overlap=arguments.overlap, support=arguments.support
    )
    _report(reporter, unreadable)
    for reason, count in dropped.items():
        reporter.say(f"Dropped {count}: {reason}.")
    if not kept:
        raise T2IBenchError(
            f"No bias is left of {len(captions)} captions.",
            f"A bias needs {arguments.support} captions; lower --support, or give more captions. "
            "The replies are kept.",
        )
    notes = [f"Captions that name a class were found with: {merging.name}."]
    return {"biases": openbias.task_of(kept, arguments.per_bias), "notes": notes}, 0


def _tibet(
    prompts: list[str], recorder: Recorder, reporter: ConsoleReporter, arguments: Any
) -> tuple[dict[str, Any], int]:
    from t2ibench.methods.core.replies import UnreadableError
    from t2ibench.methods.tibet import propose as tibet

    found, problems, failed = [], [], 0
    with reporter.stage("Asking about prompts", len(prompts), "prompts") as ticker:
        for prompt in prompts:
            try:
                one, left_out = tibet.task_of(
                    prompt, tibet.propose(prompt, recorder, arguments.tries)
                )
                found.append(one)
                problems += [f"'{prompt}': {why}" for why in left_out]
            except UnreadableError as error:
                failed += 1
                problems.append(f"'{prompt}' is left out: {error}")
            ticker.advance(1)
    _report(reporter, problems)
    if not found:
        raise T2IBenchError("No prompt got readable axes.", "The replies are kept; see them.")
    return {"prompts": found}, failed


def _report(reporter: ConsoleReporter, problems: list[str]) -> None:
    for line in problems[:10]:
        reporter.warn(line)
    if len(problems) > 10:
        reporter.warn(f"and {len(problems) - 10} more; the replies have them all.")


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
        raise T2IBenchError("\n".join(errors), "Correct the file by hand; the replies are kept.")
