"""Traces (docs/telemetry.md), seen by a collector of OTLP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.mcp_caller import McpCaller, messages, meta
from tests.support.otlp import Collector, Span, collector
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = f"00-{TRACE}-00f067aa0ba902b7-01"
QUESTION = "usage 100 20\nsay the secret answer\ncall list_files {}\nstep 1\nsay again"
START = f"POST {V1}/runs"


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.endpoint)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield found


@pytest.fixture
def traced(collected: Collector) -> Iterator[RunningService]:
    with running_service() as running:
        yield running


def ask(service: RunningService, message: str = QUESTION, **headers: str) -> dict[str, str]:
    answer = httpx.post(
        service.base_url + f"{V1}/runs",
        json={"message": message, "sync": True},
        headers={"Authorization": f"Bearer {service.api_key}", **headers},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
    run: dict[str, str] = answer.json()
    return run


def by_id(spans: list[Span]) -> dict[str, Span]:
    found = {span.id: span for span in spans}
    assert len(found) == len(spans), "no span is recorded twice"
    return found


def received(collected: Collector, name: str, spans: int) -> None:
    """Wait for so many spans of this name."""
    until(lambda: len(collected.named(name)) == spans)


def path(span: Span, spans: dict[str, Span]) -> list[str]:
    """The names from the root down to a span."""
    return [*(path(spans[span.parent], spans) if span.parent in spans else []), span.name]


def test_a_question_is_one_trace(traced: RunningService, collected: Collector) -> None:
    """Request, run, attempt, model call, tool call, in the caller's own trace, with tokens and cost."""
    run = ask(traced, traceparent=GIVEN)
    until(lambda: collected.named("run") and collected.named(START))
    spans = by_id(collected.spans)
    assert {span.trace for span in spans.values()} == {TRACE}
    (tool,) = collected.named("execute_tool list_files")
    assert path(tool, spans) == [START, "run", "invoke_agent", "chat scripted", "execute_tool list_files"]
    assert collected.named(START)[0].parent == GIVEN[36:52]
    assert [len(collected.named(name)) for name in ("run", "invoke_agent", "chat scripted")] == [1, 1, 2]
    assert not any(span.error for span in spans.values())
    known = collected.named("run")[0].attributes
    assert (known["run_id"], known["gen_ai.conversation.id"]) == (run["run_id"], run["chat"])
    for span in (collected.named("run")[0], min(collected.named("chat scripted"), key=lambda span: span.began)):
        used = {name: value for name, value in span.attributes.items() if "usage" in name or "cost" in name}
        tokens = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
        assert used == {**tokens, "agentsvc.cost_microcents": 12_000}
    assert collected.services == {"agentsvc"}


def test_a_trace_has_no_contents_and_no_key(traced: RunningService, collected: Collector) -> None:
    ask(traced, QUESTION + '\ncall no_such_tool {"its": "secret input"}')
    until(lambda: collected.named("run"))
    assert collected.named("execute_tool no_such_tool")[0].attributes["error.type"] == "tool_not_found"
    assert b"secret" not in collected.received
    assert traced.api_key.encode() not in collected.received


def test_contents_are_shown_where_the_operator_wants_it(collected: Collector) -> None:
    with running_service(trace_content="yes") as running:
        ask(running)
        until(lambda: collected.named("run"))
        assert running.api_key.encode() not in collected.received
    (attempt,) = collected.named("invoke_agent")
    (asked,) = json.loads(attempt.attributes["gen_ai.input.messages"])
    (answered,) = json.loads(attempt.attributes["gen_ai.output.messages"])
    assert (asked["role"], asked["parts"]) == ("user", [{"type": "text", "content": QUESTION}])
    assert (answered["role"], answered["parts"][0]["content"]) == ("assistant", "the secret answer\nagain")
    (tool,) = collected.named("execute_tool list_files")
    assert tool.attributes["gen_ai.tool.call.arguments"] == "{}"
    assert json.loads(tool.attributes["gen_ai.tool.call.result"])


def test_what_failed_says_its_code(traced: RunningService, collected: Collector) -> None:
    """A tool that gives its failure back, and one that raises it: neither shows the name of a class."""
    ask(traced, 'call read_file {"path": "missing.txt"}')
    headers = {"Authorization": f"Bearer {traced.api_key}"}
    given = {"tool": "echo_job", "input": {"files": {"../out.txt": "x"}}, "session": "one"}
    job = httpx.post(f"{traced.base_url}{V1}/jobs", json=given, headers=headers).json()
    place = f"{traced.base_url}{V1}/jobs/{job['job_id']}?session=one"
    until(lambda: httpx.get(place, headers=headers).json()["status"] == "failed")
    code = httpx.get(place, headers=headers).json()["error"]["code"]
    until(lambda: collected.named("execute_tool echo_job") and collected.named("execute_tool read_file"))
    codes = {span.name: span.attributes["error.type"] for span in collected.spans if span.error}
    assert codes == {"execute_tool read_file": "file_not_found", "execute_tool echo_job": code}


