"""`t2ibench propose`: have a model or word lists propose biases, and write a task file."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.arguments import Arguments, columns_of, parse_args, read_args
from t2ibench.cli.usage import add_device, add_flag, positive, tell_some
from t2ibench.errors import T2IBenchError, TaskFileError

if TYPE_CHECKING:
    from t2ibench.methods.core.proposal import Proposal, Proposed
    from t2ibench.models.language import Proposer
    from t2ibench.proposals.attributes import Column
    from t2ibench.proposals.captions import TableLayout

_EXAMPLES = """examples:
  t2ibench propose openbias --captions folder:my-images --output my-tasks/mine.yaml
  t2ibench propose openbias --captions captions_val2017.json --output my-tasks/coco.yaml \\
      --proposer hf:Qwen/Qwen2.5-7B-Instruct
  t2ibench propose openbias --captions flickr30k/results.csv --people \\
      --proposer word-lists --output my-tasks/flickr_people.yaml
  t2ibench propose tibet --prompt "a chef" --prompt "a nurse" --proposer openai:gpt-5.4-mini \\
      --output my-tasks/kitchen.yaml
  t2ibench run --model sdxl --include-path my-tasks --tasks kitchen

options of --method-args, with their defaults:
  overlap=.75        openbias: merge two biases that share this proportion of their classes
  support=30         openbias: leave out biases that fewer captions suggest (for a folder: 1)
  per_bias=100       openbias: write at most so many captions for a bias
  questions=caption  openbias: ask each caption's own question; bias: one question for all captions
  synonyms=wordnet   openbias: merge classes that WordNet calls synonyms; table: of a short list
  tries=3            openbias and tibet: ask the model so often until its reply can be read

