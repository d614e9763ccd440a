"""Two runs of which one, or both, are behind a rewriter: what differs besides."""

from __future__ import annotations

from t2ibench.results.schema import GeneratorInfo, Results


def rewriting_line(first: Results, second: Results) -> str | None:
    """What a reader of a comparison must know of rewriters."""
    models = first.model, second.model
    if not any(model.rewriter for model in models):
        return None
    mine, theirs = map(_name, models)
    one, other = (_fingerprint(model) for model in models)
    alone = [model.rewriter.generator if model.rewriter else model.fingerprint for model in models]
    others = [] if alone[0] == alone[1] else ["the generator"]
    shared = first.tasks.keys() & second.tasks.keys()
    seeds = [{results.tasks[name].settings.seed for name in shared} for results in (first, second)]
    if seeds[0] != seeds[1]:
        others.append("the seed")
    if _libraries(models[0]) != _libraries(models[1]):
        others.append("the versions of the libraries that made the images")
    what = _listed(others)
    if one == other:
        same = f"Both runs have the same rewriter, {mine}"
        return f"{same}; {what} {_verb(others)}." if others else f"{same}."
    if others:
        return f"The rewriter differs ({mine} and {theirs}), and so {_verb(others, 'do')} {what}."
    return (
        f"Only the rewriter differs: {mine} in the first run, {theirs} in the second. Generator, "
        "settings and seeds are the same."
    )


def _name(model: GeneratorInfo) -> str:
    return model.rewriter.name if model.rewriter else "none"


def _fingerprint(model: GeneratorInfo) -> str | None:
    return model.rewriter.fingerprint if model.rewriter else None


def _libraries(model: GeneratorInfo) -> list[dict[str, str]]:
    found = [model.libraries, *model.other_libraries]
    return sorted(found, key=lambda one: sorted(one.items()))


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _verb(words: list[str], verb: str = "differ") -> str:
    plural = len(words) > 1 or (words and words[0].startswith("the versions"))
    if verb == "do":
        return "do" if plural else "does"
    return "differ" if plural else "differs"
