"""The encoders and judges of a run by a plan: whether it could have them, and their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from t2ibench.decisions.profile import Profile, Scenario
from t2ibench.decisions.readers import are_alike, fingerprint_key, readers
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods.core.evidence import Needs
from t2ibench.models.encoders import embeds_images
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.schema import Results
from t2ibench.store.answers import is_file_of_answers, who_judged


def check_rules(
    profile: Profile,
    needs_of: Mapping[str, Needs],
    *,
    encoders: Sequence[str],
    judges: Sequence[str],
) -> None:
    """Check that a run can be by every scenario's rule, before a plan fixes that none can.

    Args:
        profile: The scenarios.
        needs_of: Task id to what the task needs.
        encoders: Those that the plan names; empty for those of the profile.
        judges: Likewise.

    Raises:
        T2IBenchError: a scenario fixes others than the run would have, or a judge of a task that
            asks none.
    """
    for scenario in profile.scenarios:
        rule = scenario.measurement
        for name in rule.task:
            needed = needs_of[name]
            if rule.encoder is not None:
                used = _encoders(needed, encoders or profile.encoders, rule.encoder)
                _check(scenario, name, "encoder", used, rule.encoder)
            if rule.judge is not None:
                if not (needed.is_judged or needed.checks):
                    raise T2IBenchError(
                        f"'{shown(scenario.name)}' fixes {readers('judge', rule.judge)}, and "
                        f"{shown(name)} asks no judge.",
                        "Leave the judge out of the scenario.",
                    )
                # The first judge alone checks guided images.
                every = judges or profile.judges
                used = every if needed.is_judged else every[:1]
                _check(scenario, name, "judge", used, rule.judge)


def fingerprints_of(pilot: Results, further: FurtherSettings) -> dict[str, str]:
    """Return what identifies the weights and settings of a pilot's encoders and judges.

    Judges are left out where the plan has other arguments for them than the pilot, and people,
    whose answers about other images are others.

    Returns:
        Fingerprints by `fingerprint_key`.
    """
    fingerprints: dict[str, str] = {}
    of_pilot = pilot.further_settings
    same_arguments = of_pilot is not None and of_pilot.judge_args == further.judge_args
    for task in pilot.tasks.values():
        for encoder, fingerprint in task.settings.encoders.items():
            fingerprints[fingerprint_key("encoder", encoder)] = fingerprint
        if not same_arguments:
            continue
        for judge, fingerprint in who_judged(task.settings.judges).items():
            if not is_file_of_answers(judge):
                fingerprints[fingerprint_key("judge", judge)] = fingerprint
    return {name: text for name, text in sorted(fingerprints.items()) if text}


def _encoders(
    needed: Needs, fixed: Sequence[str], rule: Sequence[str]
) -> Sequence[str]:
    """Return the encoders that a task would have; word vectors embed no images."""
    if needed.is_judged:  # at most one of them reads its images, for another reason
        return [name for name in fixed if name in rule]
    if needed.shows_images:
        return [name for name in fixed if embeds_images(name)]
    return fixed


def _check(
    scenario: Scenario, task: str, kind: str, used: Sequence[str], rule: Sequence[str]
) -> None:
    """Raise an error if a task would have other readers than its scenario fixes."""
    if are_alike(used, rule):
        return
    would = f"would have {readers(kind, used)}" if used else f"may have other {kind}s"
    raise T2IBenchError(
        f"'{shown(scenario.name)}' fixes {readers(kind, rule)}, and {shown(task)} {would} in a "
        "run by this plan.",
        f"Fix the same in every scenario and in --{kind}, or write a plan for each.",
    )