Replies are stored beside the task (NAME.replies.jsonl); running the command again asks only about
what has no reply yet. Read the YAML before you run it: it is meant to be corrected by hand.
"""
_LICENCE = (
    "The task is unchecked: read it, correct it and cite it before you publish a score."
)
_MOST_PROBLEMS = 10


def add(verbs: Any) -> None:
    """Add the command `propose` and its flags to the command line."""
    verb = verbs.add_parser(
        "propose",
        description="Let a language model propose biases for captions or prompts; write a task.",
        epilog=_EXAMPLES,
    )
    add_flag(verb, "method METHOD", "propose a task of this method (required)")
    add_flag(
        verb,
        "--proposer P",
        "propose with hf:ID_OR_DIR or openai:MODEL, or without a model: word-lists asks for "
        "gender, age and race, word-lists:skin for gender, age and skin tone "
        "(default: word-lists:skin)",
        default="word-lists:skin",
    )
    add_flag(
        verb,
        "--proposer-args k=v,…",
        "set options of the model that proposes: base_url=… (default: none)",
        default="",
    )
    add_flag(
        verb,
        "--output FILE",
        "write the task to this YAML file (required)",
        required=True,
    )
    add_flag(
        verb,
        "--limit N",
        "use only the first N captions or prompts (default: all)",
        type=positive,
    )
    add_flag(
        verb,
        "--method-args k=v,…",
        "set options of the method, such as support=10; they are listed below (default: none)",
        default="",
    )
    add_device(verb, "an hf: proposer")
    captions = verb.add_argument_group("for methods that start from captions")
    add_flag(
        captions,
        "--captions FILE|ID",
        "read captions from a file (COCO's or Flickr30k's, CSV, text), from folder:DIR, or from "
        "a data set of the Hugging Face hub (default: none)",
    )
    add_flag(
        captions, "--column NAME", "read captions from this column (default: caption)"
    )
    add_flag(
        captions,
        "--columns k=NAME,…",
        "name the columns of the table by their headings: caption=Text, or "
        "image=Name,prompt=Text for folder: (default: common headings)",
        default="",
    )
    add_flag(
        captions, "--sheet NAME", "read this sheet of the workbook (default: the first)"
    )
    add_flag(
        captions,
        "--pattern P",
        "read prompts from file names: '{prompt}_{index}.png' (default: "
        "from a table or sub-folders)",
    )
    add_flag(
        captions,
        "--split NAME",
        "read this split of the hub's data set (default: train)",
    )
    add_flag(
        captions,
        "--people",
        "keep only captions that mention exactly one person (default: all captions)",
    )
    add_flag(
        captions,
        "--attributes NAME,…",
        "ask only about these, such as gender,race: columns of the human labels, or attributes "
        "that the proposer knows (default: all that are proposed)",
    )
    add_flag(
        captions,
        "--answers FILE",
        "take the classes from this file of human labels (default: people.csv in the folder "
        "of --captions)",
    )
    prompts = verb.add_argument_group("for methods that start from prompts")
    add_flag(
        prompts,
        "--prompt TEXT",
        "propose axes of bias for this prompt; repeatable (default: none)",
        action="append",
    )
    add_flag(
        prompts,
        "--prompts FILE",
        "propose axes of bias for the prompts in a file, one a line (default: none)",
    )
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask a proposer for biases, write a task file, and return the exit status."""
    from t2ibench.models.proposers import create_proposer
    from t2ibench.models.protocols import ReportsWaits
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.proposals.captions import TableLayout, images_in, usable
    from t2ibench.proposals.proposal import proposal_of, propose, title_of

    proposal = proposal_of(arguments.method)
    output = Path(arguments.output)
    if output.suffix not in {".yaml", ".yml"}:
        raise T2IBenchError(f"--output {output}: expected a file that ends in .yaml.")
    of_captions = proposal.subjects == "captions" and arguments.captions
    # By default all captions count if they are the prompts of a folder of images.
    layout = TableLayout(
        columns=columns_of(arguments.columns),
        sheet=arguments.sheet,
        pattern=arguments.pattern,
    )
    images: Mapping[str, int] = (
        images_in(arguments.captions, layout) or {} if of_captions else {}
    )
    given: dict[str, Any] = {"support": 1, "per_bias": len(images)} if images else {}
    given |= parse_args(arguments.method_args, "--method-args")
    settings: Arguments = read_args(
        proposal.Args, given, arguments.method, "--method-args"
    )
    subjects = _subjects(arguments, proposal, layout)
    sheet = _sheet(arguments, proposal)
    proposer = create_proposer(
        sheet.proposer(arguments.proposer),
        parse_args(arguments.proposer_args, "--proposer-args"),
        device=arguments.device,
        dtype=arguments.dtype,
    )
    replies = output.with_suffix(".replies.jsonl")
    reporter = ConsoleReporter()
    for line in layout.notes:
        reporter.say(line)
    if isinstance(proposer, ReportsWaits):
        proposer.report_waits(reporter.say)
    unit = proposal.subjects
    with reporter.stage(f"Asking about {unit}", len(subjects), unit) as ticker:
        proposed, asked = propose(
            proposal,
            subjects,
            proposer,
            settings,
            replies=replies,
            advance=ticker.advance,
        )
    proposed = sheet.applied(proposed, usable(subjects))
    and_more = "and {} more; the replies have them all."
    tell_some(proposed.problems, reporter.warn, _MOST_PROBLEMS, and_more)
    for reason, count in proposed.dropped.items():
        reporter.say(f"Dropped {count}: {reason}.")
    if proposed.error is not None:
        raise proposed.error
    notes = {"notes": list(proposed.notes)} if proposed.notes else {}
    size = {"images_per_prompt": max(images.values())} if images else {}
    title = title_of(proposed.body, f"{len(subjects)} {_counted(unit, images)}")
    task = (
        _head(arguments, output, proposer, proposal, title)
        | size
        | dict(proposed.body)
        | notes
    )
    _write(output, task)
    for line in sheet.lines(proposed, _command(arguments)):
        reporter.say(line)
    reporter.say(f"Replies: {replies} ({asked} asked now)")
    layout_flags = _layout_flags(arguments)
    flags = f"--include-path {shlex.quote(str(output.parent))} --tasks {task['id']}"
    if images:
        model = shlex.quote(arguments.captions)
        reporter.say(
            f"Task: {output}. Run it: t2ibench --model {model} {flags}{layout_flags}"
        )
        reporter.say(
            f"  with human labels: --judge {sheet.judge}; or with a model, which is downloaded: "
            "--judge qwen3-vl-4b."
        )
    else:
        reporter.say(f"Task: {output}; run it with {flags}")
    return 3 if proposed.failed else 0


def _counted(unit: str, images: Mapping[str, int]) -> str:
    """Return what a title counts: the captions of a folder of images are its prompts."""
    return "prompts" if images else unit


