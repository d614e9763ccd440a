"""The flags of `t2ibench propose`."""

from __future__ import annotations

import argparse
from typing import Any

from t2ibench.cli.values import positive

_EXAMPLES = """examples:
  t2ibench propose openbias --captions folder:my-images --output my-tasks/mine.yaml
  t2ibench propose openbias --captions captions_val2017.json --output my-tasks/coco.yaml \\
      --proposer hf:Qwen/Qwen2.5-7B-Instruct
  t2ibench propose openbias --captions flickr30k/results.csv --people \\
      --proposer word-lists --output my-tasks/flickr_people.yaml
  t2ibench propose tibet --prompt "a chef" --prompt "a nurse" --proposer openai:gpt-4o-mini \\
      --output my-tasks/kitchen.yaml
  t2ibench run --model sdxl --include-path my-tasks --tasks kitchen

Replies are kept beside the task (NAME.replies.jsonl); running the command again asks only what was
not answered yet. Read the YAML before you run it: it is meant to be corrected by hand.
"""


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError("expected a number above 0, up to 1")
    return value


def add_propose(verbs: Any, handler: Any) -> None:
    """Add the verb."""
    propose = verbs.add_parser(
        "propose",
        help="have a language model name biases to look for; writes a task file",
        description="Let a language model propose biases for captions or prompts; write a task.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    propose.add_argument("method", metavar="METHOD", help="a method whose tasks can be proposed")
    propose.add_argument(
        "--proposer",
        metavar="P",
        default="word-lists:skin",
        help="hf:ID_OR_DIR, openai:MODEL, replay:FILE, or without a model word-lists (gender, age "
        "and race) and word-lists:skin (gender, age and skin tone; the default)",
    )
    propose.add_argument("--proposer-args", metavar="k=v,…", default="", help="base_url=…")
    propose.add_argument("--output", metavar="FILE", required=True, help="the task YAML to write")
    propose.add_argument("--limit", metavar="N", type=positive, help="first N captions or prompts")
    propose.add_argument(
        "--clean", action="store_true", help="clean them up as TIBET does those of DiffusionDB"
    )
    _add_subjects(propose)
    _add_settings(propose)
    propose.add_argument("--device", metavar="D", help="cuda, mps or cpu, for hf:")
    propose.add_argument("--dtype", metavar="T", help="float32, float16 or bfloat16, for hf:")
    propose.set_defaults(handler=handler)


def _add_subjects(propose: argparse.ArgumentParser) -> None:
    captions = propose.add_argument_group("for methods that start from captions")
    captions.add_argument(
        "--captions", metavar="FILE|ID", help="COCO, Flickr30k, CSV, folder:DIR, …"
    )
    captions.add_argument(
        "--caption-by",
        metavar="J",
        help="of images without captions (folder:DIR): a judge, vlm:… or openai:…, that writes "
        "DIR/prompts.jsonl first",
    )
    captions.add_argument("--judge-args", metavar="k=v,…", default="", help="of --caption-by")
    captions.add_argument("--column", metavar="NAME", help="column of the captions (caption)")
    captions.add_argument("--split", metavar="NAME", help="split of a datasets id (train)")
    captions.add_argument("--people", action="store_true", help="captions of one person only")
    prompts = propose.add_argument_group("for methods that start from prompts")
    prompts.add_argument("--prompt", metavar="TEXT", action="append", help="may be repeated")
    prompts.add_argument("--prompts", metavar="FILE", help="a file of prompts, one a line")


def _add_settings(propose: argparse.ArgumentParser) -> None:
    """Settings without a default: the default is the method's own."""
    settings = propose.add_argument_group("settings of the method, where it has them")
    settings.add_argument(
        "--overlap",
        metavar="S",
        type=_share,
        help="merge biases that share this proportion of their classes (0.75)",
    )
    settings.add_argument(
        "--support",
        metavar="N",
        type=positive,
        help="captions a bias must have (30; 1 for the prompts of a folder of images)",
    )
    settings.add_argument(
        "--per-bias", metavar="N", type=positive, help="captions kept for each bias (100)"
    )
    settings.add_argument("--tries", metavar="N", type=positive, help="at one reply (3)")
    settings.add_argument(
        "--method-args",
        metavar="k=v,…",
        default="",
        help="further settings: openbias takes questions=bias (one for all captions) and "
        "synonyms=wordnet, table or conceptnet:FILE",
    )
