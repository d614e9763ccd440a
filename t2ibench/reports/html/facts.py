"""What made a run, with fingerprints."""

from __future__ import annotations

from t2ibench.reports.view import RunView


def facts(run: RunView) -> list[tuple[str, str]]:
    """What made the run, with fingerprints."""
    results, model = run.results, run.results.model
    name = model.name or run.name
    found = [("Model", f"{name} @ {model.revision}" if model.revision else name)]
    if model.rewriter is not None:
        found.append(("Rewriter", f"{model.rewriter.name}, one rewriting a {model.rewriter.per}"))
        found.append(("Instruction", str(model.rewriter.settings.get("template", ""))))
    if model.fingerprint:
        found.append(("Fingerprint", model.fingerprint[:12]))
    tasks = results.tasks.values()
    for title, used in (
        ("Encoder", {pair for task in tasks for pair in task.settings.encoders.items()}),
        ("Judge", {pair for task in tasks for pair in task.settings.judges.items()}),
    ):
        found += [(title, f"{name} {print_[:12]}") for name, print_ in sorted(used)]
    effective = model.effective_settings or model.settings
    if effective:
        found.append(("Settings", ", ".join(f"{k} {v}" for k, v in sorted(effective.items()))))
    found.append(("Seed", ", ".join(sorted({str(task.settings.seed) for task in tasks}))))
    found += [("Versions", ", ".join(f"{k} {v}" for k, v in sorted(results.environment.items())))]
    found.append(("Schema", str(results.schema_version)))
    return [(name, text) for name, text in found if text]
