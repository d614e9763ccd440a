"""All flags of all verbs; those of `run` are the fields of `RunSettings`."""

from __future__ import annotations

import argparse
from typing import Any

from t2ibench.cli import GROUPS
from t2ibench.cli.check_parser import add_check
from t2ibench.cli.export_parser import add_export
from t2ibench.cli.label_parser import add_label
from t2ibench.cli.leaderboard_parser import add_leaderboard
from t2ibench.cli.ls import CHOICES
from t2ibench.cli.power_parser import add_power
from t2ibench.cli.propose_parser import add_propose
from t2ibench.cli.reproduce_parser import add_preset, add_reproduce
from t2ibench.cli.skin_tone import add_skin_tone
from t2ibench.cli.usage import Commands, Parser
from t2ibench.cli.values import budget, not_negative, positive, share
from t2ibench.settings import REPEATED, Flag, flag_names, flags
from t2ibench.version import __version__

_EXAMPLES = """examples:
  t2ibench --model toy --tasks all                         the bundled model, every task
  t2ibench --model sdxl --tasks core                       gender, skin, age, valence: 2,498 images
  t2ibench --model sdxl --tasks t2iat,occupations          a hub model, two groups of tasks
  t2ibench --model ./my-pipeline --tasks t2iat_flowers_insects --images-per-prompt 4
  t2ibench --model folder:my-images --tasks occupations    images that exist already
  t2ibench --encoder vectors:glove.txt --tasks weat        word vectors, no generator
  t2ibench --model sdxl --tasks all --dry-run              what it would generate, how long
  t2ibench propose tibet --prompt "a chef" --proposer openai:my-llm --output my-tasks/chef.yaml
  t2ibench ls                                              tasks, groups, tags, models, encoders

Errors are one line; with T2IBENCH_TRACEBACK=1 in the environment, also where they come from.
"""
_FORMATS = "md, latex, csv; see t2ibench ls writers"
_VERBOSE = "print results.md too; with --dry-run, every task and prompt"
_RUN_EXAMPLES = """examples:
  t2ibench run --model toyland --model-args all.gender.female=0.5 --tasks occupations
  t2ibench run --model stabilityai/sdxl-turbo --model-args steps=1,guidance=0 --tasks mcas
  t2ibench run --model ./my-pipeline --encoder open_clip:ViT-B-32/laion2b_s34b_b79k \\
      --tasks "t2iat_*"
  t2ibench run --model sdxl --tasks openbias --judge openai:my-vlm \\
      --judge-args base_url=http://127.0.0.1:8000/v1
  t2ibench run --model sdxl --tasks occupations --rewriter openai:my-llm \\
      --rewriter-args base_url=http://127.0.0.1:8000/v1        prompts rewritten first
  t2ibench run --model sdxl --tasks t2iat --until-precise .3   images until ± .15
  t2ibench run --model sdxl --tasks all --budget 8000      what 8,000 images can tell best
  t2ibench run --config run.yaml                           flags from a file; the line wins

Running the same command again resumes: what is stored already is not made again.
exit status: 0 done; 1 wrong input; 2 wrong usage; 3 finished, but evidence is missing;
4 a gate (--fail-on) failed; 130 interrupted, resumable
T2IBENCH_TRACEBACK=1 in the environment prints where an error comes from
"""


_GATES = """gates, for continuous integration:
{examples}\
FIELD is value, ci_low, ci_high, p, p_holm, p_bh, fair_low, fair_high, magnitude, magnitude_low
or magnitude_high, as tables show them: a lean has its sign, its magnitude has none. Commas mean
'and', a repeated flag 'or'. The exit status is 4 where a task meets the condition, or where none
could be checked. Inconclusive tasks and tasks without the number are not checked, and named.
"""
_GATE = '"headline.magnitude_low>0.2"'
_GATES_OF_RUN = f"""\
  t2ibench report runs/new --fail-on {_GATE}       a lean above .2 either way, beyond chance
  t2ibench report runs/new --fail-on "headline.ci_low>0.1,headline.p_holm<0.05"
"""
_GATE_OF_TWO = '"difference.ci_low>0.1"'
_GATES_OF_TWO = f"""\
  t2ibench compare runs/old runs/new --fail-on {_GATE_OF_TWO}
                        fails where NEW leans more than OLD, by over .1 and beyond chance
  t2ibench compare runs/old runs/new --fail-on "new.magnitude_low>0.2"
                        fails where NEW leans more than .2; old.FIELD and new.FIELD are headlines
"""


