"""`ask` with its handle, and `on_busy="wait"`, on a network that breaks: one turn each, in their order."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb import AgentService, APIConnectionError
from agentsvc_nb.client import streams, tools
from agentsvc_nb.testing import RunningService
from tests.faults.network import (
    KINDS,
    PATIENCE_SECONDS,
    WAYS,
    count,
    how_ended,
    new_chat,
    outcome_of,
    read,
    undelayed,
)
from tests.faults.proxy import Direction, Fault, How, Proxy
from tests.service.api.faces import Face

pytestmark = pytest.mark.usefixtures("all_closed", "impatient")
LATE = "say so far\nwait 0.9\nsay done"
"""A turn that outlasts the service's patience: it is answered by a handle."""
STARTS: dict[str, Callable[..., Any]] = {
    "ask": lambda client, **given: client.ask("say second", poll=0.02, **given),
    "runs.start": lambda client, **given: client.runs.start("say second", **given),
    "runs.start_and_stream": lambda client, **given: read(client.runs.start_and_stream("say second", **given)),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "READ_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(tools, "SYNC_SECONDS", PATIENCE_SECONDS)


def quick(client: Any) -> Any:
    return undelayed(client).with_options(timeout=PATIENCE_SECONDS, max_retries=7)


# -- ask -----------------------------------------------------------------------------------------------------------


@WAYS
@KINDS
def test_a_keyed_ask_is_one_turn(how: How, direction: Direction, facing: Any, service: RunningService) -> None:
    """Faults strike the start, the looks at its handle, and the reading of its result."""
    before, key = (count(service, "run"), count(service, "job")), uuid.uuid4().hex
    plan = [Fault(how, after, direction) for after in (0, 1_200, 900, 1_000, 40)]
    with Proxy(service.base_url, plan) as proxy:
        face: Face = facing(proxy)
        answer = face(lambda client: quick(client).ask(LATE, chat="new", idempotency_key=key, poll=0.02))
        assert proxy.struck or how == "delay"
    assert answer.answer == "so far\ndone"
    assert answer.raw["family"] == "mcp_ask", "it became a job"
    assert (count(service, "run") - before[0], count(service, "job") - before[1]) == (1, 1)


@WAYS
@KINDS
@pytest.mark.parametrize("after", [0, 300])
def test_an_ask_without_a_key_is_sent_once(
    how: How, direction: Direction, after: int, facing: Any, service: RunningService
) -> None:
    """Right are an answer, or an error that leaves open whether there is a turn. Never two turns."""
    before = count(service, "run")
    with Proxy(service.base_url, [Fault(how, after, direction)] * 8) as proxy:
        face: Face = facing(proxy)
        outcome = outcome_of(lambda: face(lambda client: quick(client).ask("say one", chat="new")))
    if isinstance(outcome, APIConnectionError):
        assert "may have started" in (outcome.hint or "")
        # Not `struck`: before the answer of a busy machine comes, the client has given up.
        assert (outcome.attempts, proxy.taken) == (1, 1)
        assert count(service, "run") - before <= 1
    else:
        assert outcome.answer == "one"
        assert count(service, "run") - before == 1


# -- on_busy="wait" ------------------------------------------------------------------------------------------------


@WAYS
@KINDS
@pytest.mark.parametrize("start", STARTS)
def test_a_keyed_start_waits_for_the_chat_and_is_one_run(
    how: How, direction: Direction, start: str, facing: Any, service: RunningService
) -> None:
    """Faults strike the refusals, the wait for the run that holds the chat, and the start itself."""
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        before, key = count(service, "run"), uuid.uuid4().hex
        first = client.runs.start("wait 0.3\nsay first", chat=chat)
    plan = [Fault(how, after, direction) for after in (0, 500, 90, 900)]
    with Proxy(service.base_url, plan) as proxy:
        face: Face = facing(proxy)
        given = {"chat": chat, "on_busy": "wait", "idempotency_key": key}
        outcome = face(lambda client: STARTS[start](quick(client), **given))
        assert proxy.struck or how == "delay"
    run_id = outcome[-1].payload["run"]["run_id"] if isinstance(outcome, list) else outcome.run_id
    with AgentService(service.api_key, service.base_url) as client:
        first, second = client.runs.get(first.run_id), client.runs.wait(run_id, poll=0.02)
    assert (first.output, second.output) == ("first", "second")
    assert (first.ended_at or "") <= (second.started_at or "")
    assert count(service, "run") - before == 2


@WAYS
@KINDS
@pytest.mark.parametrize("after", [0, 400])
def test_a_start_without_a_key_that_waits_is_never_two(
    how: How, direction: Direction, after: int, facing: Any, service: RunningService
) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        before = count(service, "run")
        client.runs.start("wait 0.2\nsay first", chat=chat)
    with Proxy(service.base_url, [None, Fault(how, after, direction)] * 4) as proxy:
        face: Face = facing(proxy)

        def start(client: Any) -> Any:
            return quick(client).runs.start("say second", chat=chat, on_busy="wait")

        outcome = outcome_of(lambda: face(start))
    if isinstance(outcome, APIConnectionError):
        assert count(service, "run") - before <= 2
    else:
        assert how_ended(service, outcome.run_id) == "completed"
        assert count(service, "run") - before == 2
