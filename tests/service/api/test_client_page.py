"""The examples of docs/client.md work, in order, against a real service."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import subprocess
from pathlib import Path

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.testing import RunningService
from tests.service.api.operations import operations_of
from tests.service.api.test_media_http import added, sound, transcript
from tests.service.cli.test_cli import agentsvc
from tests.unit.client.conftest import KEY

PAGE = (Path(__file__).parents[3] / "docs" / "client.md").read_text()


def test_the_examples_run(
    client: AgentService,
    service: RunningService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    configure(monkeypatch, client)
    names = given(service, tmp_path)
    blocks = re.findall(r"```py(?:thon)?\n(.*?)```", PAGE, re.DOTALL)
    for block in blocks:
        code = compile(block, "docs/client.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if inspect.iscoroutine(awaited := eval(code, names)):
            asyncio.run(awaited)
    printed = capsys.readouterr().out
    assert len(blocks) >= 9
    for expected in (
        "one two three",
        "hello\nworld",
        "notes/plan.md",
        "chat_not_found 404",
        "chat_busy",
        "$SERVICE_API_KEY",
        "stocked 10",
        "and save",
    ):
        assert expected in printed
    assert len(list((tmp_path / "pictures").iterdir())) == 1


def given(service: RunningService, folder: Path) -> dict[str, object]:
    """What the page speaks of without making it."""
    error = APIConnectionError("The stream broke.")
    error.last_event_id = 2
    media_id = added(service, sound(folder / "told.wav", 1), *transcript(folder))
    page = agentsvc("pages", "add", "--data", service.data, "https://example.com/page").stdout.strip()
    return {"error": error, "media_id": media_id, "page_id": page}


def configure(monkeypatch: pytest.MonkeyPatch, client: AgentService) -> None:
    monkeypatch.setenv("AGENTSVC_BASE_URL", client.base_url)
    monkeypatch.setenv("SERVICE_API_KEY", client._core.origin.key)


def test_the_example_without_a_client_runs(client: AgentService, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, client)
    [block] = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(["sh", "-c", block], capture_output=True, text=True, check=True)
    assert client.runs.wait(json.loads(done.stdout)["run_id"]).output == "hello"


def test_each_operation_is_shown() -> None:
    missing = {name for name in operations_of(AgentService(KEY)) if name not in PAGE}
    assert {name.rpartition(".")[2] for name in missing} <= {"rename", "get"}
