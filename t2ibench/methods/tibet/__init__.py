"""TIBET: everything about this family."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.tibet.schema import TibetTask, check
from t2ibench.registry import lazy

METHOD = Method(
    title="TIBET",
    Task=TibetTask,
    check=check,
    needs=lazy("t2ibench.methods.tibet.needs:needs"),
    score=lazy("t2ibench.methods.tibet.score:score"),
    describe=lazy("t2ibench.methods.tibet.describe:describe"),
    present=lazy("t2ibench.methods.tibet.present:present"),
    main_score=MainScore("mean_absolute_deviation", "MAD"),
    row_scores=("lean",),
    estimand=(
        "The mean over prompts and axes of the squared lean of the shares in which the "
        "counterfactuals' images make up the prompt's, |share - 1/K|² / (1 - 1/K)."
    ),
    combine=lazy("t2ibench.methods.tibet.score:combine"),
    proposes="t2ibench.methods.tibet.propose:PROPOSAL",
)
