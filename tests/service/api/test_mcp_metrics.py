"""What `GET /metrics` tells of MCP (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.mcp_caller import TASKS, McpCaller
from tests.service.api.test_metrics import TOKEN, families, grows, value
from tests.support.waiting import until

REQUESTS = "agentsvc_mcp_requests_total"
STREAMS = "agentsvc_mcp_streams"


@pytest.fixture(scope="module")
def measured() -> Iterator[RunningService]:
    with running_service(metrics_token=TOKEN, rate_per_minute=100_000) as running:
        yield running


def test_requests_are_counted_by_how_they_ended(measured: RunningService) -> None:
    with McpCaller(measured) as caller:
        with grows(measured, REQUESTS, 1), grows(measured, REQUESTS, 1, method="tools/list", outcome="ok"):
            caller.ask("tools/list")
        with grows(measured, REQUESTS, 1), grows(measured, REQUESTS, 1, method="tools/call", outcome="ok"):
            assert not caller.call("review_copy", text="Pack light.")["isError"]
        with grows(measured, REQUESTS, 1), grows(measured, REQUESTS, 1, method="tools/call", outcome="tool_error"):
            assert caller.call("read_file", chat="new", path="missing.txt")["isError"]
        with grows(measured, REQUESTS, 1), grows(measured, REQUESTS, 1, method="tools/call", outcome="fault"):
            caller.refused("tools/call", name="nothing")
        with grows(measured, REQUESTS, 2), grows(measured, REQUESTS, 2, method="other", outcome="fault"):
            caller.refused("made/up")
            caller.post(b"no json")


def test_a_request_that_the_service_refuses_is_counted() -> None:
    with running_service(metrics_token=TOKEN, rate_per_minute=1) as busy, McpCaller(busy) as caller:
        caller.ask("tools/list")
        with grows(busy, REQUESTS, 1), grows(busy, REQUESTS, 1, method="tools/list", outcome="refused"):
            assert caller.send("tools/list").status_code == 429


def test_streams_are_counted_when_they_end(measured: RunningService) -> None:
    with McpCaller(measured) as caller:
        with grows(measured, REQUESTS, 1, method="tools/call", outcome="ok"):
            caller.call("ask", message="wait 1\nsay done")
        with grows(measured, REQUESTS, 1, method="tools/call", outcome="tool_error"):
            assert caller.call("ask", message="wait 1\nfail made_up no")["isError"]
    assert value(measured, STREAMS) == 0


def test_open_streams_are_told(measured: RunningService) -> None:
    with McpCaller(measured) as caller, McpCaller(measured, capabilities=TASKS) as listener:
        before = value(measured, REQUESTS)
        held = caller.opened("tools/call", name="ask", arguments={"message": "wait 60"})
        listening = listener.opened("subscriptions/listen", notifications={})
        with held, listening:
            until(lambda: value(measured, STREAMS, method="tools/call") == 1)
            until(lambda: value(measured, STREAMS, method="subscriptions/listen") == 1)
            assert value(measured, REQUESTS) == before
        until(lambda: value(measured, STREAMS) == 0)
        assert value(measured, REQUESTS) == before + 2


def test_no_label_names_anybody(measured: RunningService) -> None:
    with McpCaller(measured) as caller:
        caller.post({"jsonrpc": "2.0", "id": "mine", "method": "mine", "params": {}})
        caller.refused("tools/call", name="mine")
    samples = [sample for name, family in families(measured).items() if "_mcp_" in name for sample in family.samples]
    assert {name for sample in samples for name in sample.labels} == {"method", "outcome"}
    assert not [sample for sample in samples if "mine" in sample.labels.values()]
