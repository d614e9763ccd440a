"""Rewritten prompts of a submission: a file of them travels with it; what can be is made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from t2ibench.apps.leaderboard.regenerate import Claims, Regeneration, on_server
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.protocols import ImageRequest, Releasable
from t2ibench.models.rewriters import REWRITERS, Rewriter, create_rewriter
from t2ibench.models.rewriters.file import FileRewriter
from t2ibench.pipeline.rewriting import requests_of
from t2ibench.results.run import RunFolder
from t2ibench.store.images import Attempt
from t2ibench.store.jsonl import write_rows

NAME = "rewritings.jsonl"
_FILE = "file:"


def keep_rewritings(folder: RunFolder, target: Path) -> str | None:
    """Put a run's file of rewritings into its submission; why not, where that cannot be."""
    settings, generator = folder.record.settings, folder.record.generator
    info = generator.rewriter if generator else None
    if info is None or not (settings.rewriter or "").startswith(_FILE):
        return None
    try:
        rewriter = create_rewriter(str(settings.rewriter), settings.rewriter_args)
    except T2IBenchError as error:
        return str(error)
    if not isinstance(rewriter, FileRewriter) or rewriter.fingerprint != info.fingerprint:
        return f"{info.name} is not the file any more that the prompts were rewritten with."
    write_rows(target / NAME, rewriter.rows())
    return None


def rewrite_again(claims: Claims, attempts: Sequence[Attempt], found: Regeneration) -> None:
    """Rewrite the prompts of some images again; what is another rewriting is not verified.

    The text of a language model may differ between processors, so another one lowers the verdict;
    the rewritings of a file are the submission's own, and have to be the same.
    """
    info = claims.results.model.rewriter
    assert info is not None
    try:
        rewriter = _rewriter(claims)
        if rewriter.fingerprint != info.fingerprint:
            raise T2IBenchError("the one here has other weights, settings or words.")
        of_file = isinstance(rewriter, FileRewriter)
        name = claims.command.rewriter if of_file else rewriter.name
        # What a file is called is no part of what it says.
        own, stated = ({**one, "file": None} for one in (rewriter.settings, info.settings))
        if (name, rewriter.per, own) != (info.name, info.per, stated):
            found.problems.append("it describes its rewriter otherwise than the rewriter itself")
            return
        asked = [ImageRequest(one.prompt, one.index, one.seed) for one in attempts]
        requests = requests_of(asked, rewriter.per, claims.plan.settings.seed)
        with failing("it failed with"):
            made = rewriter.rewrite(requests)
            if len(made) != len(requests):
                raise ValueError(f"{len(made)} rewritings of {len(requests)} prompts")
        if isinstance(rewriter, Releasable):
            rewriter.release()
    except T2IBenchError as error:
        found.lacking.append(f"prompts were not rewritten again by {info.name}: {error}")
        return
    known = {(one.prompt, one.index): text for one, text in zip(requests, made, strict=True)}
    unlike = []
    for one in attempts:
        index = one.index if rewriter.per == "image" else None
        rewriting = known[one.prompt, index]
        if rewriting.text != one.revised_prompt or rewriting.status == "failed":
            unlike.append(f"image {one.index} of '{one.prompt}' is of another rewriting")
    found.count("rewritings", len(attempts) - len(unlike))
    if of_file:
        found.differ(unlike, "rewritings")
    elif unlike:
        found.lacking.append(f"{len(unlike)} of {len(attempts)} rewritings are others here")
    found.rewritten = not unlike


def _rewriter(claims: Claims) -> Rewriter:
    """The rewriter that the submission names; nothing is read that it could choose."""
    spec, args = str(claims.command.rewriter), claims.command.rewriter_args
    if on_server(REWRITERS, spec):
        raise T2IBenchError("it is on a server, which is not called.")
    if any(value.startswith("@") for value in args.values()):
        raise T2IBenchError("what it was asked is in a file that the submission does not hold.")
    if spec.startswith(_FILE):
        file = claims.folder / NAME
        if not file.is_file():
            raise T2IBenchError("the submission does not hold them.")
        return create_rewriter(f"{_FILE}{file}", args)
    claims.check_paths(spec)
    return create_rewriter(spec, args, dtype=claims.command.dtype, recorded=True)
