"""Functions of a caller's own as tools of a run: `client_tools` of the client, against a real service (docs/client.md
"Tools of your own")."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.wire import limits
from tests.support.waiting import until

CALL = 'call look_up {"order": 7}\nsay done'


def look_up(order: int, colour: str = "red") -> str:
    """Looks up an order."""
    return f"{order} {colour} lamps"


def results(client: AgentService, run_id: str) -> list[Any]:
    return [event for event in client.runs.iterate_events(run_id) if event.type == "tool.result"]


def text(client: AgentService, function: Callable[..., Any], given: str = '{"order": 7}') -> tuple[bool, Any]:
    """What the agent is told of a call of the function."""
    with client.runs.start_and_stream(f"call {function.__name__} {given}\nsay done", client_tools=[function]) as stream:
        assert stream.final_status().output == "done"
    [result] = results(client, stream.run_id)
    [block] = result.content or [{"text": ""}]
    return result.is_error, block["text"] if "text" in block else block["json"]


@pytest.mark.rule("The client executes a function in the thread that reads the stream.")
def test_a_function_is_executed_where_the_stream_is_read(client: AgentService) -> None:
    threads: list[int] = []

    def plain(order: int) -> str:
        """Looks up an order."""
        threads.append(threading.get_ident())
        return f"{order} lamps"

    with client.runs.start_and_stream('call plain {"order": 7}\nsay done', client_tools=[plain]) as stream:
        assert stream.run.client_tools == ["plain"]
        events = list(stream)
    assert threads == [threading.get_ident()]
    assert [event.content for event in events if event.type == "tool.result"] == [[{"type": "text", "text": "7 lamps"}]]
    assert [event.client for event in events if event.type == "tool.call"] == [True]
    [waiting] = [event for event in events if event.type == "client_call.waiting"]
    assert (waiting.tool, waiting.input) == ("plain", {"order": 7})
    assert waiting.expires_at > waiting.created_at


@pytest.mark.rule("A second stream of the run executes no function again.")
def test_a_second_stream_of_the_run_repeats_answers_and_executes_nothing(client: AgentService) -> None:
    done: list[int] = []

    def look_up(order: int) -> str:
        """Looks up an order."""
        done.append(order)
        return "x"

    run = client.runs.start(CALL + "\nwait 0.3\nsay more", client_tools=[look_up])
    with client.runs.attach(run) as stream:
        for event in stream:
            if event.type == "tool.result":
                break
    with client.runs.attach(run) as again:
        assert again.final_status().output == "done\nmore"
    assert done == [7]


def test_what_a_function_returns(client: AgentService) -> None:
    def nothing() -> None:
        """Does it."""

    def table() -> dict[str, Any]:
        """Gives a table."""
        return {"prices": [1.5, float("nan"), None], "größe": "ü"}

    def fails() -> None:
        """Fails."""
        raise LookupError("no such order")

    assert text(client, fails, "{}") == (True, "LookupError: no such order")
    assert text(client, look_up) == (False, "7 red lamps")
    assert text(client, nothing, "{}") == (False, "")
    assert text(client, table, "{}") == (False, {"prices": [1.5, None, None], "größe": "ü"})


def test_a_function_that_works_long_says_so(client: AgentService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CALL_PENDING_SECONDS", 0.01)

    def slow() -> str:
        """Works for long."""
        until(lambda: sum(sent.path.endswith("/result") for sent in client.history) >= 3)
        return "x"

    assert text(client, slow, "{}") == (False, "x")


def test_an_interrupt_leaves_the_stream_and_is_told(client: AgentService) -> None:
    def look_up(order: int) -> str:
        """Looks up an order."""
        raise KeyboardInterrupt

    stream = client.runs.start_and_stream(CALL, client_tools=[look_up])
    with pytest.raises(KeyboardInterrupt), stream:
        stream.final_status()
    run = client.runs.wait(stream.run_id)
    assert run.output == "done"
    [result] = results(client, stream.run_id)
    assert "interrupted" in result.content[0]["text"]
