"""TIBET: everything about this family."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.tibet.checks import check
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.registry import lazy

METHOD = Family(
    name="tibet",
    title="TIBET",
    Task=TibetTask,
    check=check,
    needs=lazy("t2ibench.methods.tibet.score:needs"),
    score=lazy("t2ibench.methods.tibet.score:score"),
    describe=lazy("t2ibench.methods.tibet.describe:describe"),
    main_score=MainScore("mad", "MAD"),
    row_scores=("mad",),
    estimand=(
        "The mean over prompts and axes of the deviation of a prompt's concept overlap with "
        "its counterfactuals, above what a mixture of them gives."
    ),
    proposes="t2ibench.methods.tibet.propose:PROPOSAL",
    calibrates="t2ibench.methods.tibet.calibrate:cells",
)