def _add_gates(verb: Any, names: str, example: str) -> None:
    verb.add_argument(
        "--fail-on",
        metavar="EXPR",
        action="append",
        help=f"exit with status 4 if any task meets this condition, such as {example}: {names}; "
        "then >, >=, < or <=, and a number",
    )


def _handler(module: str, function: str = "run") -> tuple[str, str]:
    """Where a verb's function is; its module is imported only when it runs."""
    return module, function


# Types of flags that are not text; pydantic checks the values again, for every way in.
_TYPES = {
    name: not_negative if name == "seed" else positive
    for name in (
        *("images_per_prompt", "guided_images_per_prompt", "limit", "seed"),
        *("n_permutations", "n_bootstrap"),
    )
}


def _number_or_auto(text: str) -> int | None:
    return None if text == "auto" else positive(text)


_TYPES["level"] = float  # type: ignore[assignment]
_TYPES["times"] = float  # type: ignore[assignment]
_TYPES["batch_size"] = _TYPES["workers"] = _number_or_auto  # type: ignore[assignment]


def _kind(name: str, flag: Flag) -> dict[str, Any]:
    if not flag.metavar:
        return {"action": "store_const", "const": True}
    if name in REPEATED:
        return {"metavar": flag.metavar, "action": "append"}
    return {"metavar": flag.metavar, "type": _TYPES.get(name, str)}


