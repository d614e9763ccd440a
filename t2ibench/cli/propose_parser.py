"""The flags of `t2ibench propose`."""

from __future__ import annotations

import argparse
from typing import Any

from t2ibench.cli.values import positive

_EXAMPLES = """examples:
  t2ibench propose openbias --captions captions_val2017.json --output my-tasks/coco.yaml \\
      --proposer hf:Qwen/Qwen2.5-7B-Instruct
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
        help="let a language model propose biases, and write a task file",
        description="Let a language model propose biases for captions or prompts; write a task.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    propose.add_argument("method", choices=["openbias", "tibet"])
    propose.add_argument(
        "--proposer", metavar="P", required=True, help="hf:ID_OR_DIR, openai:MODEL or replay:FILE"
    )
    propose.add_argument("--proposer-args", metavar="k=v,…", default="", help="base_url=…")
    propose.add_argument("--output", metavar="FILE", required=True, help="the task YAML to write")
    propose.add_argument("--captions", metavar="FILE|ID", help="openbias: COCO, Flickr30k, CSV, …")
    propose.add_argument("--column", metavar="NAME", help="column of the captions (caption)")
    propose.add_argument("--split", metavar="NAME", help="split of a datasets id (train)")
    propose.add_argument("--people", action="store_true", help="captions of one person only")
    propose.add_argument(
        "--clean", action="store_true", help="TIBET's clean-up of DiffusionDB prompts"
    )
    propose.add_argument("--limit", metavar="N", type=positive, help="first N captions or prompts")
    propose.add_argument(
        "--overlap", metavar="S", type=_share, default=0.75, help="merge at such a share of classes"
    )
    propose.add_argument(
        "--support", metavar="N", type=positive, default=30, help="captions a bias must have (30)"
    )
    propose.add_argument(
        "--per-bias", metavar="N", type=positive, default=100, help="captions kept a bias (100)"
    )
    propose.add_argument("--prompt", metavar="TEXT", action="append", help="tibet: may be repeated")
    propose.add_argument("--prompts", metavar="FILE", help="tibet: a file of prompts, one a line")
    propose.add_argument("--tries", metavar="N", type=positive, default=3, help="at one reply (3)")
    propose.add_argument("--device", metavar="D", help="cuda, mps or cpu, for hf:")
    propose.add_argument("--dtype", metavar="T", help="float32, float16 or bfloat16, for hf:")
    propose.set_defaults(handler=handler)
