"""The examples of docs/client.md, run against a real server: notebook, Action, curl."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from leaderboard.models import Release
from leaderboard.participate import tokens
from tests.cast import World, predictions
from tests.leaderboard.test_gates import make, make_gated, wrong

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(
    stage: World, live_server: Any, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Alice's folder with a prediction file, with her token in the environment."""
    monkeypatch.setenv("HOLDFAST_URL", live_server.url)
    monkeypatch.setenv("HOLDFAST_TOKEN", tokens.issue(stage.alice, days=1).text)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (environment / "predictions.csv").write_bytes(predictions({20}))
    return environment


def _bash(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_notebook_runs(folder: Path) -> None:
    text = (ROOT / "docs" / "client.ipynb").read_text(encoding="utf-8")
    notebook: Any = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    shown = json.dumps(notebook, ensure_ascii=False)
    assert "('released'" in shown
    assert "Line 18, column `label`" in shown
    assert "<progress" in shown
    assert "Warning" not in shown
    assert Release.objects.count() == 1


def _run_action(folder: Path, **given: str) -> tuple[int, dict[str, str], str]:
    """Run the steps of action.yml; return the last exit code, the outputs and the summary."""
    command = folder / "bin" / "holdfast"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    command.chmod(0o755)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given |= {"url": os.environ["HOLDFAST_URL"], "token": os.environ["HOLDFAST_TOKEN"]}
    given |= {"file": "predictions.csv", "message": "$(touch hacked)"}
    known = action["inputs"].items()
    inputs = {name: given.get(name, facts.get("default")) for name, facts in known}
    runner = {
        "PATH": f"{command.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(folder / "outputs"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    code = 0
    for step in action["runs"]["steps"]:
        wanted = step.get("env", {}).items()
        named = {name: inputs[re.findall(r"inputs\.(\w+)", text)[0]] for name, text in wanted}
        code = _bash(step["run"], folder, **runner, **named).returncode
    outputs = dict(line.split("=", 1) for line in (folder / "outputs").read_text().splitlines())
    assert outputs.keys() == action["outputs"].keys()
    assert not (folder / "hacked").exists()
    return code, outputs, (folder / "summary.md").read_text()


def test_the_action_submits_and_reports(folder: Path, stage: World) -> None:
    stage.join(stage.alice, "Alices")
    code, outputs, summary = _run_action(folder, competition="digits")
    found = outputs["number"], outputs["status"], outputs["score"], outputs["passed"]
    assert (code, found) == (0, ("1", "released", "0.95", ""))
    assert "Submission 1 to digits: New best: 0.95." in summary


@pytest.mark.parametrize(("mark", "passed"), [(0.8, "true"), (0.999, "false")])
def test_the_action_asks_a_gate(folder: Path, stage: World, mark: float, passed: str) -> None:
    gated = make_gated(stage, "gated")
    stage.join(stage.alice, competition=gated)
    make(gated, stage, mark=mark)
    (folder / "predictions.csv").write_bytes(wrong(10))
    code, outputs, summary = _run_action(folder, competition="gated", gate="ci", junit="out.xml")
    assert (code, outputs["passed"]) == (int(passed == "false"), passed)
    assert summary.startswith("### Gate `ci` of gated: ")
    assert "testcase" in (folder / "out.xml").read_text()


def test_the_gitlab_example_is_a_job_that_asks_a_gate() -> None:
    (text,) = re.findall(
        r"```yaml\n(gate:.*?)```", (ROOT / "docs" / "gates.md").read_text(), re.DOTALL
    )
    job = yaml.safe_load(text)["gate"]
    assert "holdfast gate ci" in job["script"][-1]
    assert job["artifacts"]["reports"]["junit"] in job["script"][-1]


def test_curl_submits_and_waits(folder: Path, stage: World) -> None:
    stage.join(stage.alice, "Alices")
    script = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "client.md").read_text(), re.DOTALL)
    ran = _bash(script[0], folder)
    assert ran.returncode == 0, ran.stderr
    assert "New best: 0.95." in ran.stdout