def test_an_ask_over_mcp_goes_on_in_its_clients_trace(traced: RunningService, collected: Collector) -> None:
    """By `_meta.traceparent`, which comes through stdio, too; what is no such value is left alone."""
    with McpCaller(traced) as caller:
        for given in (GIVEN, "00-" + "x" * 5_000, 5):
            said = {"name": "ask", "arguments": {"message": "say hello"}, "_meta": meta(traceparent=given)}
            message = caller.request("tools/call", **said)
            last = messages(caller.post(message, caller.repeated(message)))[-1]
            assert last["result"]["structuredContent"]["output"] == "hello"
    received(collected, "run", 3)
    assert [run.trace == TRACE for run in collected.named("run")].count(True) == 1


def test_a_line_of_the_log_names_its_trace(collected: Collector) -> None:
    with running_service(log_format="json") as running:
        ask(running, "fail model_failed no", traceparent=GIVEN)
        log = running.data / "serve.log"
        found = until(lambda: [line for line in log.read_text().splitlines() if "run failed" in line])
        line = json.loads(found[0])
        until(lambda: collected.named("invoke_agent"))
    (attempt,) = collected.named("invoke_agent")
    assert (line["trace_id"], line["span_id"]) == (TRACE, attempt.id)


def test_without_an_endpoint_nothing_is_imported() -> None:
    """Neither the library of traces nor what it brings, whatever is installed."""
    program = (
        "import sys\n"
        "from agentsvc_nb.service.app import create_app\n"
        "from agentsvc_nb.service.telemetry import choose_tracing\n"
        "assert not choose_tracing(True).on\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert not {"opentelemetry", "prometheus_client", "requests", "google"} & set(told.stdout.split())


def test_after_kill_9_the_trace_is_whole(traced: RunningService, collected: Collector) -> None:
    """The attempt that was killed is there, as interrupted; the one that took over is linked to it."""
    with AgentService(traced.api_key, traced.base_url) as client:
        started = client.runs.start("usage 10 5\nsay one\nstep 1\nwait 2\nsay two\nstep 1\nsay three")
        until(lambda: collected.named("chat scripted") and collected.named(START))
        traced.kill()
        traced.start()
        run = client.runs.wait(started.run_id)
        assert run.output == "one\ntwo\nthree"
    until(lambda: collected.named("run"))
    spans = by_id(collected.spans)
    of_run = {span for span in spans.values() if span.attributes.get("run_id") == started.run_id}
    (root,) = collected.named(START)
    assert {span.trace for span in of_run} == {root.trace}
    killed, resumed = sorted(collected.named("invoke_agent"), key=lambda span: span.began)
    assert (killed.error, killed.attributes["error.type"]) == (True, "interrupted")
    assert (resumed.error, resumed.links) == (False, (killed.id,))
    assert [span.attributes["agentsvc.attempt"] for span in (killed, resumed)] == [1, 2]
    assert killed.began <= killed.ended <= resumed.began <= resumed.ended
    assert all(path(span, spans)[:2] == [START, "run"] for span in of_run)
    # What each attempt did stands below it.
    assert {span.parent for span in collected.named("chat scripted")} == {killed.id, resumed.id}


def test_a_run_that_ends_without_a_worker_is_traced(traced: RunningService, collected: Collector) -> None:
    """Recovery ends a run that was cut off too often; nobody works on it then."""
    with AgentService(traced.api_key, traced.base_url) as client:
        started = client.runs.start("say on\nwait 600")
        until(lambda: client.runs.get(started.run_id).status == "running")
        for cut_off in range(1, 5):
            traced.kill()
            traced.start()
            # The span of the attempt that was cut off is sent by who took over: before that is killed, too.
            received(collected, "invoke_agent", cut_off)
        assert client.runs.wait(started.run_id).last_error == "attempts_exhausted"
    until(lambda: collected.named("run"))
    (run,) = collected.named("run")
    assert run.attributes["error.type"] == "attempts_exhausted"
    attempts = sorted(collected.named("invoke_agent"), key=lambda span: span.attributes["agentsvc.attempt"])
    assert [attempt.links for attempt in attempts[1:]] == [(before.id,) for before in attempts[:-1]]
    by_id(collected.spans)


def test_who_has_no_key_leaves_no_span(traced: RunningService, collected: Collector) -> None:
    for target in ("/healthz", f"{V1}/runs/x", "/nothing"):
        httpx.get(traced.base_url + target, headers={"traceparent": GIVEN})
    ask(traced)
    until(lambda: collected.named("run"))
    assert {span.name for span in collected.spans if span.name.startswith(("GET", "POST"))} <= {START}


def test_what_the_caller_does_not_sample_is_not_sent(traced: RunningService, collected: Collector) -> None:
    ask(traced, traceparent=GIVEN[:-1] + "0")
    ask(traced)
    until(lambda: collected.named("run") and collected.named(START))
    assert TRACE not in {span.trace for span in collected.spans}
    assert len(collected.named("run")) == 1


def test_a_collector_that_is_away_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    with running_service() as running:
        for _ in range(3):
            assert ask(running)["status"] == "completed"
        log = running.data / "serve.log"
        until(lambda: "Failed to export" in log.read_text())
        assert "Traceback" not in log.read_text()
        assert "Transient" not in log.read_text(), "its own tries again are nobody's news"
        running.stop()


def test_a_collector_that_stands_still_holds_up_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does not take within two seconds is lost; `stop` raises for a service that does not end."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
        with running_service() as running:
            assert ask(running)["status"] == "completed"
            running.stop()
