"""The files that services read: they parse, and what they name exists."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
TEMPLATES = GITHUB / "ISSUE_TEMPLATE"
FORMS = sorted(path for path in TEMPLATES.glob("*.yml") if path.stem != "config")
# Of the makers of GitHub alone; a tag of theirs is a major version, a commit has forty digits.
ACTION = re.compile(
    r"actions/(cache|checkout|setup-python|upload-artifact)@(v\d+|[0-9a-f]{40})"
)


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_workflows_call_the_scripts_that_anyone_can_run() -> None:
    commands = {
        path.stem: [step["run"] for step in steps_of(parsed(path)) if "run" in step]
        for path in WORKFLOWS
    }
    assert ".ci/run" in commands["pull-request"]
    assert ".ci/nightly" in commands["nightly"]
    named = {
        word
        for lines in commands.values()
        for line in lines
        for word in re.findall(r"\.ci/[\w-]+", line)
    }
    assert named == {".ci/run", ".ci/nightly", ".ci/open-issue"}
    for name in named:
        assert (ROOT / name).stat().st_mode & stat.S_IXUSR, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_little(path: Path) -> None:
    workflow = parsed(path)
    # YAML 1.1 reads 'on' as true.
    assert workflow["permissions"] == {"contents": "read"} and workflow[True]
    for job in workflow["jobs"].values():
        wanted = job.get("permissions", {"contents": "read"})
        assert wanted.items() <= {"contents": "read", "issues": "write"}.items()
        assert job["steps"]
    for step in steps_of(workflow):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert ACTION.fullmatch(step["uses"]), step["uses"]


def test_the_last_success_of_the_night_is_kept() -> None:
    steps = parsed(GITHUB / "workflows" / "nightly.yml")["jobs"]["nightly"]["steps"]
    names = [step.get("run", step.get("uses", "")) for step in steps]
    upload = steps[-1]
    assert names.index(".ci/nightly") == len(steps) - 2
    assert upload["uses"].startswith("actions/upload-artifact@")
    script = (ROOT / ".ci" / "nightly").read_text(encoding="utf-8")
    assert script.splitlines()[-1].endswith(f">{upload['with']['path']}")
    # Without it, nothing in a folder that begins with a dot is uploaded.
    assert upload["with"]["include-hidden-files"] is True
    assert "if" not in upload


def test_the_schedule_reports_a_failure() -> None:
    workflow = parsed(GITHUB / "workflows" / "nightly.yml")
    assert workflow[True]["schedule"][0]["cron"]
    report = workflow["jobs"]["report"]
    assert report["if"] == "failure()" and report["needs"] == "nightly"
    assert report["permissions"]["issues"] == "write"


@pytest.mark.parametrize(("listed", "wanted"), [("7", "comment"), ("", "create")])
def test_an_issue_is_opened_once(listed: str, wanted: str, tmp_path: Path) -> None:
    """The script, with a client that says which issue is open and writes down its words."""
    client = tmp_path / "gh"
    client.write_text(
        f'#!/bin/sh\n[ "$2" = list ] && {{ printf "%s" "{listed}"; exit; }}\n'
        f'printf "%s\\n" "$@" >"{tmp_path}/words"\n'
    )
    client.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [ROOT / ".ci" / "open-issue", "The checks fail", "https://example.org/1"],
        env={**os.environ, "PATH": path},
        check=True,
    )
    words = (tmp_path / "words").read_text(encoding="utf-8")
    assert words.startswith(f"issue\n{wanted}\n") and "https://example.org/1" in words


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_are_whole(path: Path) -> None:
    form = parsed(path)
    assert form["name"] and form["description"] and form["labels"]
    names = [item["id"] for item in form["body"] if item["type"] != "markdown"]
    assert names and len(names) == len(set(names))
    for item in form["body"]:
        kinds = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert item["type"] in kinds and item["attributes"]
        if item["type"] in {"dropdown", "checkboxes"}:
            assert item["attributes"]["options"]


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert {path.stem for path in FORMS} == {"bug", "task", "adapter"}
    assert parsed(TEMPLATES / "config.yml")["blank_issues_enabled"]
    assert "CHANGELOG.md" in (GITHUB / "PULL_REQUEST_TEMPLATE.md").read_text("utf-8")


def test_updates_are_asked_for_what_is_there() -> None:
    updates = parsed(GITHUB / "dependabot.yml")["updates"]
    assert {item["package-ecosystem"] for item in updates} == {"pip", "github-actions"}
    for item in updates:
        assert (ROOT / item["directory"].strip("/")).is_dir()
        assert item["schedule"]["interval"] in {"daily", "weekly", "monthly"}


def test_hooks_before_a_commit_are_checks_of_every_change() -> None:
    (repository,) = parsed(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = repository["hooks"]
    assert [hook["id"] for hook in hooks] == ["ruff", "ruff-format", "validate"]
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for hook in hooks:
        command = hook["entry"].removesuffix(" --force-exclude")
        assert command in checks
    pattern = re.compile(hooks[-1]["files"])
    assert pattern.search("tasks/weat/weat_1.yaml") and not pattern.search("README.md")


def test_pythons_of_the_checks_are_those_that_are_declared() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r"Python :: (3\.\d+)", project)
    jobs = parsed(GITHUB / "workflows" / "pull-request.yml")["jobs"]
    assert jobs["python"]["strategy"]["matrix"]["python"] == [declared[0], declared[-1]]