def build_parser() -> Parser:
    """Build the parser of the whole command line."""
    parser = Parser(
        prog="t2ibench",
        usage="t2ibench [COMMAND] FLAGS, or t2ibench COMMAND --help",
        description="Measure social bias in text-to-image models: standard tests, "
        "with intervals, controls and provenance.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"t2ibench {__version__}")
    verbs = Commands(parser)
    _add_run(verbs)
    _add_ls(verbs)
    _add_validate(verbs)
    _add_score_and_merge(verbs)
    _add_report(verbs)
    _add_compare(verbs)
    _add_explore(verbs)
    add_propose(verbs, _handler("propose"))
    add_export(verbs, _handler)
    add_label(verbs, _handler)
    add_skin_tone(verbs, _handler)
    add_leaderboard(verbs, _handler("leaderboard"))
    add_power(verbs, _handler("power"))
    add_reproduce(verbs, _handler, _add_settings)
    add_check(verbs, _handler)
    parser.epilog = f"{verbs.listed(GROUPS)}\n\n{_EXAMPLES}"
    return parser


def _add_settings(verb: Any) -> dict[str, Any]:
    """Add the flags of all settings. Groups by title."""
    titles = ("what to measure", "how much", "where and how")
    groups = {title: verb.add_argument_group(title) for title in titles}
    for name, _, flag in flags():
        groups[flag.group].add_argument(
            *flag_names(name, flag),
            dest=name,
            help=flag.help,
            default=None,
            **_kind(name, flag),
        )
    where = groups["where and how"]
    where.add_argument("--config", metavar="FILE", help="YAML with any of these flags as keys")
    where.add_argument(
        "--dry-run", action="store_true", help="print prompts, images and time; generate nothing"
    )
    return groups


def _add_run(verbs: Any) -> None:
    run = verbs.add_parser(
        "run",
        help="generate, embed and score (the default command)",
        description="Generate the images that the tasks need, embed them, score them.",
        epilog=_RUN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    groups = _add_settings(run)
    add_preset(groups["what to measure"])
    much = groups["how much"]
    much.add_argument(
        "--until-precise", metavar="W", type=share,
        help="more images, until the intervals are narrower than W",
    )  # fmt: skip
    much.add_argument(
        "--max-images-per-prompt", metavar="N", type=positive,
        help="with --until-precise: at most (8 times those of the first round)",
    )  # fmt: skip
    much.add_argument(
        "--budget", metavar="2h|4000", type=budget,
        help="so many images (or so long), spread so that the widest intervals shrink most",
    )  # fmt: skip
    where = groups["where and how"]
    where.add_argument("--generate-only", action="store_true", help="generate, do not score")
    where.add_argument(
        "--no-score", action="store_true", help="generate, embed and ask; `t2ibench score` scores"
    )
    where.add_argument("--verbose", action="store_true", help=_VERBOSE)
    _add_gates(where, "headline.FIELD", _GATE)
    run.set_defaults(handler=_handler("run"))


def _add_ls(verbs: Any) -> None:
    ls = verbs.add_parser("ls", help="list tasks, methods, models, encoders, judges, writers, …")
    ls.add_argument(
        "what",
        nargs="?",
        default="tasks",
        choices=CHOICES,
    )
    ls.add_argument("--json", action="store_true", help="as JSON")
    ls.add_argument("--include-path", metavar="DIR", action="append", help="further tasks")
    ls.set_defaults(handler=_handler("ls"))


def _add_validate(verbs: Any) -> None:
    validate = verbs.add_parser(
        "validate",
        help="check task files; prints every problem with its line",
        description="Check task files (the bundled ones without arguments).",
    )
    validate.add_argument("paths", nargs="*", metavar="FILE|DIR")
    validate.add_argument("--strict", action="store_true", help="warnings are errors too")
    validate.set_defaults(handler=_handler("validate"))


def _add_score_and_merge(verbs: Any) -> None:
    score = verbs.add_parser(
        "score",
        help="compute a run's scores again from what is stored; loads no model",
        description="Score a run again from its stored evidence. No model is loaded.",
    )
    score.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    score.add_argument("--verbose", action="store_true", help=_VERBOSE)
    score.set_defaults(handler=_handler("score"))
    merge = verbs.add_parser(
        "merge",
        help="join the parts that `run --shard I/N` made, and score the whole",
        description="Join parts of a run that share nothing: jobs of an array, machines without a "
        "common disk. The result is that of one machine.",
    )
    merge.add_argument("runs", nargs="+", metavar="RUN", help="such as runs/shard-*/toy")
    merge.add_argument(
        "--output-dir", metavar="DIR", help="folder of all runs (the one that holds the parts')"
    )
    merge.add_argument("--verbose", action="store_true", help=_VERBOSE)
    merge.set_defaults(handler=_handler("merge"))


def _add_report(verbs: Any) -> None:
    report = verbs.add_parser(
        "report",
        help="write report.html; with --format, the results as csv, md, latex, card, …",
        description="Write report.html, a page of one file: what leans which way, how sure that "
        "is, and the images behind it. With --format, print the results in that format.",
        epilog=_GATES.format(examples=_GATES_OF_RUN),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    report.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    report.add_argument("--baseline", metavar="RUN", help="another run, shown beside this one")
    report.add_argument(
        "--figures",
        metavar="DIR",
        help="also every figure for a paper, as wide as a column (3.3 in) and as a page (6.9 in): "
        "SVG and PDF",
    )
    report.add_argument(
        "--note",
        metavar="TASK=DECISION[: WHY]",
        action="append",
        help="an auditor's note: accept, query or reject; repeat it for more",
    )
    report.add_argument("--by", metavar="NAME", default="", help="who says so")
    report.add_argument("--notes", metavar="FILE", help="notes that were saved from the page")
    report.add_argument("--format", metavar="F", help=_FORMATS)
    report.add_argument("--output", metavar="FILE", help="where to write it")
    _add_gates(report, "headline.FIELD", _GATE)
    report.set_defaults(handler=_handler("report"))


def _add_compare(verbs: Any) -> None:
    compare = verbs.add_parser(
        "compare",
        help="two runs side by side: how much more the second leans",
        description="Two runs side by side: a model and its debiased version, or training images "
        "(--model folder:DIR) and a model, where leaning more is amplification. Images are paired "
        "by prompt and index.",
        epilog=_GATES.format(examples=_GATES_OF_TWO),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare.add_argument("first", metavar="OLD", help="a run folder")
    compare.add_argument("second", metavar="NEW", help="the run that is compared with it")
    compare.add_argument("--rows", action="store_true", help="every bias and concept too")
    compare.add_argument(
        "--format", metavar="F", default="md", help="md, latex, csv or a plug-in's"
    )
    _add_gates(compare, "difference.FIELD, old.FIELD, new.FIELD", _GATE_OF_TWO)
    compare.set_defaults(handler=_handler("compare"))


def _add_explore(verbs: Any) -> None:
    explore = verbs.add_parser(
        "explore",
        help="type a word in the browser: which images it is nearest to",
        description="Open runs or folders of images in a local web page: type a concept, and "
        "see at once which anchor it leans to, with the images behind it. Several runs "
        "are shown side by side. Nothing leaves this machine.",
    )
    explore.add_argument("paths", nargs="*", metavar="RUN|DIR", help="by default the latest run")
    explore.add_argument(
        "--anchors", nargs="+", metavar="PROMPT", help="two or more prompts of the images"
    )
    explore.add_argument("--encoder", metavar="E", help="by default that of the run")
    explore.add_argument(
        "--port", metavar="N", type=not_negative, default=0, help="by default a free one"
    )
    explore.add_argument("--device", metavar="D", help="cuda, mps or cpu")
    explore.add_argument("--open", action="store_true", help="open the browser")
    explore.set_defaults(handler=_handler("explore"))
