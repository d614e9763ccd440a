"""How well the images agree with their prompts: quality beside bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.methods.core.prompt_agreement import MeanCosine, mean_cosine
from t2ibench.reports.cells import format_p
from t2ibench.reports.html.page import fragment
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_agreement import every_prompt
from t2ibench.results.prompt_records import PromptAgreement
from t2ibench.results.states import ALPHA


@dataclass(frozen=True, slots=True)
class TaskPrompts:
    """The agreement of one test's images, as one encoder sees it.

    Attributes:
        task: The test.
        whole: All of its prompts.
        groups: Each group of prompts.
    """

    task: TaskView
    whole: PromptAgreement
    groups: list[PromptAgreement]

    @property
    def clear(self) -> int:
        """Groups that clearly differ from the others of the test."""
        found = [one.difference for one in self.groups if one.difference is not None]
        return sum(one.p_holm is not None and one.p_holm < ALPHA for one in found)

    @property
    def tested(self) -> bool:
        """Whether any group could be compared with the others."""
        return any(one.difference is not None for one in self.groups)


@dataclass(frozen=True, slots=True)
class Reader:
    """One encoder.

    Attributes:
        name: What it is called.
        overall: Over all prompts of the run, each once; None without the single images.
        tasks: The tests that it read.
    """

    name: str
    overall: MeanCosine | None
    tasks: Sequence[TaskPrompts]


def prompts_section(run: RunView, paired: Mapping[str, PairedTask]) -> Markup | None:
    """Agreement with the prompts, overall and by group."""
    names = dict.fromkeys(name for task in run.tasks for name in task.result.prompt_agreement)
    readers = []
    for name in names:
        tasks = [
            TaskPrompts(task, found[0], found[1:])
            for task in run.tasks
            if (found := task.result.prompt_agreement.get(name))
        ]
        if tasks:
            level = tasks[0].task.result.settings.level
            ids = [one.task.id for one in tasks if one.task.id in paired]
            prompts = every_prompt(paired, name, ids)
            overall = mean_cosine(prompts, level) if prompts else None
            readers.append(Reader(name, overall, tasks))
    return fragment("prompts.html", readers=readers, p_value=format_p) if readers else None
