"""A real model: SmolLM2 through the local engine, and through its HTTP server as users have one of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

from agentsvc_nb import AgentService
from agentsvc_nb.agents.language.local_engine import Engine
from agentsvc_nb.cli.models import pull
from agentsvc_nb.testing import RunningService, running_service
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)
STORY = "Write a very long story about a dragon and a lighthouse."
FRUIT = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "tasty": {"type": "boolean"}},
    "required": ["name", "tasty"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model_file() -> Path:
    """In the user's cache: pulled by the first who asks on this machine, its SHA-256 looked at each time."""
    cache = platformdirs.user_cache_path("agentsvc-nb-tests")
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "pull.lock"):  # the test processes of one run do not pull it each
        return pull(cache / "data", "smollm2")


@pytest.fixture(scope="module", params=["our engine", "a server of the user's"])
def served(request: pytest.FixtureRequest, model_file: Path) -> Iterator[RunningService]:
    if request.param == "our engine":
        with running_service(f"gguf:{model_file}", model_context=2048) as service:
            yield service
        return
    engine = Engine(model_file, 2048)
    url, key = engine.start()
    with running_service(
        "openai-chat:local", model_url=url, model_key=key, model_tools="no", model_context=2048
    ) as service:
        yield service
    engine.stop()


@pytest.fixture
def client(served: RunningService) -> Iterator[AgentService]:
    with AgentService(served.api_key, served.base_url) as client:
        yield client


def child_of(pid: int) -> int:
    """The process that the service has started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    [child] = listed.stdout.split()
    return int(child)


def pieces(client: AgentService, run_id: str) -> int:
    return sum(event.type == "text.delta" for event in client.runs.events(run_id).data)


def test_tokens_stream(client: AgentService) -> None:
    run = client.runs.wait(client.runs.start("Say hello in one short sentence.").run_id, poll=0.1, timeout=300)
    assert run.status == "completed"
    assert run.output
    assert pieces(client, run.run_id) > 1
    assert 0 < run.usage.output_tokens <= 512
    assert run.usage.cost_microcents == 0


def test_a_generation_is_cancelled_in_its_middle(client: AgentService) -> None:
    run = client.runs.start(STORY)
    until(lambda: pieces(client, run.run_id) > 2, patience=120)
    client.runs.cancel(run.run_id)
    ended = client.runs.wait(run.run_id, poll=0.05)
    assert ended.status == "cancelled"
    assert ended.output
    free = client.runs.wait(client.runs.start("Say yes.", chat=ended.chat).run_id, poll=0.1, timeout=300)
    assert free.status == "completed", "the chat goes on"


def test_json_fits_its_schema(client: AgentService) -> None:
    run = client.runs.start("Describe a fruit as JSON.", output_config=FRUIT)
    ended = client.runs.wait(run.run_id, poll=0.1, timeout=300)
    assert ended.status == "completed"
    assert ended.structured_output is not None
    assert set(ended.structured_output) == {"name", "tasty"}
    assert isinstance(ended.structured_output["tasty"], bool)


def test_the_chat_is_remembered(client: AgentService) -> None:
    """What the model was given is counted by the engine: the second time, the first turn is in it.

    The first answer has a schema, so that it ends: one that is too long is remembered in part.
    """
    named = client.runs.start("My name is Ada. Describe a fruit as JSON.", output_config=FRUIT)
    first = client.runs.wait(named.run_id, poll=0.1, timeout=300)
    second = client.runs.start("What is my name?", chat=first.chat)
    alone = client.runs.start("What is my name?")
    there, bare = (client.runs.wait(run.run_id, poll=0.1, timeout=300) for run in (second, alone))
    assert there.usage.input_tokens >= bare.usage.input_tokens + first.usage.output_tokens


def test_a_run_goes_on_with_another_engine_when_one_crashes(model_file: Path) -> None:
    with (
        running_service(f"gguf:{model_file}", model_context=2048) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        run = client.runs.start(STORY)
        until(lambda: pieces(client, run.run_id) > 2, patience=120)
        os.kill(child_of(service.pid), signal.SIGSEGV)
        ended = client.runs.wait(run.run_id, poll=0.05, timeout=300)
        assert ended.status == "completed"
        warned = [event.payload["code"] for event in client.runs.iterate_events(run.run_id) if event.type == "warning"]
        assert "model_retried" in warned
