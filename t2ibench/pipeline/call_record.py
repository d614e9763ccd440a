"""The record that a call writes about itself before its work starts."""

from __future__ import annotations

from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Generator
from t2ibench.pipeline.captions import keep
from t2ibench.pipeline.rewriting import info_of
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.worker import Observers
from t2ibench.results.fixed_before import RegisteredPlan
from t2ibench.results.record import (
    CallRecord,
    ControlRecord,
    EncoderRecord,
    GeneratorRecord,
    ObserverRecords,
)
from t2ibench.settings import Measurement
from t2ibench.store.user_paths import resolved


def record_call(
    context: RunContext, models: Models, observers: Observers | None
) -> None:
    """Store the run record before work starts, so that a killed run can be scored and resumed.

    Args:
        context: What the run is to do.
        models: Its models.
        observers: Its encoders and judges; None for a call that only generates.
    """
    folder = context.folder
    plan = context.plan
    keep(plan.tasks, folder.path)
    if context.images is not None:
        # Prompts whose rows were damaged are stored again.
        context.images.name(plan.image_of_each_prompt())
    generator = _generator_record(context, models.generator)
    pools = {
        task.id: task.spec.drawn_from
        for task in plan.tasks
        if task.spec.drawn_from is not None
    }
    observer_records = None
    if observers is not None:
        observer_records = _observer_records(context, observers)
    include_path = [str(resolved(Path(path))) for path in context.settings.include_path]
    call = CallRecord(
        settings=context.settings,
        measurement=Measurement.of(plan.settings),
        tasks=[task.id for task in plan.tasks],
        pools=pools,
        include_path=include_path,
        generator=generator,
        observers=observer_records,
        from_objects=bool(models.adapters),
        stored_images_only=context.stored_images_only,
        looks=context.looks,
        registered_plan=_registered_plan(context),
        makes_sources=context.makes_sources,
    )
    folder.record = folder.record.updated_by(call)
    folder.save()


def _registered_plan(context: RunContext) -> RegisteredPlan | None:
    """Return the record of the plan that a call keeps to; None for a call without a plan."""
    if context.plan_sha256 is None:
        return None
    images_before = 0 if context.images is None else len(context.images)
    return RegisteredPlan(sha256=context.plan_sha256, images_before=images_before)


def _observer_records(context: RunContext, observers: Observers) -> ObserverRecords:
    """Return the records of a call's encoders and judges."""
    encoders = {
        encoder.name: EncoderRecord(
            fingerprint=encoder.fingerprint,
            embeds_images=encoder.embeds_images,
            network=dict(getattr(encoder, "network", {})),
        )
        for encoder in observers.encoders
    }
    controls = {
        name: ControlRecord(name=control.name, fingerprint=control.fingerprint)
        for name, control in observers.controls.items()
    }
    judges = {judge.name: judge.fingerprint for judge in observers.judges}
    return ObserverRecords(encoders, controls, judges, context.judge_checks)


def _generator_record(
    context: RunContext, generator: Generator | None
) -> GeneratorRecord | None:
    """Return the record of a call's generator; None for a run on texts alone."""
    recorded = context.record.generator
    if generator is None:
        return None
    if context.stored_images_only:
        return recorded
    if recorded is not None and recorded.fingerprint != generator.fingerprint:
        raise T2IBenchError(
            f"Another process has just begun a run of another generator in {context.folder.path}.",
            "Run the same command again; it will choose another folder.",
        )
    settings = context.settings
    return GeneratorRecord(
        name=generator.name,
        model=settings.model or generator.name,
        model_args=settings.model_args,
        revision=generator.revision,
        fingerprint=generator.fingerprint,
        settings=dict(generator.settings),
        rewriter=info_of(generator),
    )