def _layout_flags(arguments: argparse.Namespace) -> str:
    """Return, as text, the flags with which a run reads the same folder of images."""
    flags = (("--columns", arguments.columns), ("--pattern", arguments.pattern))
    return "".join(f" {flag} {shlex.quote(text)}" for flag, text in flags if text)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Human labels of images with captions, and the attributes that they are about."""

    path: Path | None = None
    columns: Sequence[Column] = ()
    attributes: Sequence[str] | None = None

    @property
    def judge(self) -> str:
        """The name of the judge that looks the human labels up."""
        return "answers:FILE" if self.path is None else f"answers:{self.path},by=NAME"

    def proposer(self, spec: str) -> str:
        """Return a proposer's name, limited to the requested attributes if it uses word lists."""
        from t2ibench.models.proposers.word_lists import ATTRIBUTES
        from t2ibench.proposals.attributes import plain

        if self.attributes is None or not spec.startswith("word-lists"):
            return spec
        able = [name for name in ATTRIBUTES if plain(name) in self.attributes]
        return f"word-lists:{'+'.join(able)}" if able else spec

    def applied(self, proposed: Proposed, captions: Sequence[str]) -> Proposed:
        """Return a proposal of the requested attributes only, with the classes of human labels."""
        from t2ibench.proposals.attributes import asked_about

        if self.attributes is None and not self.columns:
            return proposed
        biases = asked_about(
            proposed.body.get("biases", ()), self.attributes, self.columns, captions
        )
        error = None if biases else proposed.error
        if self.attributes is not None and not biases and error is None:
            error = T2IBenchError(
                f"Nothing was proposed about {', '.join(self.attributes)}.",
                "Name other --attributes, or another --proposer.",
            )
        return replace(proposed, body={**proposed.body, "biases": biases}, error=error)

    def lines(self, proposed: Proposed, command: str) -> list[str]:
        """Return lines about the human labels that come with the task."""
        from t2ibench.proposals.attributes import remarks

        if self.path is None:
            return []
        return remarks(proposed.body["biases"], self.columns, self.path, command)


def _sheet(arguments: argparse.Namespace, proposal: Proposal[Any]) -> _Sheet:
    from t2ibench.models.proposers.word_lists import ATTRIBUTES
    from t2ibench.proposals.attributes import (
        answered_columns,
        attributes_of,
        plain,
        sheet_of,
    )

    if proposal.subjects != "captions":
        for flag in ("attributes", "answers"):
            if getattr(arguments, flag):
                raise T2IBenchError(
                    f"--{flag} is for methods that start from captions."
                )
        return _Sheet()
    path = sheet_of(arguments.captions, arguments.answers)
    named = columns_of(arguments.columns)
    columns = answered_columns(path, named) if path is not None else []
    choices: list[str] = []
    if arguments.proposer.startswith("word-lists"):  # a model may propose anything
        every = [*(column.name for column in columns), *map(plain, ATTRIBUTES)]
        choices = list(dict.fromkeys(every))
    return _Sheet(path, columns, attributes_of(arguments.attributes, choices))


def _command(arguments: argparse.Namespace) -> str:
    """Return the command line of this proposal, without --attributes."""
    words = ["t2ibench", "propose", arguments.method, "--captions", arguments.captions]
    return shlex.join([*words, "--output", arguments.output]) + _layout_flags(arguments)


def _subjects(
    arguments: argparse.Namespace, proposal: Proposal[Any], layout: TableLayout
) -> list[str]:
    """Return the captions or prompts to propose attributes for."""
    if proposal.subjects != "captions":
        return _prompts(arguments)
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
        limit=arguments.limit,
        layout=layout,
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
    return list(dict.fromkeys(prompts))[: arguments.limit]


def _head(
    arguments: argparse.Namespace,
    output: Path,
    proposer: Proposer,
    proposal: Proposal[Any],
    title: str,
) -> dict[str, Any]:
    """Return the first fields of the task file, such as id and title, keyed by name."""
    name = re.sub(r"[^a-z0-9]+", "_", output.stem.lower()).strip("_")[:80] or "proposed"
    source = arguments.captions or "prompts given on the command line"
    proposed = {"proposer": proposer.name, "fingerprint": proposer.fingerprint}
    return {
        "id": name,
        "version": 1,
        "method": arguments.method,
        "title": title,
        "description": f"Questions that {proposer.name} made from {source}. {_LICENCE}",
        "citation": f"Method: {proposal.citation}",
        "tags": ["proposed"],
        "proposal": proposed | {"source": source},
    }


def _write(output: Path, task: dict[str, Any]) -> None:
    """Write the task file and validate it; raise an error if it has problems."""
    import yaml

    from t2ibench.store.files import write_text
    from t2ibench.tasks.loader import library_for, load_file

    text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=100)
    write_text(output, text)
    _, problems = load_file(output, output.parent, library_for([output.parent]))
    errors = [str(problem) for problem in problems if not problem.warning]
    if errors:
        raise TaskFileError(
            [*errors, f"{output}: correct it by hand; the replies are kept"]
        )
