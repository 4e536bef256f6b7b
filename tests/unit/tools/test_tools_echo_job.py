"""`echo_job` and the catalog (docs/api/tools-and-jobs.md "Catalog")."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import describe, tools
from agentsvc_nb.tools.echo_job import EchoJob, EchoJobInput
from agentsvc_nb.tools.port import Outcome, ToolServices
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace


def run(folder: Path, **given: Any) -> tuple[Outcome, MemoryToolContext]:
    task = MemoryToolContext(MemoryWorkspace(folder / "chat"))
    tool = EchoJob(ToolServices(Settings(folder / "data")))
    return asyncio.run(tool.run(EchoJobInput.model_validate(given), task)), task


def test_it_reports_writes_and_logs(tmp_path: Path) -> None:
    outcome, task = run(tmp_path, steps=3, seconds=0.003, files={"a.txt": "ä"})
    assert task.steps == [(n, 3, f"step {n} of 3") for n in (1, 2, 3)]
    assert task.files.bytes("a.txt") == "ä".encode()
    assert outcome.error is None
    assert outcome.inline is False
    [line] = (tmp_path / "data" / "effects.log").read_text().splitlines()
    assert json.loads(line)["files"] == ["a.txt"]


def test_each_run_logs_one_line_that_tells_inputs_apart(tmp_path: Path) -> None:
    for steps in (0, 0, 1):
        run(tmp_path, steps=steps)
    digests = [
        json.loads(line)["input_sha256"] for line in (tmp_path / "data" / "effects.log").read_text().splitlines()
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(("fail", "message"), [(True, "The job was told to fail."), ("as asked", "as asked")])
def test_it_fails_when_told(fail: bool | str, message: str, tmp_path: Path) -> None:
    assert run(tmp_path, fail=fail)[0].error == ("echo_failed", message)


@pytest.mark.parametrize("given", [{"steps": -1}, {"seconds": -1}, {"seconds": float("inf")}, {"files": {"a": 1}}])
def test_bad_input_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EchoJobInput.model_validate(given)


def test_the_catalog_holds_echo_job_for_the_scripted_model_alone(tmp_path: Path) -> None:
    assert "echo_job" not in tools(Settings(tmp_path))
    assert "echo_job" in tools(Settings(tmp_path, model="scripted"))


def test_descriptions_carry_the_input_schema(tmp_path: Path) -> None:
    described = describe(tools(Settings(tmp_path))["create_images"])
    assert (described.family, described.asynchronous, described.idempotent, described.effect) == (
        "static_ad",
        True,
        True,
        False,
    )
    assert described.available
    assert described.input_schema["required"] == ["request"]
