"""Limitations of a run: its encoders and judges, its size, and missing or outdated parts."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core.describe import listed
from t2ibench.reports.coverage import unanswered
from t2ibench.reports.edit_counts import edits_counted
from t2ibench.reports.exclusions import missing_by_reason, reasons_said
from t2ibench.reports.view import RunView
from t2ibench.reports.wanted_images import n_prompts
from t2ibench.results.judge_checks import judges_said
from t2ibench.results.schema import Results

_FEW_IMAGES = 20
_NAMED = 3
# What a test's card explains of its judge's mistakes.
_EXPLAINED = ", and a model without bias"
_NAMED_TESTS = 2


def limits(run: RunView) -> list[tuple[str, str]]:
    """Return title and text of each of a run's limitations, those of measurement first."""
    return [
        _encoders(run),
        *_judges(run),
        *_guided_images(run),
        *_libraries(run),
        *_few_images(run),
        *_unanswered(run),
        *_failed_checks(run),
        *_repeats(run),
        *_missing(run),
        *_earlier(run),
        _covered_prompts(run),
    ]


def _covered_prompts(run: RunView) -> tuple[str, str]:
    """Return how many prompts the results are about, beyond which they may differ."""
    if not run.tasks:
        texts = _counted(run, "texts")
        return (
            f"{texts[0].upper()}{texts[1:]} alone.",
            "Other words and groups may differ.",
        )
    edits = edits_counted(task.result for task in run.tasks)
    if edits:
        return f"Covers {edits}.", "Other edits, images and groups may differ."
    return f"Covers {_counted(run, 'prompts')}.", "Other prompts and groups may differ."


def _counted(run: RunView, what: str) -> str:
    """Return the prompts or texts that results are about, with their number if it is known."""
    count = n_prompts(run)
    if count is None:
        return f"the {what} of these {len(run.tasks or run.texts):,} tests"
    return f"this {what[:-1]}" if count == 1 else f"these {count:,} {what}"


def _encoders(run: RunView) -> tuple[str, str]:
    names = ", ".join(run.encoders)
    if not run.encoders:
        return "No encoder.", "Only answers of a judge were scored."
    if len(run.encoders) == 1:
        what = "image" if run.tasks else "word"
        return "One encoder.", f"{names} measured every {what}. Another could disagree."
    return f"{len(run.encoders)} encoders.", f"{names}: means, and each one’s own."


def _judges(run: RunView) -> Iterator[tuple[str, str]]:
    if not run.judges:
        return
    title = "One judge" if len(run.judges) == 1 else "Judges"
    results = [task.result for task in run.tasks if task.result.settings.judges]
    sentences = [judges_said(result).partition(_EXPLAINED)[0] for result in results]
    # What was cut off may be all in which two sentences differ.
    texts = dict.fromkeys(f"{text.rstrip('.,; ')}." for text in sentences if text)
    yield f"{title}, {', '.join(run.judges)}.", " ".join(list(texts)[:_NAMED])


def _guided_images(run: RunView) -> Iterator[tuple[str, str]]:
    """Yield what guided images may differ in besides their group, which no control detects."""
    controls = {
        name.split(":")[0] for task in run.tasks for name in task.result.controls
    }
    if "obedience" in controls:
        yield (
            "Groups as the model draws them.",
            "If it draws men older than women, say, then images of old people lean to men. Prompts "
            "that ask for both ages of both groups have no such lean.",
        )


def _libraries(run: RunView) -> Iterator[tuple[str, str]]:
    warned = warnings_of_libraries(run.results)
    if warned:
        plural = "" if len(warned) == 1 else "s"
        yield f"{len(warned)} warning{plural} of libraries.", " ".join(warned[:_NAMED])
    for text in unknown_networks(run.results):
        yield "Which network?", text


def _few_images(run: RunView) -> Iterator[tuple[str, str]]:
    counts = [row.n_images or 0 for task in run.tasks for row in task.result.by]
    least = min(counts, default=0)
    if least and least < _FEW_IMAGES:
        images = "one image" if least == 1 else f"{least} images"
        yield "Few images.", f"Some rows rest on only {images}."


def _unanswered(run: RunView) -> Iterator[tuple[str, str]]:
    clause = unanswered(run)
    if clause:
        yield "Not every question was answered.", f"{clause}."


def _failed_checks(run: RunView) -> Iterator[tuple[str, str]]:
    failed = [task.name for task in run.tests if task.result.inconclusive]
    if failed:
        names = listed(failed, _NAMED_TESTS)
        if len(failed) == 1:
            yield "1 test fails its own check", f"and is inconclusive: {names}."
        else:
            title = f"{len(failed)} tests fail their own check"
            yield title, f"and are inconclusive: {names}."


def _repeats(run: RunView) -> Iterator[tuple[str, str]]:
    repeated = {
        prompt.prompt for task in run.tasks for prompt in task.result.repeated_prompts
    }
    if repeated:
        prompts = "prompt repeats its" if len(repeated) == 1 else "prompts repeat their"
        counted = "Each distinct image counts once; see the table of tests."
        yield f"{len(repeated):,} {prompts} images.", counted


def _missing(run: RunView) -> Iterator[tuple[str, str]]:
    if run.results.partial:
        yield f"{run.results.what_is_missing}.", "Not a result to report."
    missing = missing_by_reason(run)
    if missing:
        reasons = reasons_said(missing)
        yield f"{missing.total():,} left out.", f"Images or answers: {reasons}."


def _earlier(run: RunView) -> Iterator[tuple[str, str]]:
    remark = earlier(run)
    if remark is not None:
        yield remark


def earlier(run: RunView) -> tuple[str, str] | None:
    """Return title and text of a note on tests of earlier commands, which reports omit.

    It is None if there are none.
    """
    names = list(run.results.earlier)
    if not names:
        return None
    plural = "s" if len(names) > 1 else ""
    return (
        f"{len(names)} test{plural} of earlier commands left out.",
        f"results.json stores {listed(names, _NAMED)} as 'earlier'. Name all tests in one "
        "command to report them together.",
    )


def warnings_of_libraries(results: Results) -> list[str]:
    """Return a sentence for each warning that a library gave while a model was loaded."""
    sentences = []
    for warning in results.library_warnings:
        about = f" while {warning.about} was loaded" if warning.about else ""
        sentences.append(f"{warning.library} warned{about}: {warning.text}")
    return sentences


def unknown_networks(results: Results) -> list[str]:
    """Return a note for each open_clip encoder whose network the results do not record.

    Earlier versions did not record it. They ran tags such as 'openai' with GELU where the
    installed open_clip did, and nobody trained that network.
    """
    used = {name for task in results.tasks.values() for name in task.settings.encoders}
    silent = sorted(
        name
        for name in used
        if name.startswith("open_clip:") and name not in results.networks
    )
    return [
        f"{name}: an earlier version of t2ibench made these results and did not record the "
        "activation function. Weights that were trained with QuickGELU may have run with GELU, "
        "which is a network that nobody trained. Run the command again to be sure."
        for name in silent
    ]
