"""A client with tasks, out of the official TypeScript SDK and its extension, is killed, and its next process finds the
task by its id."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.tools.echo_job import EFFECTS
from agentsvc_nb.wire.routes import MCP
from tests.nightly.mcp_conformance.suite import NODE, ROOM


@pytest.fixture(scope="module")
def cautious() -> Iterator[RunningService]:
    with running_service(approve_effects=True) as found:
        yield found


@contextlib.contextmanager
def client(service: RunningService, *arguments: str, **more: str) -> Iterator[Iterator[dict[str, Any]]]:
    """What the client tells, line by line; it is killed (SIGKILL) when that is left."""
    own = {"AGENTSVC_URL": service.base_url + MCP.path, "AGENTSVC_KEY": service.api_key, **more}
    command: list[str | Path] = [NODE, ROOM / "tasks.mjs", *arguments]
    with subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield map(json.loads, process.stdout)
        finally:
            process.kill()


def begun(service: RunningService, tool: str, **given: object) -> contextlib.AbstractContextManager[Iterator[Any]]:
    return client(service, "begin", tool, json.dumps(given))


def test_an_ask_is_approved_by_the_process_after_the_killed_one(cautious: RunningService) -> None:
    with begun(cautious, "ask", message='call echo_job {"steps": 1}\nsay went on') as told:
        reference, asked = next(told), next(told)
    assert "echo_job" in asked["asks"]
    with client(cautious, "resume", json.dumps(reference), ANSWER='{"confirm": true}') as told:
        again, last = next(told), next(told)
    assert again == asked
    assert (last["ended"]["status"], last["ended"]["result"]["content"][0]["text"]) == ("completed", "went on")
    with AgentService(cautious.api_key, cautious.base_url) as service:
        events = service.runs.events(reference["taskId"]).data
    assert [event.payload["approved"] for event in events if event.type == "approval.decided"] == [True]


def test_a_job_is_found_again_and_made_once() -> None:
    with running_service() as service:
        with begun(service, "echo_job", steps=3, seconds=2, chat="new", files={"kept.txt": "x"}) as told:
            reference = next(told)
        with client(service, "resume", json.dumps(reference)) as told:
            last = next(told)
        assert last["ended"]["status"] == "completed"
        assert last["ended"]["result"]["structuredContent"]["files"][0]["path"] == "kept.txt"
        assert (service.data / EFFECTS).read_text().count("kept.txt") == 1
