"""Traces (docs/monitoring.md), seen by a collector of OTLP. Each test asks within a trace of its own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire
from tests.service.api.service_fixture import ServiceFixture
from tests.support.otlp import Collector, Span, collector
from tests.support.waiting import until

PARENT = "00f067aa0ba902b7"
QUESTION = "usage 100 20\nsay the secret answer\ncall list_files {}\nstep 1\nsay again"
START = f"POST {V1}/runs"


@dataclass
class Traced:
    """A service that sends traces to the collector. `trace`: what its requests name as the caller's trace."""

    service: RunningService
    wire: Wire
    collected: Collector
    trace: str = ""

    def begin(self, flags: str = "01") -> None:
        self.trace = uuid.uuid4().hex
        self.wire.http.headers["traceparent"] = f"00-{self.trace}-{PARENT}-{flags}"

    def named(self, name: str) -> list[Span]:
        return [span for span in self.collected.named(name) if span.trace == self.trace]

    def spans(self) -> dict[str, Span]:
        """By id, once the run and its request have been received."""
        until(lambda: self.named("run") and self.named(START))
        found = [span for span in self.collected.spans if span.trace == self.trace]
        assert len({span.id for span in found}) == len(found), "no span is recorded twice"
        return {span.id: span for span in found}


@pytest.fixture(scope="module")
def collected() -> Iterator[Collector]:
    with collector() as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.endpoint)
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield found


@pytest.fixture(scope="module")
def sending(collected: Collector, stage: ServiceFixture) -> Iterator[Traced]:
    with running_service() as service:
        yield Traced(service, stage.open(service), collected)


@pytest.fixture
def traced(sending: Traced) -> Traced:
    sending.begin()
    return sending


def path(span: Span, spans: dict[str, Span]) -> list[str]:
    """The names from the root down to a span."""
    return [*(path(spans[span.parent], spans) if span.parent in spans else []), span.name]


def test_a_question_is_one_trace(traced: Traced) -> None:
    """Request, run, attempt, model call, tool call, in the caller's own trace, with tokens and cost."""
    run = traced.wire.finish(QUESTION)
    spans = traced.spans()
    (tool,) = traced.named("execute_tool list_files")
    assert path(tool, spans) == [START, "run", "invoke_agent", "chat scripted", "execute_tool list_files"]
    assert traced.named(START)[0].parent == PARENT
    assert [len(traced.named(name)) for name in ("run", "invoke_agent", "chat scripted")] == [1, 1, 2]
    assert not any(span.error for span in spans.values())
    known = traced.named("run")[0].attributes
    assert (known["run_id"], known["gen_ai.conversation.id"]) == (run["run_id"], run["chat"])
    for span in (traced.named("run")[0], min(traced.named("chat scripted"), key=lambda span: span.began)):
        used = {name: value for name, value in span.attributes.items() if "usage" in name or "cost" in name}
        tokens = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
        assert used == {**tokens, "agentsvc.cost_microcents": 12_000}
    assert traced.collected.services == {"agentsvc"}


def test_a_trace_has_no_contents_and_no_key(traced: Traced) -> None:
    traced.wire.finish(QUESTION + '\ncall no_such_tool {"its": "secret input"}\ncall read_file {"path": "missing.txt"}')
    codes = {span.name: span.attributes["error.type"] for span in traced.spans().values() if span.error}
    assert codes == {"execute_tool no_such_tool": "tool_not_found", "execute_tool read_file": "file_not_found"}
    assert b"secret" not in traced.collected.received
    assert traced.service.api_key.encode() not in traced.collected.received


def test_after_kill_9_the_trace_is_whole(traced: Traced) -> None:
    """The attempt that was killed is there, as interrupted; the one that took over is linked to it."""
    wire = traced.wire
    run_id = wire.start("usage 10 5\nsay one\nstep 1\nwait 1\nsay two\nstep 1\nsay three")["run_id"]
    until(lambda: traced.named("chat scripted") and traced.named(START))
    traced.service.kill()
    traced.service.start()
    assert until(lambda: wire("GET", f"/runs/{run_id}").json()["output"]) == "one\ntwo\nthree"
    spans = traced.spans()
    of_run = [span for span in spans.values() if span.attributes.get("run_id") == run_id]
    killed, resumed = sorted(traced.named("invoke_agent"), key=lambda span: span.began)
    assert (killed.error, killed.attributes["error.type"]) == (True, "interrupted")
    assert (resumed.error, resumed.links) == (False, (killed.id,))
    assert [span.attributes["agentsvc.attempt"] for span in (killed, resumed)] == [1, 2]
    assert killed.began <= killed.ended <= resumed.began <= resumed.ended
    assert all(path(span, spans)[:2] == [START, "run"] for span in of_run)
    assert {span.parent for span in traced.named("chat scripted")} == {killed.id, resumed.id}


def test_who_has_no_key_and_what_is_not_sampled_leaves_no_span(traced: Traced) -> None:
    for target in ("/healthz", f"{V1}/runs/x", "/nothing"):
        httpx.get(traced.service.base_url + target, headers={"traceparent": f"00-{traced.trace}-{PARENT}-01"})
    without = traced.trace
    traced.begin(flags="00")
    traced.wire.finish("say x")
    unsampled = traced.trace
    traced.begin()
    traced.wire.finish("say x")
    traced.spans()
    assert not {without, unsampled} & {span.trace for span in traced.collected.spans}


def test_contents_are_shown_where_the_operator_wants_it(collected: Collector, stage: ServiceFixture) -> None:
    question = QUESTION + '\ncall echo_job {"steps": 0}'
    with running_service(trace_content="yes", approve_effects="yes") as running:
        traced = Traced(running, wire := stage.open(running), collected)
        traced.begin()
        run = wire.start(question)
        waits = until(lambda: [each for each in wire.events(run["run_id"]) if each["type"] == "approval.requested"])
        path = f"/runs/{run['run_id']}/calls/{waits[0]['payload']['call_id']}/approval"
        wire("POST", path, json={"approved": True, "input": {"steps": 1}})
        traced.spans()
        assert running.api_key.encode() not in collected.received
    told: dict[str, Any] = traced.named("invoke_agent")[0].attributes
    (asked,), (answered,) = (json.loads(told[f"gen_ai.{way}.messages"]) for way in ("input", "output"))
    assert (asked["role"], asked["parts"]) == ("user", [{"type": "text", "content": question}])
    assert (answered["role"], answered["parts"][0]["content"]) == ("assistant", "the secret answer\nagain")
    assert json.loads(traced.named("execute_tool list_files")[0].attributes["gen_ai.tool.call.result"])
    changed = traced.named("execute_tool echo_job")[0].attributes
    assert json.loads(changed["gen_ai.tool.call.arguments"]) == {"steps": 1}
    assert changed["agentsvc.tool.input_changed"] is True
